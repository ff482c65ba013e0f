"""What a learned reward pays for walking to A, B or C in the first three episodes of a lifetime.

Nobody learns here: scripted walks are fed to the reward, which remembers them as it would an
agent's life. A corner of ABC World is reached by six shortest paths. The sum that is reported is
the mean over all of them, for the walk that is scored and for each walk before it: 6, 36 and 216
combinations in episodes 1, 2 and 3.
"""

import itertools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from orexis.figures.walks import WalkSums, WalkTable
from orexis.interop.numpy_reward import NumpyReward
from orexis.tasks.abc import ABCParams, ABCState, RandomABC
from orexis.tasks.grid import MOVES

PAPER_REWARDS = {"A": 0.2, "B": -0.5, "C": 0.1}  # extrinsic, in the paper's fifth figure
ORDERS = (("A", "C"), ("C", "A"))  # of visiting: top row, bottom row


def shortest_paths(start: tuple[int, int], goal: tuple[int, int]) -> np.ndarray:
    """Returns i[P, length], the actions of every shortest path in a room without walls, rows-first ones first."""
    down, right = goal[0] - start[0], goal[1] - start[1]
    vertical, horizontal = int(down > 0), 2 + int(right > 0)  # indices into MOVES
    length = abs(down) + abs(right)
    paths = []
    for turns in itertools.combinations(range(length), abs(down)):
        paths.append([vertical if step in turns else horizontal for step in range(length)])
    return np.array(paths, np.int64)


def walk_returns(reward: NumpyReward, task: RandomABC, rewards: dict[str, float], walks: Sequence[str]) -> np.ndarray:
    """Returns f[K], the sum of the intrinsic rewards of the last walk, for each combination of shortest paths.

    walks: the objects walked to, an episode each, from the birth of the agent on. The reward is begun anew.
    """
    grid = task.map
    if grid.walls.any():
        raise ValueError("walks are scored in rooms without walls")
    observations = _observations(task)
    paths = [shortest_paths(grid.start, grid.objects[name]) for name in walks]
    chosen = np.array(list(itertools.product(*(range(len(each)) for each in paths))))  # i[K, walks]
    num_combinations = len(chosen)
    reward.begin(num_combinations)
    paid = np.zeros(num_combinations)
    for walk, name in enumerate(walks):
        actions = paths[walk][chosen[:, walk]]  # i[K, length]
        positions = np.tile(grid.start, (num_combinations, 1))
        paid = np.zeros(num_combinations)
        for step in range(actions.shape[1]):
            acted_on = observations[positions[:, 0], positions[:, 1]]
            positions = positions + MOVES[actions[:, step]]
            arrived = (positions == grid.objects[name]).all(axis=1)
            next_observation = observations[positions[:, 0], positions[:, 1]]
            extrinsic = np.where(arrived, rewards[name], 0.0)
            paid += reward.step(next_observation, actions[:, step], extrinsic, arrived, observation=acted_on)
    return paid


def walk_table(reward: NumpyReward, rewards: dict[str, float] | None = None) -> WalkTable:
    """Returns the mean sums for the first three episodes, A or C visited first, B never.

    rewards: extrinsic, of A, B, C; the paper's by default.
    """
    task = RandomABC()
    if reward.spec.observation_shape != task.spec.observation_shape:
        shape = reward.spec.observation_shape
        raise ValueError(f"walks are scored in ABC World; this reward is for observations of shape {shape}")
    worth = PAPER_REWARDS if rewards is None else rewards
    grid = task.map
    rows = []
    for order in ORDERS:
        panels = []
        for num_visited in range(len(order) + 1):
            visited = order[:num_visited]
            sums = {name: float(walk_returns(reward, task, worth, [*visited, name]).mean()) for name in grid.objects}
            panels.append(WalkSums(visited=visited, sums=sums))
        rows.append(tuple(panels))
    return WalkTable(
        shape=(grid.height, grid.width), start=grid.start, objects=grid.objects, rewards=worth, rows=tuple(rows)
    )


def _observations(task: RandomABC) -> np.ndarray:
    """Returns f32[H, W, H, W, C], what the agent sees in each cell."""
    height, width = task.map.height, task.map.width
    cells = jnp.stack(jnp.meshgrid(jnp.arange(height), jnp.arange(width), indexing="ij"), axis=-1).reshape(-1, 2)
    params = ABCParams(rewards=jnp.zeros(3))
    nowhere = -jnp.ones((), jnp.int32)
    seen = jax.vmap(lambda position: task.observe(params, ABCState(position=position, reached=nowhere)))(cells)
    return np.asarray(seen).reshape(height, width, *seen.shape[1:])
