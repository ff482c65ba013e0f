"""Where agents of Empty Rooms were before and after they found the goal, what they saw, and how they returned to it.

Numbers from tables and traces; `orexis.figures.heat_maps` draws them.
"""

import dataclasses

import numpy as np

from orexis.evaluation.lifetimes import Trace
from orexis.evaluation.table import SourceTable
from orexis.tasks.empty_rooms import EmptyRooms
from orexis.tasks.grid import distances

STRAIGHT = 1.5  # an episode that takes at most so many times the shortest path went straight to the goal


@dataclasses.dataclass(frozen=True)
class Search:
    """The first S steps of n lifetimes of one source, some of which lead to the goal. F: the free cells."""

    task: EmptyRooms
    table: SourceTable  # of the same steps
    cell: np.ndarray  # i[n, S]   number of the free cell arrived in; -1 after the lifetime's end
    found: np.ndarray  # i[n]     the step that arrived in the goal first; S where none did

    @property
    def num_steps(self) -> int:
        """S."""
        return self.cell.shape[1]

    @property
    def goal(self) -> np.ndarray:
        """Row and column of each lifetime's goal, i[n, 2]."""
        return self.table.task_params["goal"]

    @property
    def away(self) -> np.ndarray:
        """Steps of the shortest path from the start to each lifetime's goal, i[n]."""
        return distances(self.task.map.walls, self.task.map.start)[tuple(self.goal.T)]

    def with_goal(self, goal: tuple[int, int]) -> "Search":
        """Returns the lifetimes whose goal is in that cell."""
        chosen = (self.goal == goal).all(axis=1)
        return Search(self.task, self.table.select(chosen), self.cell[chosen], self.found[chosen])


def search_of(task: EmptyRooms, table: SourceTable, trace: Trace, num_steps: int) -> Search:
    """Returns the first `num_steps` steps of the lifetimes. The goal alone pays, so the first pay tells when."""
    cell, paid = (np.asarray(column)[:, :num_steps] for column in (trace.next_observation, trace.extrinsic))
    found = np.where((paid > 0).any(axis=1), np.argmax(paid > 0, axis=1), cell.shape[1])
    return Search(task, table, cell, found)


def count_visits(search: Search, after: bool) -> np.ndarray:
    """Returns i[n, F], how often each lifetime arrived in each free cell before the goal was found, or `after` it.

    The step that finds it is the last one before; so both together are all steps that were lived.
    """
    chosen = (np.arange(search.num_steps) > search.found[:, None]) == after
    chosen &= search.cell >= 0
    visits = np.zeros((len(search.cell), len(search.task.map.free_cells)), int)
    np.add.at(visits, (np.nonzero(chosen)[0], search.cell[chosen]), 1)
    return visits


def first_visits(search: Search) -> np.ndarray:
    """Returns i[n, F], the step that first arrived in each cell: S where none did, −1 in the start, seen before any."""
    room = search.task.map
    first = np.full((len(search.cell), len(room.free_cells)), search.num_steps)
    for step in reversed(range(search.num_steps)):
        lived = np.flatnonzero(search.cell[:, step] >= 0)
        first[lived, search.cell[lived, step]] = step
    first[:, (room.free_cells == room.start).all(axis=1)] = -1
    return first


def coverage(search: Search) -> np.ndarray:
    """Returns i[n, S+1], how many cells each lifetime had seen after 0, 1, … S steps."""
    first = first_visits(search)
    seen = np.zeros((len(first), search.num_steps + 2), int)
    lifetimes = np.broadcast_to(np.arange(len(first))[:, None], first.shape)
    np.add.at(seen, (lifetimes, first + 1), 1)
    return np.cumsum(seen, axis=1)[:, :-1]


def seen_within(search: Search, num_steps: np.ndarray) -> np.ndarray:
    """Returns i[n], how many cells each lifetime had seen after its own i[n] steps."""
    return coverage(search)[np.arange(len(num_steps)), num_steps]


def straight_shares(search: Search) -> np.ndarray:
    """Returns f[n], the share of the episodes after the one that found the goal which went straight there.

    Episodes that the last step cut short do not count; NaN where there is none to count.
    """
    table = search.table
    at_goal = table.outcome == 0
    later = np.cumsum(at_goal, axis=1) - at_goal > 0
    counted = later & (at_goal | (table.length >= search.task.time_limit))
    straight = later & at_goal & (table.length <= STRAIGHT * search.away[:, None])
    num = counted.sum(axis=1)
    return np.where(num > 0, straight.sum(axis=1) / np.maximum(num, 1), np.nan)
