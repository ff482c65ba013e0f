"""Lifetimes in Empty Rooms, made by hand or at random, for maps and claims to read."""

import numpy as np

from orexis.evaluation.table import SourceTable
from orexis.figures.visits import Search
from orexis.tasks.empty_rooms import EmptyRooms

TASK = EmptyRooms(goals=((8, 8), (4, 4)), episodes=6, time_limit=100)
NUM_CELLS = len(TASK.map.free_cells)


def number_of(row: int, column: int) -> int:
    """Returns the number of a free cell."""
    return int(np.flatnonzero((TASK.map.free_cells == (row, column)).all(axis=1))[0])


def make_search(
    cell: np.ndarray, found: np.ndarray, goals: np.ndarray, length: np.ndarray | None = None, source: str = "count"
) -> Search:
    """Returns a search with those arrivals i[n, S], steps i[n] that found the goals i[n, 2], and lengths of episodes
    f[n, E]; negative ones did not end in the goal."""
    shape = (len(cell), 6)
    length = np.full(shape, 4.0) if length is None else np.asarray(length, float)
    zeros = np.zeros(length.shape)
    outcome = np.where(length > 0, 0, -1)
    table = SourceTable(
        source, "empty-rooms", 0, zeros, zeros, abs(length), zeros, outcome, ("goal",), {"goal": np.asarray(goals)}
    )
    return Search(TASK, table, np.asarray(cell), np.asarray(found))


def random_search(num_lifetimes: int = 7, num_steps: int = 40, seed: int = 0, source: str = "count") -> Search:
    """Returns lifetimes that jump about; some end early, some never find their goal."""
    rng = np.random.default_rng(seed)
    cell = rng.integers(0, NUM_CELLS, (num_lifetimes, num_steps))
    ends = rng.integers(num_steps // 2, num_steps + 1, num_lifetimes)
    cell[np.arange(num_steps) >= ends[:, None]] = -1
    found = np.where(rng.random(num_lifetimes) < 0.3, num_steps, rng.integers(0, num_steps // 2, num_lifetimes))
    goals = np.array(TASK.goals)[np.arange(num_lifetimes) % 2]
    length = rng.integers(-30, 30, (num_lifetimes, 6)) + 0.5
    return make_search(cell, found, goals, length, source)
