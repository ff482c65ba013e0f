"""The contract of an agent: acts, and learns from whatever reward it is paid."""

from typing import Protocol

import jax

from orexis.rewards.base import Returns
from orexis.types import Last, PyTree, Rollout


class Agent(Protocol):
    """One agent of one lifetime; callers `vmap`."""

    @property
    def rollout_length(self) -> int:
        """T, the steps between two updates."""
        ...

    def init(self, key: jax.Array, learned: PyTree) -> PyTree:
        """Returns the state of a newborn agent; `learned` are transferred parameters, `()` for none."""
        ...

    def act(
        self, state: PyTree, observation: jax.Array, last: Last, key: jax.Array
    ) -> tuple[jax.Array, jax.Array, jax.Array, PyTree]:
        """Returns action i32[], value f32[] (0 if it has none), logits f32[A] and the new state.

        `last` is what the previous step told, so that a policy with memory fits.
        """
        ...

    def update(self, state: PyTree, rollout: Rollout, rewards: jax.Array, returns: Returns) -> PyTree:
        """Returns the state after learning from a rollout paid with `rewards` f32[T], differentiable in them."""
        ...
