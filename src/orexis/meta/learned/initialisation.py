"""eta as theta before its first update (MAML, Finn et al., 2017): agents learn from the task's own reward.

    theta_0 = theta as it entered the window + (eta − stopped eta)

In a lifetime's first window theta entered as eta itself, so this is eta, and the meta-gradient through the N updates is
exact. R_0 was collected with eta: there it counts in the outer policy loss too. Before a later window lie
updates that are no part of it: their Jacobian counts as the identity, so that such a window says in which direction
theta should have been moved all along. Without `later_windows` it says nothing.
"""

import dataclasses
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from orexis.config import MamlConfig
from orexis.meta.learned.reward import RewardLearning
from orexis.networks import policy
from orexis.types import Lifetime, PyTree

if TYPE_CHECKING:
    from orexis.meta.parts import Parts


@dataclasses.dataclass(frozen=True)
class InitialisationLearning(RewardLearning):
    """eta is where theta begins; who pays has nothing to learn."""

    config: MamlConfig

    def init(self, parts: "Parts", key: jax.Array) -> PyTree:
        return policy.init(key, parts.task.spec, parts.network)

    def tabulate(self, parts: "Parts", eta: PyTree, observations: jax.Array) -> PyTree:
        del parts, observations
        return eta

    def transfer(self, eta: PyTree) -> PyTree:
        return eta

    def enter(self, parts: "Parts", eta: PyTree, lifetime: Lifetime) -> PyTree:
        del parts
        reached = jnp.ones(()) if self.config.later_windows else self._is_first(lifetime)
        agent = jax.lax.stop_gradient(lifetime.agent)

        def attach(theta: jax.Array, initial: jax.Array) -> jax.Array:
            return theta + reached.astype(theta.dtype) * (initial - jax.lax.stop_gradient(initial))

        return dataclasses.replace(agent, theta=jax.tree.map(attach, agent.theta, eta))

    def weigh_first(self, lifetime: Lifetime) -> jax.Array:
        return self._is_first(lifetime)

    def probe(self, eta: PyTree, zero: jax.Array) -> PyTree:
        return jax.tree.map(lambda weights: weights + zero, eta)

    def _is_first(self, lifetime: Lifetime) -> jax.Array:
        """Returns 1 in a lifetime's first window and else 0, f32[]."""
        return jnp.where(lifetime.age == 0, 1.0, 0.0)
