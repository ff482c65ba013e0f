"""eta as a reward: agents with random theta learn from what it pays."""

import dataclasses
from typing import TYPE_CHECKING

import jax

from orexis.agents.actor_critic import theta_norm
from orexis.meta.learned.base import raise_head
from orexis.meta.learned.window import Window, unroll_window
from orexis.meta.rollout import play, presample_noise
from orexis.networks import history
from orexis.types import Alternatives, Lifetime, PyTree, Rollout, World

if TYPE_CHECKING:
    from orexis.meta.parts import Parts


@dataclasses.dataclass(frozen=True)
class RewardLearning:
    """eta pays; what enters a window, theta_0 included, is a constant."""

    def init(self, parts: "Parts", key: jax.Array) -> PyTree:
        return parts.reward.init(key)

    def tabulate(self, parts: "Parts", eta: PyTree, observations: jax.Array) -> PyTree:
        return history.tabulate(eta, observations, parts.network)

    def begin(
        self, parts: "Parts", eta: PyTree, key: jax.Array, world: World, key_first: jax.Array
    ) -> tuple[PyTree, World, Rollout]:
        agent = parts.agent.init(key, self.transfer(eta))
        noise = presample_noise(key_first, parts.agent.rollout_length, parts.task.spec.num_actions)
        _, world, rollout, _ = play(parts.task, parts.agent, agent, world, noise, parts.privilege)
        return agent, world, rollout

    def transfer(self, eta: PyTree) -> PyTree:
        """Returns what of eta a newborn agent is made of: nothing."""
        del eta
        return ()

    def enter(self, parts: "Parts", eta: PyTree, lifetime: Lifetime) -> PyTree:
        del parts, eta
        return jax.lax.stop_gradient(lifetime.agent)

    def unroll(
        self,
        parts: "Parts",
        eta: PyTree,
        lifetime: Lifetime,
        num_updates: int,
        key: jax.Array,
        recorded: Rollout | None,
        all_actions: bool,
        alternatives: Alternatives | tuple[()],
    ) -> Window:
        return unroll_window(parts, eta, lifetime, num_updates, key, recorded, all_actions, alternatives)

    def weigh_first(self, lifetime: Lifetime) -> jax.Array | None:
        del lifetime
        return None

    def probe(self, eta: PyTree, zero: jax.Array) -> PyTree:
        return raise_head(eta, zero)

    def norm(self, agent: PyTree) -> jax.Array:
        return theta_norm(agent)
