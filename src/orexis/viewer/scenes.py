"""What there is to see in a lifetime: scenes without the agent, each told once, and where the agent is."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from orexis.interop.rendering import sketch
from orexis.types import PyTree

AGENT = "@&"
"""The signs that mean the agent; `&` holds something."""
NOWHERE = -1  # the cell of an agent that no sign shows


@dataclasses.dataclass(frozen=True)
class Frames:
    """The F moments of some episodes."""

    scene: list[int]  # of each moment: index into `Scenes.pairs`
    cell: list[int]  # of each moment: row · W + column of the agent, or NOWHERE
    sign: str  # of each moment: the agent's, "." where it is nowhere


class Scenes:
    """Every distinct scene once: what anybody sees, and what is there. A scene is a sign for each cell, row by row."""

    def __init__(self) -> None:
        self.pairs: list[tuple[str, str]] = []  # as seen, revealed
        self._numbers: dict[tuple[str, str], int] = {}

    def add(self, pair: tuple[str, str]) -> int:
        """Returns the number of a scene, a new one if it was not there."""
        if pair not in self._numbers:
            self._numbers[pair] = len(self.pairs)
            self.pairs.append(pair)
        return self._numbers[pair]

    def film(self, task: Any, params: PyTree, states: Sequence[PyTree]) -> Frames:
        """Returns the moments of one episode."""
        seen = [_signs(task, params, state, False) for state in states]
        hides = hasattr(task, "sketch")  # else what is drawn is what the agent sees
        revealed = [_signs(task, params, state, True) for state in states] if hides else seen
        cells = [_agent_cell(signs) for signs in seen]
        sign = "".join(str(signs[cell]) if cell >= 0 else "." for signs, cell in zip(seen, cells, strict=True))
        without = (_without_agent(seen, cells), _without_agent(revealed, cells))
        return Frames([self.add(pair) for pair in zip(*without, strict=True)], cells, sign)


def _signs(task: Any, params: PyTree, state: PyTree, reveal: bool) -> np.ndarray:
    """Returns str[H·W], the signs of a state."""
    return np.asarray(sketch(task, params, state, reveal)).ravel()


def _agent_cell(signs: np.ndarray) -> int:
    """Returns the one cell that shows the agent; NOWHERE if none does, or several."""
    places = np.flatnonzero(np.isin(signs, list(AGENT)))
    return int(places[0]) if len(places) == 1 else NOWHERE


def _without_agent(frames: list[np.ndarray], cells: list[int]) -> list[str]:
    """Returns the frames of an episode as text, the agent taken away: its cell shows what it does once the agent has
    left, else what it did before the agent came, else nothing."""
    before = _remembered(frames, cells)
    after = _remembered(frames[::-1], cells[::-1])[::-1]
    texts = []
    for frame, cell, earlier, later in zip(frames, cells, before, after, strict=True):
        signs = [str(sign)[:1] or "." for sign in frame]
        if cell != NOWHERE:
            signs[cell] = later or earlier or "."
        texts.append("".join(signs))
    return texts


def _remembered(frames: list[np.ndarray], cells: list[int]) -> list[str]:
    """Returns for each frame what the frames before it last showed in its agent's cell, "" if they never did."""
    known = np.full(frames[0].shape, "", dtype=object)
    found = []
    for frame, cell in zip(frames, cells, strict=True):
        kept = known[cell] if cell != NOWHERE else ""
        found.append(str(kept)[:1])
        known = frame.astype(object)
        if cell != NOWHERE:
            known[cell] = kept
    return found
