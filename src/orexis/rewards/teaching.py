"""What every teacher shares: it knows where one should go now, and pays for coming nearer.

    r_t  =  s  if step t comes nearer to what should be visited, as known before the step;  −s  if it does not

A teacher sees what a learned reward sees, the history of a lifetime, and nothing that the task hides. What an agent
gets under it is what this agent can get from a good reward.
"""

import abc
import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np

from orexis.rewards.base import Returns
from orexis.tasks.base import Task
from orexis.tasks.grid import distances
from orexis.types import PyTree, Rollout, record

FAR = 2**20  # the distance to where no way leads


@record
class Step:
    """One step as a teacher sees it: the cell of each plane's thing, in reading order, before and after."""

    before: jax.Array  # i32[C]  in the observation acted on
    after: jax.Array  # i32[C]   in the next one, the terminal one at an episode's end
    reward: jax.Array  # f32[]   extrinsic


@dataclasses.dataclass(frozen=True)
class Teacher(abc.ABC):
    """±scale by whether a step comes nearer, see the module. Subclasses say what to visit and what was learned."""

    task: Task  # in a grid, with the action space that it is lived in
    scale: float = dataclasses.field(compare=False)  # s; becomes the params: a compiled program serves every scale
    returns: Returns = Returns()

    def __post_init__(self) -> None:
        if not (np.isfinite(self.scale) and self.scale >= 0):
            raise ValueError(f"a teacher's scale must be finite and not negative, not {self.scale}")

    def init(self, key: jax.Array) -> jax.Array:
        """Returns the scale, f32[]."""
        del key
        return jnp.float32(self.scale)

    @abc.abstractmethod
    def begin(self, params: jax.Array, key: jax.Array) -> PyTree:
        """Returns what is known at a lifetime's start."""

    @abc.abstractmethod
    def judge(self, state: PyTree, step: Step) -> tuple[jax.Array, PyTree]:
        """Returns whether the step came nearer to what should be visited, bool[], and what is known after it."""

    def unroll(self, params: jax.Array, state: PyTree, rollout: Rollout) -> tuple[jax.Array, PyTree]:
        """Returns ±s for each step inside the lifetime, 0 beyond, f32[T], and what is known after the last."""

        def follow(state: PyTree, row: tuple[Step, jax.Array]) -> tuple[PyTree, jax.Array]:
            step, inside = row
            nearer, following = self.judge(state, step)
            state = jax.tree.map(lambda new, old: jnp.where(inside, new, old), following, state)
            return state, jnp.where(inside, jnp.where(nearer, params, -params), 0.0)

        steps = Step(cells_of(rollout.observation[:-1]), cells_of(rollout.next_observation), rollout.reward)
        state, rewards = jax.lax.scan(follow, state, (steps, rollout.in_lifetime > 0))
        return rewards, state

    @property
    def moves(self) -> np.ndarray:  # i32[A, 2]
        """The moves that the task offers, in whatever order: diagonals make ways shorter."""
        return self.task.moves[: self.task.spec.num_actions]  # type: ignore[attr-defined]

    @property
    def agent_plane(self) -> int:
        return self.task.spec.agent_plane or 0


def cells_of(observations: jax.Array) -> jax.Array:
    """Returns i32[T, C], the cell (row · W + column) in which each plane of f32[T, H, W, C] is largest."""
    planes = observations.reshape(observations.shape[0], -1, observations.shape[-1])
    return jnp.argmax(planes, axis=1).astype(jnp.int32)


def all_distances(walls: np.ndarray, moves: np.ndarray, ends: tuple[tuple[int, int], ...] = ()) -> np.ndarray:
    """Returns i32[H·W, H·W], the fewest moves from each cell to each other, `FAR` where no way leads.

    A cell of `ends` may be arrived in but never left: from there to anywhere else it is `FAR`. It is read-only.
    """
    return _table(walls.tobytes(), walls.shape, np.ascontiguousarray(moves, np.int32).tobytes(), ends)


@functools.lru_cache(maxsize=16)
def _table(walls: bytes, shape: tuple[int, int], moves: bytes, ends: tuple[tuple[int, int], ...]) -> np.ndarray:
    grid = np.frombuffer(walls, bool).reshape(shape)
    changes = np.frombuffer(moves, np.int32).reshape(-1, 2)
    table = np.full((grid.size, grid.size), FAR, np.int32)
    np.fill_diagonal(table, 0)
    for row, column in np.argwhere(~grid):
        start = (int(row), int(column))
        if start not in ends:
            away = distances(grid, start, changes, avoid=frozenset(ends)).ravel()
            table[start[0] * shape[1] + start[1]] = np.where(away < 0, FAR, away)
    table.setflags(write=False)
    return table


@record
class Worths:
    """What a lifetime knows of K things that pay when they are reached."""

    tried: jax.Array  # bool[K]
    paid: jax.Array  # f32[K]  the last time; 0 before the first

    @classmethod
    def unknown(cls, num_things: int) -> "Worths":
        return cls(jnp.zeros(num_things, bool), jnp.zeros(num_things))

    def choose(self) -> jax.Array:
        """Returns i32[], the first thing that is unknown, else the one that paid best."""
        return jnp.where(self.tried.all(), jnp.argmax(self.paid), jnp.argmin(self.tried)).astype(jnp.int32)

    def after(self, reached: jax.Array, reward: jax.Array) -> "Worths":
        """Returns what is known once the thing that `reached` bool[K] marks, if any, paid `reward`."""
        return Worths(self.tried | reached, jnp.where(reached, reward, self.paid))
