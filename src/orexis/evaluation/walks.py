"""What a learned reward pays for a walk to A, B or C that nobody has taken: counterfactual walks in ABC World.

Nobody learns here: scripted walks are fed to the reward, which remembers them as it would an agent's life. A corner
of ABC World is reached by six shortest paths; what a walk would be paid is the mean over all of them.
"""

import dataclasses
import itertools

import numpy as np

from orexis.interop.numpy_reward import NumpyReward
from orexis.tasks.abc import RandomABC
from orexis.tasks.grid import MOVES

PAPER_REWARDS = {"A": 0.2, "B": -0.5, "C": 0.1}  # extrinsic, in the paper's fifth figure
ORDERS = (("A", "C"), ("C", "A"))  # of visiting: top row, bottom row
HISTORIES: tuple[tuple[str, ...], ...] = ((), ("A",), ("C",), ("A", "C"), ("C", "A"))
"""What may have been visited in the episodes before, an object each: those that the paper shows."""


@dataclasses.dataclass(frozen=True)
class Room:
    """One task of ABC World as a picture needs it."""

    shape: tuple[int, int]  # H, W
    start: tuple[int, int]  # row, column
    objects: dict[str, tuple[int, int]]  # row, column of each
    rewards: dict[str, float]  # extrinsic, of each object


@dataclasses.dataclass(frozen=True)
class WalkSums:
    """What a walk to each object would be paid in one episode."""

    visited: tuple[str, ...]  # the objects at which the episodes before ended, in order
    sums: dict[str, float]  # by object: sum of the intrinsic rewards of the walk

    @property
    def episode(self) -> int:
        """The number of the episode, from 1."""
        return len(self.visited) + 1

    @property
    def favourite(self) -> str:
        """The object whose walk is paid most."""
        return max(self.sums, key=lambda name: self.sums[name])


@dataclasses.dataclass(frozen=True)
class WalkTable:
    """A learned reward on one task: episodes 1, 2, 3 along two orders of visiting A and C."""

    room: Room
    rows: tuple[tuple[WalkSums, ...], ...]  # A first (top), C first (bottom); episodes 1, 2, 3

    @property
    def panels(self) -> dict[tuple[str, ...], WalkSums]:
        """Every panel once, by what was visited, in the order of `HISTORIES`."""
        panels = {panel.visited: panel for row in self.rows for panel in row}
        return {visited: panels[visited] for visited in HISTORIES}


@dataclasses.dataclass(frozen=True)
class WalkDraws:
    """A learned reward on D tasks, whose objects are worth what chance gave them."""

    worth: np.ndarray  # f[D, 3]  extrinsic rewards of A, B, C
    sums: dict[tuple[str, ...], np.ndarray]  # by what was visited: f[D, 3], what a walk to A, B, C is paid


def room_of(task: RandomABC, worth: np.ndarray) -> Room:
    """Returns the room of `task` where A, B, C are worth f[3]."""
    grid = task.map
    rewards = {name: float(paid) for name, paid in zip(task.outcomes, worth, strict=True)}
    return Room((grid.height, grid.width), grid.start, grid.objects, rewards)


def shortest_paths(start: tuple[int, int], goal: tuple[int, int]) -> np.ndarray:
    """Returns i[P, length], the actions of every shortest path in a room without walls, rows-first ones first."""
    down, right = goal[0] - start[0], goal[1] - start[1]
    vertical, horizontal = int(down > 0), 2 + int(right > 0)  # indices into MOVES
    length = abs(down) + abs(right)
    paths = []
    for turns in itertools.combinations(range(length), abs(down)):
        paths.append([vertical if step in turns else horizontal for step in range(length)])
    return np.array(paths, np.int64)


def walk(reward: NumpyReward, task: RandomABC, worth: np.ndarray, name: str, actions: np.ndarray) -> np.ndarray:
    """Returns f[n, length], what each step of a walk to the object `name` is paid; the reward remembers the walk.

    The walk is one episode of each of the n lifetimes that `reward` is in: `actions` i[n, length] lead from the start
    to the object, where worth f[n, 3] of A, B, C are the extrinsic rewards.
    """
    grid, seen = task.map, task.observation_table()
    paid = np.zeros(actions.shape)
    position = np.tile(grid.start, (len(actions), 1))
    for step in range(actions.shape[1]):
        acted_on = seen[position[:, 0] * grid.width + position[:, 1]]
        position = position + MOVES[actions[:, step]]
        arrived = (position == grid.objects[name]).all(axis=1)
        extrinsic = np.where(arrived, worth[:, task.outcomes.index(name)], 0.0)
        next_observation = seen[position[:, 0] * grid.width + position[:, 1]]
        paid[:, step] = reward.step(next_observation, actions[:, step], extrinsic, arrived, observation=acted_on)
    return paid


def promised(reward: NumpyReward, task: RandomABC, worth: np.ndarray) -> np.ndarray:
    """Returns f[n, 3], the sum of the intrinsic rewards of a walk to A, B, C, if it were taken now in each lifetime.

    The mean over all shortest paths. Nothing is remembered of them; worth f[n, 3] as in `walk`.
    """
    check_room(reward, task)
    sums = []
    for name in task.outcomes:
        paths = shortest_paths(task.map.start, task.map.objects[name])
        imagined, num_paths = reward.repeated(len(paths)), len(paths)
        paid = walk(imagined, task, np.repeat(worth, num_paths, axis=0), name, np.tile(paths, (len(worth), 1)))
        sums.append(paid.sum(axis=1).reshape(len(worth), num_paths).mean(axis=1))
    return np.stack(sums, axis=1)


def promised_after(
    reward: NumpyReward, task: RandomABC, worth: np.ndarray, visited: tuple[str, ...], seed: int = 0
) -> np.ndarray:
    """Returns f[n, 3], what a walk to A, B, C is paid in newborn lifetimes after walks to `visited`, an episode each.

    The walks before go by shortest paths that are drawn at random, a path for each lifetime. The reward is begun anew.
    """
    check_room(reward, task)
    random = np.random.default_rng(seed)
    reward.begin(len(worth))
    for name in visited:
        paths = shortest_paths(task.map.start, task.map.objects[name])
        walk(reward, task, worth, name, paths[random.integers(len(paths), size=len(worth))])
    return promised(reward, task, worth)


def walk_draws(reward: NumpyReward, task: RandomABC, worth: np.ndarray) -> WalkDraws:
    """Returns what walks are paid after each of `HISTORIES`, where A, B, C are worth f[D, 3]."""
    return WalkDraws(worth, {visited: promised_after(reward, task, worth, visited) for visited in HISTORIES})


def walk_table(reward: NumpyReward, rewards: dict[str, float] | None = None) -> WalkTable:
    """Returns the mean sums for the first three episodes, A or C visited first, B never: over all shortest paths.

    The mean is over the walk that is scored and over each walk before it: 6, 36 and 216 combinations in episodes
    1, 2 and 3. rewards: extrinsic, of A, B, C; the paper's by default.
    """
    task = RandomABC()
    check_room(reward, task)
    worth = np.array([(PAPER_REWARDS if rewards is None else rewards)[name] for name in task.outcomes])
    panels = {}
    for visited in HISTORIES:
        before = [shortest_paths(task.map.start, task.map.objects[name]) for name in visited]
        chosen = np.array(list(itertools.product(*(range(len(paths)) for paths in before))), int)  # i[K, visited]
        each = np.tile(worth, (len(chosen), 1))
        reward.begin(len(chosen))
        for place, name in enumerate(visited):
            walk(reward, task, each, name, before[place][chosen[:, place]])
        sums = promised(reward, task, each).mean(axis=0)
        panels[visited] = WalkSums(visited, dict(zip(task.outcomes, map(float, sums), strict=True)))
    rows = tuple(tuple(panels[order[:num_visited]] for num_visited in range(len(order) + 1)) for order in ORDERS)
    return WalkTable(room_of(task, worth), rows)


def check_room(reward: NumpyReward, task: RandomABC) -> None:
    """Raises ValueError where walks cannot be scored: in rooms with walls, or with a reward of other observations."""
    if task.map.walls.any():
        raise ValueError("walks are scored in rooms without walls")
    if reward.spec.observation_shape != task.spec.observation_shape:
        shape = reward.spec.observation_shape
        raise ValueError(f"walks are scored in ABC World; this reward is for observations of shape {shape}")
