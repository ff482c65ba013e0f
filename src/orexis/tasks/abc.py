"""ABC World: three objects in a 5×5 room; reaching one pays its reward and ends the episode."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from orexis.config import TaskSpec
from orexis.tasks.grid import MOVES, GridMap, move, parse_map, plane
from orexis.types import record

ABC_MAP = """
A...B
.....
..@..
.....
C....
"""


@record
class ABCParams:
    rewards: jax.Array  # f32[3]  of A, B, C, fixed for a lifetime


@record
class ABCState:
    position: jax.Array  # i32[2]
    reached: jax.Array  # i32[]   index of the object just reached, -1 for none


@dataclasses.dataclass(frozen=True)
class RandomABC:
    """Rewards of A, B, C uniform in [-1, 1], [-0.5, 0], [0, 0.5], drawn once a lifetime (paper, section 4.3).

    The observation has a plane for the agent and one for each object; the rewards are hidden.
    """

    low: tuple[float, float, float] = (-1.0, -0.5, 0.0)
    high: tuple[float, float, float] = (1.0, 0.0, 0.5)
    time_limit: int = 10
    episodes: int = 50
    drawing: str = ABC_MAP
    outcomes = ("A", "B", "C")

    def __post_init__(self) -> None:
        if any(low > high for low, high in zip(self.low, self.high, strict=True)):
            raise ValueError(f"each low must be at most its high, got low {self.low} and high {self.high}")
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
        )

    def sample(self, key: jax.Array) -> ABCParams:
        return ABCParams(rewards=jax.random.uniform(key, (3,), minval=jnp.array(self.low), maxval=jnp.array(self.high)))

    def reset(self, key: jax.Array, params: ABCParams, episode: jax.Array) -> ABCState:
        del key, params, episode
        return ABCState(position=jnp.array(self.map.start, jnp.int32), reached=-jnp.ones((), jnp.int32))

    def step(
        self, key: jax.Array, params: ABCParams, state: ABCState, action: jax.Array
    ) -> tuple[ABCState, jax.Array, jax.Array]:
        del key
        position = move(self.map.walls, state.position, action)
        on_object = (position == self._places).all(axis=1)  # bool[3]
        terminated = on_object.any()
        reward = jnp.sum(params.rewards * on_object)
        reached = jnp.where(terminated, jnp.argmax(on_object), -1).astype(jnp.int32)
        return ABCState(position=position, reached=reached), reward, terminated

    def observe(self, params: ABCParams, state: ABCState) -> jax.Array:
        del params
        grid = self.map
        objects = np.zeros((grid.height, grid.width, 3), np.float32)
        for index, (row, column) in enumerate(self._places):
            objects[row, column, index] = 1.0
        agent = plane((grid.height, grid.width), state.position)
        return jnp.concatenate([agent[:, :, None], jnp.asarray(objects, agent.dtype)], axis=-1)

    def outcome(self, params: ABCParams, state: ABCState) -> jax.Array:
        del params
        return state.reached

    @property
    def _places(self) -> np.ndarray:  # i32[3, 2]
        return np.array([self.map.objects[name] for name in self.outcomes], np.int32)
