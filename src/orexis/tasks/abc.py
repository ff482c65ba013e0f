"""ABC World: three objects in a 5×5 room; reaching one pays its reward and ends the episode.

`RandomABC` hides the rewards, which are drawn once a lifetime. `NonstationaryABC` exchanges those of
A and C in the middle of it, again and again.
"""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np

from orexis.config import TaskSpec
from orexis.tasks.grid import (
    ALL_MOVES,
    MOVES,
    GridMap,
    agent_table,
    distances,
    is_at,
    move,
    parse_map,
    sketch_cells,
    with_agent,
)
from orexis.tasks.optima import expected_best
from orexis.types import PyTree, record

ABC_MAP = """
A...B
.....
..@..
.....
C....
"""


def abc_map(size: int) -> str:
    """Returns the drawing of a room of `size` × `size` cells: objects in three corners, the start in the centre."""
    if size < 3 or size % 2 == 0:
        raise ValueError(f"an ABC room needs an odd number of rows, at least 3, not {size}")
    rows = [["."] * size for _ in range(size)]
    rows[0][0], rows[0][-1], rows[-1][0], rows[size // 2][size // 2] = "A", "B", "C", "@"
    return "\n".join(["", *("".join(row) for row in rows), ""])


@record
class ABCParams:
    rewards: jax.Array  # f32[3]  of A, B, C, fixed for a lifetime (non-stationary: until the first swap)


class ABCWorld:
    """What both versions share: the room, what is seen of it, and how one walks in it."""

    time_limit: int
    episodes: int
    drawing: str
    outcomes = ("A", "B", "C")
    observation_bounds = (0.0, 1.0)
    moves = ALL_MOVES  # what `step` understands; `spec` offers the first four

    def __post_init__(self) -> None:
        if tuple(self.map.objects) != self.outcomes:
            raise ValueError(f"the map must show A, B and C, it shows {sorted(self.map.objects)}")

    @property
    def map(self) -> GridMap:
        return parse_map(self.drawing)

    @property
    def spec(self) -> TaskSpec:
        grid = self.map
        return TaskSpec(
            num_actions=len(MOVES),
            observation_shape=(grid.height, grid.width, 1 + len(self.outcomes)),
            time_limit=self.time_limit,
            episodes_per_lifetime=self.episodes,
            agent_plane=0,
        )

    def observation_table(self) -> np.ndarray:
        """Returns f32[H·W, H, W, 4], what is seen in each cell, in reading order."""
        grid = self.map
        cells = np.argwhere(np.ones((grid.height, grid.width), bool))
        return agent_table(self._background, cells)

    def sketch(self, params: PyTree, state: PyTree, reveal: bool = False) -> np.ndarray:
        """Returns str[H, W], the room as a person may see it; nothing in it is hidden."""
        del params, reveal
        return sketch_cells(self.map.walls, *self.map.objects.items(), ("@", state.position))

    def _see(self, position: jax.Array) -> jax.Array:
        return with_agent(self._background, position)

    def _index(self, position: jax.Array) -> jax.Array:
        return position[0] * self.map.width + position[1]

    def _walk(
        self, position: jax.Array, action: jax.Array, rewards: jax.Array
    ) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
        """Returns the new position, the object reached (−1 for none), the reward and whether the episode ended."""
        position = move(self.map.walls, position, action)
        reward, reached = jnp.zeros(()), -jnp.ones((), jnp.int32)
        for index, name in enumerate(self.outcomes):
            here = is_at(position, self.map.objects[name])
            reward = jnp.where(here, rewards[index], reward)
            reached = jnp.where(here, index, reached)
        return position, reached, reward, reached >= 0

    def _within_reach(self, moves: np.ndarray) -> list[int]:
        """Returns the indices of the objects that can be reached in time without touching another."""
        grid = self.map
        away = distances(grid.walls, grid.start, moves, avoid=frozenset(grid.objects.values()))
        return [i for i, name in enumerate(self.outcomes) if 0 < away[grid.objects[name]] <= self.time_limit]

    @property
    def _background(self) -> np.ndarray:  # f32[H, W, 3]
        grid = self.map
        planes = np.zeros((grid.height, grid.width, len(self.outcomes)), np.float32)
        for index, name in enumerate(self.outcomes):
            planes[(*grid.objects[name], index)] = 1.0
        return planes


@record
class ABCState:
    position: jax.Array  # i32[2]
    reached: jax.Array  # i32[]   index of the object just reached, -1 for none


@dataclasses.dataclass(frozen=True)
class RandomABC(ABCWorld):
    """Rewards of A, B, C uniform in [-1, 1], [-0.5, 0], [0, 0.5], drawn once a lifetime (paper, section 4.3).

    The observation has a plane for the agent and one for each object; the rewards are hidden.
    """

    low: tuple[float, float, float] = (-1.0, -0.5, 0.0)
    high: tuple[float, float, float] = (1.0, 0.0, 0.5)
    time_limit: int = 10
    episodes: int = 50
    drawing: str = ABC_MAP

    def __post_init__(self) -> None:
        check_ranges(self.low, self.high)
        super().__post_init__()

    def sample(self, key: jax.Array) -> ABCParams:
        return ABCParams(rewards=draw_rewards(key, self.low, self.high))

    def reset(self, key: jax.Array, params: ABCParams, episode: jax.Array) -> ABCState:
        del key, params, episode
        return ABCState(position=jnp.array(self.map.start, jnp.int32), reached=-jnp.ones((), jnp.int32))

    def step(
        self, key: jax.Array, params: ABCParams, state: ABCState, action: jax.Array
    ) -> tuple[ABCState, jax.Array, jax.Array]:
        del key
        position, reached, reward, terminated = self._walk(state.position, action, params.rewards)
        return ABCState(position=position, reached=reached), reward, terminated

    def observe(self, params: ABCParams, state: ABCState) -> jax.Array:
        del params
        return self._see(state.position)

    def observation_index(self, params: ABCParams, state: ABCState) -> jax.Array:
        del params
        return self._index(state.position)

    def outcome(self, params: ABCParams, state: ABCState) -> jax.Array:
        del params
        return state.reached

    def optimum(self, moves: np.ndarray = MOVES) -> float:
        """Returns the best expected return of an episode for an agent that knows the rewards: 19/48 by default.

        E[max(0, rewards of the objects within reach)]; the paper's agent comes there once it has tried A and C.
        """
        reach = self._within_reach(moves)
        return expected_best([self.low[i] for i in reach], [self.high[i] for i in reach])


@record
class NonstationaryState:
    position: jax.Array  # i32[2]
    reached: jax.Array  # i32[]   index of the object just reached, -1 for none
    rewards: jax.Array  # f32[3]  of A, B, C in this episode


@dataclasses.dataclass(frozen=True)
class NonstationaryABC(ABCWorld):
    """A pays 1 or −1 by lifetime, C the opposite, B −0.5; A and C swap every 250 episodes (paper, section 4.5).

    With `random_sign=False` every lifetime begins with the rewards as they are listed: the appendix's variant,
    in which A always begins with 1.
    """

    rewards: tuple[float, float, float] = (1.0, -0.5, -1.0)
    swap_every: int = 250
    random_sign: bool = True
    time_limit: int = 10
    episodes: int = 1000
    drawing: str = ABC_MAP

    def __post_init__(self) -> None:
        if self.swap_every < 1:
            raise ValueError(f"swap_every must be at least 1 episode, not {self.swap_every}")
        if len(self.rewards) != 3 or not np.all(np.isfinite(self.rewards)):
            raise ValueError(f"rewards must be three finite numbers, for A, B and C, not {self.rewards}")
        super().__post_init__()

    def sample(self, key: jax.Array) -> ABCParams:
        listed = jnp.array(self.rewards)
        if not self.random_sign:
            return ABCParams(rewards=listed)
        return ABCParams(rewards=_swap(listed, jax.random.bernoulli(key)))

    def reset(self, key: jax.Array, params: ABCParams, episode: jax.Array) -> NonstationaryState:
        del key
        return NonstationaryState(
            position=jnp.array(self.map.start, jnp.int32),
            reached=-jnp.ones((), jnp.int32),
            rewards=_swap(params.rewards, (episode // self.swap_every) % 2 == 1),
        )

    def step(
        self, key: jax.Array, params: ABCParams, state: NonstationaryState, action: jax.Array
    ) -> tuple[NonstationaryState, jax.Array, jax.Array]:
        del key, params
        position, reached, reward, terminated = self._walk(state.position, action, state.rewards)
        return NonstationaryState(position=position, reached=reached, rewards=state.rewards), reward, terminated

    def observe(self, params: ABCParams, state: NonstationaryState) -> jax.Array:
        del params
        return self._see(state.position)

    def observation_index(self, params: ABCParams, state: NonstationaryState) -> jax.Array:
        del params
        return self._index(state.position)

    def hints(self, params: ABCParams, state: NonstationaryState) -> jax.Array:
        """Returns f32[3], the rewards of the day."""
        del params
        return state.rewards

    def outcome(self, params: ABCParams, state: NonstationaryState) -> jax.Array:
        del params
        return state.reached

    def optimum(self, moves: np.ndarray = MOVES) -> float:
        """Returns the best expected return of an episode for an agent that knows the rewards of the day: 1 by default.

        The mean over both orders of A and C, which a lifetime of whole swaps sees equally often.
        """
        reach = self._within_reach(moves)
        orders = (self.rewards, self.rewards[::-1])
        return sum(max([0.0, *(order[i] for i in reach)]) for order in orders) / len(orders)


def check_ranges(low: tuple[float, ...], high: tuple[float, ...]) -> None:
    """Raises ValueError unless `low` and `high` are the ends of three ranges."""
    for name, ends in (("low", low), ("high", high)):
        if len(ends) != 3 or not all(isinstance(end, (int, float)) and math.isfinite(end) for end in ends):
            raise ValueError(f"{name} must be three finite numbers, of A, B and C, got {ends}")
    if any(a > b for a, b in zip(low, high, strict=True)):
        raise ValueError(f"each low must be at most its high, got low {low} and high {high}")


def draw_rewards(key: jax.Array, low: tuple[float, ...], high: tuple[float, ...]) -> jax.Array:
    """Returns f32[3], the rewards of A, B, C, uniform between `low` and `high`. The key is consumed."""
    return jax.random.uniform(key, (len(low),), minval=jnp.array(low), maxval=jnp.array(high))


def _swap(rewards: jax.Array, swapped: jax.Array) -> jax.Array:
    """Returns f32[3], `rewards` with those of A and C exchanged where `swapped`."""
    return jnp.where(swapped, rewards[::-1], rewards)
