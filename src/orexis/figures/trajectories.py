"""Walks that agents took, with what the learned reward paid for each step: a row for a lifetime, a room for an
episode."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from orexis.evaluation.histories import LivedEpisode
from orexis.evaluation.table import SourceTable
from orexis.evaluation.walks import Room
from orexis.figures.endings import GROUPS, NOWHERE, group_of
from orexis.figures.palette import paper_style
from orexis.figures.walks import draw_room, draw_scale, reward_scale, signed
from orexis.tasks.grid import MOVES

ROOM = 1.5  # inches across
GAP = 0.1  # inches between rooms
HEAD = 0.45  # inches from a row's top to its rooms
ASIDE = 0.2  # cells: every arrow keeps to the left of the line that it follows, so that a way back is another arrow
SPANS = {"step": (0.16, 0.84), "arrival": (0.04, 0.68), "bump": (-0.14, 0.5)}
"""Where arrows begin and end, in cells from the middle of the one stepped from: to a free cell, an object, a wall."""


@dataclasses.dataclass(frozen=True)
class LivedRow:
    """Some episodes of one lifetime."""

    title: str
    room: Room
    episodes: tuple[LivedEpisode, ...]
    visited: tuple[frozenset[str], ...]  # for each of them: the objects reached in any episode before


def typical_lifetimes(table: SourceTable) -> dict[str, int]:
    """Returns a lifetime for each of `GROUPS` that has any: the one whose extrinsic return is the median, by group."""
    groups, returns = group_of(table.task_params["rewards"]), table.extrinsic.sum(axis=1)
    chosen = {}
    for index, group in enumerate(GROUPS):
        members = np.flatnonzero(groups == index)
        if len(members):
            chosen[group] = int(members[np.argsort(returns[members], kind="stable")[(len(members) - 1) // 2]])
    return chosen


def trajectories_figure(rows: Sequence[LivedRow]) -> Figure:
    """Returns a grid of rooms; arrows are steps, coloured by their reward, which is written on them."""
    if not rows:
        raise ValueError("no lifetimes to draw")
    num_columns = max(len(row.episodes) for row in rows)
    width, height = num_columns * (ROOM + GAP) + 0.6, len(rows) * (ROOM + HEAD) + 0.05
    scale = reward_scale(np.concatenate([episode.intrinsic for row in rows for episode in row.episodes]))
    with paper_style():
        figure = Figure(figsize=(width, height))
        for index, row in enumerate(rows):
            top = height - index * (ROOM + HEAD)
            figure.text(0.05 / width, (top - 0.13) / height, row.title, fontweight="bold", fontsize=8, va="center")
            for column, (episode, visited) in enumerate(zip(row.episodes, row.visited, strict=True)):
                left, bottom = 0.05 + column * (ROOM + GAP), top - HEAD + 0.05 - ROOM
                axes = figure.add_axes((left / width, bottom / height, ROOM / width, ROOM / height))
                draw_episode(axes, row.room, episode, visited, scale)
        draw_scale(figure, scale, (1 - 0.53 / width, 0.32, 0.08 / width, 0.36), "paid for the step")
    return figure


def draw_episode(axes: Axes, room: Room, episode: LivedEpisode, visited: frozenset[str], scale: ScalarMappable) -> None:
    """Draws one episode: the room, those of its objects that were reached before shaded, and every step.

    A step that was taken several times is one arrow with the mean of its rewards.
    """
    draw_room(axes, room, visited)
    ending = episode.ending or NOWHERE
    title = f"episode {episode.number}: {ending}, {signed(float(episode.intrinsic.sum()), 2)}"
    axes.set_title(title, fontweight="normal", fontsize=7.5, pad=2.5)
    for (row, column, action), rewards in steps_taken(episode).items():
        _draw_step(axes, room, row, column, action, float(np.mean(rewards)), scale)


def steps_taken(episode: LivedEpisode) -> dict[tuple[int, int, int], list[float]]:
    """Returns the rewards of the steps by row, column and action: one step that is taken twice has two."""
    taken: dict[tuple[int, int, int], list[float]] = {}
    for cell, action, reward in zip(episode.cells[:-1], episode.actions, episode.intrinsic, strict=True):
        taken.setdefault((int(cell[0]), int(cell[1]), int(action)), []).append(float(reward))
    return taken


def _kind(room: Room, row: int, column: int, action: int) -> str:
    """Returns which of `SPANS` a step has."""
    to = (row + int(MOVES[action][0]), column + int(MOVES[action][1]))
    if not (0 <= to[0] < room.shape[0] and 0 <= to[1] < room.shape[1]):
        return "bump"
    return "arrival" if to in room.objects.values() else "step"


def _draw_step(
    axes: Axes, room: Room, row: int, column: int, action: int, reward: float, scale: ScalarMappable
) -> None:
    """Draws the arrow of a step in the colour of its reward, which is written along it."""
    down, right = (int(change) for change in MOVES[action])
    x, y = column + 0.5 + ASIDE * down, row + 0.5 - ASIDE * right  # to the left of who walks; y runs downwards
    span = SPANS[_kind(room, row, column, action)]
    tail, tip = ((x + along * right, y + along * down) for along in span)
    color = scale.to_rgba(np.array(reward))
    axes.add_patch(
        FancyArrowPatch(
            tail, tip, arrowstyle="simple,head_width=8,head_length=3.4,tail_width=5.8", shrinkA=0, shrinkB=0,
            facecolor=color, edgecolor="#333333", linewidth=0.5, zorder=5, clip_on=False,
        )
    )  # fmt: skip
    light = float(np.dot(color[:3], (0.299, 0.587, 0.114))) > 0.5
    middle = ((tail[0] + tip[0]) / 2 - 0.04 * right, (tail[1] + tip[1]) / 2 - 0.04 * down)
    axes.text(
        *middle, signed(reward, 2).replace("0.", ".", 1), rotation=90 * abs(down), ha="center", va="center",
        fontsize=5, color="black" if light else "white", zorder=6,
    )  # fmt: skip
