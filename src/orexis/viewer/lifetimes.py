"""Lifetimes as the page reads them: columns of whole numbers, nothing twice.

A *moment* is a state that the agent is in: an episode of n steps has n + 1 of them. Columns of steps have a number for
each step of the episodes that are shown, columns of moments one more for each episode. Intrinsic rewards and entropies
are told in units of 1/`UNIT`.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from orexis.tasks.base import Task
from orexis.tasks.grid import ALL_MOVES
from orexis.types import PyTree
from orexis.viewer.choice import HOW, SHOWN, choose_episodes, in_words
from orexis.viewer.replay import LivedLife
from orexis.viewer.scenes import Scenes, sketch

UNIT = 10_000
MOST_NUMBERS = 16  # of a hidden parameter that is told
DIRECTIONS = ("up", "down", "left", "right", "up-left", "up-right", "down-left", "down-right")


@dataclasses.dataclass(frozen=True)
class Told:
    """What a source is called on the page."""

    name: str  # as typed
    label: str
    color: str  # "#RRGGBB"
    is_extrinsic: bool  # it pays what the task pays


def lifetimes_data(
    task: Task, task_name: str, seed: int, number: int, lives: Mapping[Told, LivedLife], limit: int = SHOWN
) -> dict[str, Any]:
    """Returns the page's record of one lifetime under one or more sources, as JSON."""
    first = next(iter(lives.values()))
    hidden = hidden_parameters(task, first)
    changes = sorted({episode for each in hidden for episode in each.changes()})
    shown = choose_episodes(len(first.outcome), limit, changes)
    scenes = Scenes()
    sources = [_source(task, told, life, shown, scenes) for told, life in lives.items()]
    height, width = np.shape(sketch(task, first.params, _row(first.starts, 0), False))
    return {
        "task": task_name,
        "seed": seed,
        "lifetime": number,
        "unit": UNIT,
        "height": height,
        "width": width,
        "num_actions": task.spec.num_actions,
        "time_limit": task.spec.time_limit,
        "num_episodes": len(first.outcome),
        "most_entropy": math.log(task.spec.num_actions),
        "shown": shown,
        "how_chosen": HOW,
        "shown_in_words": in_words(shown),
        "outcomes": [str(name) for name in getattr(task, "outcomes", ())],
        **_actions(task),
        "hidden": [each.to_json(shown) for each in hidden],
        "scenes": [seen for seen, _ in scenes.pairs],
        "revealed": [revealed for _, revealed in scenes.pairs],
        "sources": sources,
    }


@dataclasses.dataclass(frozen=True)
class Hidden:
    """Something that was drawn for the lifetime and that the agent does not see."""

    name: str
    labels: list[str] | None  # of its numbers; None: they have none
    values: np.ndarray  # f[E, K]  in each episode

    def changes(self) -> list[int]:
        """Returns the episodes at which it is another than before."""
        return [int(episode) + 1 for episode in np.flatnonzero(np.diff(self.values, axis=0).any(axis=1))]

    def to_json(self, shown: Sequence[int]) -> dict[str, Any]:
        """Returns its values in the episodes that are shown, one row if they are all the same."""
        kept = self.values[list(shown)] if self.changes() else self.values[:1]
        return {"name": self.name, "labels": self.labels, "values": [[_number(x) for x in row] for row in kept]}


def hidden_parameters(task: Task, life: LivedLife) -> list[Hidden]:
    """Returns the task's parameters in this lifetime.

    One that the state holds under the same name, and may change, is told as it is at the episode's start. Numbers that
    belong to the task's outcomes, one each, are labelled by them.
    """
    outcomes = [str(name) for name in getattr(task, "outcomes", ())]
    num_episodes = len(life.outcome)
    now = {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree_util.tree_flatten_with_path(life.starts)[0]}
    found = []
    for path, leaf in jax.tree_util.tree_flatten_with_path(life.params)[0]:
        value = np.asarray(leaf)
        if not (np.issubdtype(value.dtype, np.number) or value.dtype == bool) or not 1 <= value.size <= MOST_NUMBERS:
            continue  # a random key, or a whole map, says nothing in a line
        each = np.broadcast_to(value, (num_episodes, *value.shape))
        state = now.get(jax.tree_util.keystr(path))
        if state is not None and np.shape(state) == each.shape:
            each = np.asarray(state)
        labels = outcomes if len(outcomes) > 1 and value.shape == (len(outcomes),) else None
        name = jax.tree_util.keystr(path, simple=True, separator=".") or "parameter"
        found.append(Hidden(name, labels, each.reshape(num_episodes, -1).astype(np.float64)))
    return found


def _actions(task: Task) -> dict[str, Any]:
    """Returns what the actions are called, and in which direction each leads if they are moves."""
    num_actions = task.spec.num_actions
    if not hasattr(task, "moves"):
        return {"actions": [f"action {number}" for number in range(num_actions)], "moves": None}
    moves = [[int(down), int(right)] for down, right in np.asarray(task.moves)[:num_actions]]
    known = dict(zip(map(tuple, ALL_MOVES.tolist()), DIRECTIONS, strict=True))
    return {"actions": [known.get(tuple(move), f"action {n}") for n, move in enumerate(moves)], "moves": moves}


def _source(task: Task, told: Told, life: LivedLife, shown: list[int], scenes: Scenes) -> dict[str, Any]:
    """Returns one source's part of the record."""
    trace = life.trace
    bounds = np.searchsorted(trace.episode, np.arange(len(life.outcome) + 1))
    frames = []
    for episode in shown:
        states = [_row(life.starts, episode)]
        states += [_row(life.arrivals, step) for step in range(bounds[episode], bounds[episode + 1])]
        frames.append(scenes.film(task, life.params, states))
    steps = np.concatenate([np.arange(bounds[e], bounds[e + 1]) for e in shown]).astype(int)
    tried = life.intrinsic
    return {
        **dataclasses.asdict(told),
        "episodes": {
            "length": np.diff(bounds).tolist(),
            "outcome": np.asarray(life.outcome).tolist(),
            "extrinsic": [_number(x) for x in _sums(trace.extrinsic, bounds)],
            "intrinsic": [_number(x) for x in _sums(trace.intrinsic, bounds)],
            "entropy": [_number(x, 4) for x in _sums(trace.entropy, bounds) / np.maximum(np.diff(bounds), 1)],
        },
        "steps": {
            "action": np.asarray(trace.action)[steps].tolist(),
            "extrinsic": [_number(x) for x in np.asarray(trace.extrinsic)[steps]],
            "intrinsic": _units(np.asarray(trace.intrinsic)[steps]),
            "entropy": _units(np.asarray(trace.entropy)[steps]),
            "would_pay": None if tried is None else [_units(column) for column in tried[steps].T],
        },
        "moments": {
            "scene": [number for film in frames for number in film.scene],
            "cell": [cell for film in frames for cell in film.cell],
            "sign": "".join(film.sign for film in frames),
        },
    }


def _row(states: PyTree, number: int) -> PyTree:
    return jax.tree.map(lambda column: column[number], states)


def _sums(values: Any, bounds: np.ndarray) -> np.ndarray:
    """Returns f[E], the sum over each episode."""
    return np.diff(np.concatenate([[0.0], np.cumsum(np.asarray(values, np.float64))])[bounds])


def _units(values: np.ndarray) -> list[int | None]:
    """Returns numbers in units of 1/UNIT, None for what is not finite."""
    return [round(float(x) * UNIT) if math.isfinite(x) else None for x in values]


def _number(value: Any, digits: int = 5) -> float | int | None:
    """Returns a number with so many significant digits, as an int where it is whole; None for what is not finite."""
    number = float(value)
    if not math.isfinite(number):
        return None
    short = float(f"{number:.{digits}g}")
    return int(short) if short.is_integer() else short
