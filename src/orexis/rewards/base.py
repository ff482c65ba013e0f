"""The contract of a reward source: what an agent is paid, instead of or beside the extrinsic reward.

The learned reward and its hand-made baselines share this interface, so that everything else,
agent, evaluation and figures, does not know which one it has.
"""

import dataclasses
from typing import Protocol

import jax

from orexis.types import PyTree, Rollout


@dataclasses.dataclass(frozen=True)
class Returns:
    """How a source's rewards are summed into returns."""

    discount: float | None = None  # None: the agent's own
    through_episodes: bool = False  # True: returns run through episode ends and stop with the lifetime

    def discounts(self, rollout: Rollout, agent_discount: float) -> jax.Array:
        """Returns the discount of each arrival, f32[T]: 0 where what is summed over ends."""
        goes_on = rollout.lifetime_goes_on if self.through_episodes else rollout.episode_goes_on
        return goes_on * (agent_discount if self.discount is None else self.discount)


class RewardSource(Protocol):
    """Pays for the arrivals of a rollout. One lifetime; callers `vmap`."""

    @property
    def returns(self) -> Returns: ...

    def init(self, key: jax.Array) -> PyTree:
        """Returns params, shared by all lifetimes."""
        ...

    def begin(self, params: PyTree, key: jax.Array) -> PyTree:
        """Returns the state at a lifetime's start."""
        ...

    def unroll(self, params: PyTree, state: PyTree, rollout: Rollout) -> tuple[jax.Array, PyTree]:
        """Returns the rewards of the T arrivals, f32[T], and the state after the last."""
        ...
