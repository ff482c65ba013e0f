"""The contract of an agent inside a window: how it learns where the meta-gradient passes through.

`agents.base.Agent` is how an agent lives; this is what a window asks of it beyond that. Its state is its own and may
change its form: the dense actor-critic keeps theta, the factored one keeps the rows of its updates.

    begin_window(state) ──► [update_with_logits ──► actor ──► act …] × N ──► logits of R_N ──► end_window(state)
"""

from typing import Protocol

import jax

from orexis.agents.base import Agent
from orexis.rewards.base import Returns
from orexis.types import PyTree, Rollout


class WindowAgent(Protocol):
    """Learns inside a window. One lifetime; callers `vmap`."""

    @property
    def grows(self) -> bool:
        """Whether the state's shapes change from update to update: then a window is a Python loop, not a scan."""
        ...

    @property
    def rollout_length(self) -> int:
        """T, the steps between two updates."""
        ...

    def begin_window(self, state: PyTree) -> PyTree:
        """Returns the form in which the window's updates are done, from the one carried between windows."""
        ...

    def update_with_logits(
        self, state: PyTree, rollout: Rollout, rewards: jax.Array, returns: Returns
    ) -> tuple[PyTree, jax.Array]:
        """Returns the state after learning from `rollout`, and its logits f32[T, A] under the state before.

        Gradients flow to `rewards` and to the incoming state.
        """
        ...

    def actor(self, state: PyTree) -> tuple[Agent, PyTree]:
        """Returns who acts for one rollout with this state, and that one's state: itself, or a quicker twin."""
        ...

    def logits(self, state: PyTree, observations: jax.Array) -> jax.Array:
        """Returns the policy's logits f32[B, A] on B observations."""
        ...

    def end_window(self, state: PyTree) -> PyTree:
        """Returns the state as it is carried from window to window."""
        ...
