"""Tiny worlds with known answers, to tell a broken learner from a hard task.

| world | what is right |
|---|---|
| `Bandit` | the best arm pays 1, the others 0; which one is best changes by lifetime: optimum 1, blind 1/arms |
| `Delayed` | only the first action matters and only the last step pays: optimum 1, random 1/2 |
| `Constant` | every step pays the same whatever one does: nothing to learn, the return is known exactly |
"""

import dataclasses

import jax
import jax.numpy as jnp

from orexis.config import TaskSpec
from orexis.types import record


@record
class BanditParams:
    best: jax.Array  # i32[]


@record
class Place:
    """Where a probe world stands."""

    index: jax.Array  # i32[]


def _one_hot_row(index: jax.Array, length: int) -> jax.Array:
    """Returns f32[1, length, 1], a strip of cells with a one at `index`."""
    return jax.nn.one_hot(index, length)[None, :, None]


@dataclasses.dataclass(frozen=True)
class Bandit:
    """One step an episode. Arm `best`, drawn once a lifetime, pays 1, the others 0."""

    arms: int = 3
    episodes: int = 20

    @property
    def spec(self) -> TaskSpec:
        return TaskSpec(self.arms, (1, 2, 1), time_limit=1, episodes_per_lifetime=self.episodes)

    def sample(self, key: jax.Array) -> BanditParams:
        return BanditParams(best=jax.random.randint(key, (), 0, self.arms))

    def reset(self, key: jax.Array, params: BanditParams, episode: jax.Array) -> Place:
        del key, params, episode
        return Place(index=jnp.zeros((), jnp.int32))

    def step(
        self, key: jax.Array, params: BanditParams, state: Place, action: jax.Array
    ) -> tuple[Place, jax.Array, jax.Array]:
        del key, state
        return Place(index=jnp.ones((), jnp.int32)), jnp.where(action == params.best, 1.0, 0.0), jnp.array(True)

    def observe(self, params: BanditParams, state: Place) -> jax.Array:
        del params
        return _one_hot_row(state.index, 2)


@record
class DelayedState:
    index: jax.Array  # i32[]   0 before the choice, then 1 (good) or 2 (bad)
    steps: jax.Array  # i32[]


@dataclasses.dataclass(frozen=True)
class Delayed:
    """Two branches. The first action, 0 or 1, picks the good one (0) or the bad one; the reward, 1 or 0, is
    paid `delay` steps later, when the episode ends. The answer is the same in every lifetime."""

    delay: int = 3
    episodes: int = 20

    def __post_init__(self) -> None:
        if self.delay < 1:
            raise ValueError(f"delay must be at least 1, not {self.delay}")

    @property
    def spec(self) -> TaskSpec:
        return TaskSpec(2, (1, 3, 1), time_limit=self.delay + 1, episodes_per_lifetime=self.episodes)

    def sample(self, key: jax.Array) -> tuple[()]:
        del key
        return ()

    def reset(self, key: jax.Array, params: tuple[()], episode: jax.Array) -> DelayedState:
        del key, params, episode
        return DelayedState(index=jnp.zeros((), jnp.int32), steps=jnp.zeros((), jnp.int32))

    def step(
        self, key: jax.Array, params: tuple[()], state: DelayedState, action: jax.Array
    ) -> tuple[DelayedState, jax.Array, jax.Array]:
        del key, params
        index = jnp.where(state.index == 0, 1 + (action != 0), state.index).astype(jnp.int32)
        steps = state.steps + 1
        ended = steps > self.delay
        return DelayedState(index=index, steps=steps), jnp.where(ended & (index == 1), 1.0, 0.0), ended

    def observe(self, params: tuple[()], state: DelayedState) -> jax.Array:
        del params
        return _one_hot_row(state.index, 3)


@dataclasses.dataclass(frozen=True)
class Constant:
    """Every step pays `reward`; episodes last `length` steps, whatever the agent does."""

    reward: float = 0.5
    length: int = 3
    episodes: int = 10

    @property
    def spec(self) -> TaskSpec:
        return TaskSpec(2, (1, 1, 1), time_limit=self.length, episodes_per_lifetime=self.episodes)

    def sample(self, key: jax.Array) -> tuple[()]:
        del key
        return ()

    def reset(self, key: jax.Array, params: tuple[()], episode: jax.Array) -> Place:
        del key, params, episode
        return Place(index=jnp.zeros((), jnp.int32))

    def step(
        self, key: jax.Array, params: tuple[()], state: Place, action: jax.Array
    ) -> tuple[Place, jax.Array, jax.Array]:
        del key, params, action
        return state, jnp.full((), self.reward), jnp.array(False)

    def observe(self, params: tuple[()], state: Place) -> jax.Array:
        del params, state
        return jnp.ones((1, 1, 1))
