"""Agents that learn nothing: the floor and the ceiling of every comparison."""

import dataclasses

import jax
import jax.numpy as jnp

from orexis.config import TaskSpec
from orexis.rewards.base import Returns
from orexis.types import Last, PyTree, Rollout, record

CERTAIN = 50.0  # a logit this far above the others: the action is as good as certain


@dataclasses.dataclass(frozen=True)
class RandomAgent:
    """Acts uniformly at random, for ever."""

    spec: TaskSpec
    rollout_length: int = 4

    def init(self, key: jax.Array, learned: PyTree = ()) -> tuple[()]:
        del key, learned
        return ()

    def act(
        self, state: tuple[()], observation: jax.Array, last: Last, key: jax.Array
    ) -> tuple[jax.Array, jax.Array, jax.Array, tuple[()]]:
        del observation, last
        logits = jnp.zeros(self.spec.num_actions)
        return jax.random.categorical(key, logits), jnp.zeros(()), logits, state

    def update(self, state: tuple[()], rollout: Rollout, rewards: jax.Array, returns: Returns) -> tuple[()]:
        del rollout, rewards, returns
        return state


@record
class ExplorerState:
    episode: jax.Array  # i32[]
    seen: jax.Array  # f32[2]  what A and C paid when they were tried


@dataclasses.dataclass(frozen=True)
class NearOptimalABC:
    """The paper's hand-made strategy for Random ABC (appendix B.3): A first, then C, then the better of the two.

    It knows from the start that B is never worth it, how to walk, and that an episode in which
    it walks to an object ends with that object's reward.
    """

    spec: TaskSpec
    rollout_length: int = 4

    def init(self, key: jax.Array, learned: PyTree = ()) -> ExplorerState:
        del key, learned
        return ExplorerState(episode=jnp.zeros((), jnp.int32), seen=jnp.zeros(2))

    def act(
        self, state: ExplorerState, observation: jax.Array, last: Last, key: jax.Array
    ) -> tuple[jax.Array, jax.Array, jax.Array, ExplorerState]:
        del key
        tried = (jnp.arange(2) == state.episode) & (last.done > 0)
        state = ExplorerState(episode=state.episode + (last.done > 0), seen=jnp.where(tried, last.reward, state.seen))
        better = jnp.argmax(state.seen)
        target = jnp.where(state.episode < 2, state.episode, better)  # 0: A, 1: C
        position = _where_is(observation[..., 0])
        goal = jnp.where(target == 0, _where_is(observation[..., 1]), _where_is(observation[..., 3]))
        action = _step_towards(position, goal)
        logits = CERTAIN * jax.nn.one_hot(action, self.spec.num_actions)
        return action, jnp.zeros(()), logits, state

    def update(self, state: ExplorerState, rollout: Rollout, rewards: jax.Array, returns: Returns) -> ExplorerState:
        del rollout, rewards, returns
        return state


def _where_is(plane: jax.Array) -> jax.Array:
    """Returns i32[2], the row and column of the one in a one-hot plane f32[H, W]."""
    return jnp.stack(jnp.unravel_index(jnp.argmax(plane), plane.shape)).astype(jnp.int32)


def _step_towards(position: jax.Array, goal: jax.Array) -> jax.Array:
    """Returns the action (up, down, left, right) that brings `position` nearer to `goal`, rows first."""
    row, column = goal - position
    vertical = jnp.where(row < 0, 0, 1)
    horizontal = jnp.where(column < 0, 2, 3)
    return jnp.where(row != 0, vertical, horizontal).astype(jnp.int32)
