"""eta as a policy with a memory (RL², Duan et al., 2016): what a lifetime taught is in the memory.

    memory before the window ──eta──► N·T steps, acted ──eta once more──► their logits, the memory after them

Acting carries no gradient. The same steps are then unrolled at once, differentiably, from the memory that entered the
window: truncated backpropagation through N·T steps. The memory is never reset at an episode's end. There is no R_0.
"""

import dataclasses
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from orexis.agents.rl2 import Rl2, Rl2State, see_steps
from orexis.agents.scripted import RandomAgent
from orexis.meta.learned.base import raise_head
from orexis.meta.learned.window import Window
from orexis.meta.rollout import play, presample_noise, split_keys
from orexis.networks import history
from orexis.networks.history import HistoryState
from orexis.optimizers import squared_norm
from orexis.types import Alternatives, Last, Lifetime, PyTree, Rollout, World

if TYPE_CHECKING:
    from orexis.meta.parts import Parts


@dataclasses.dataclass(frozen=True)
class _Actor:
    """Acts with parameters that all lifetimes share: a lifetime carries its memory alone."""

    agent: Rl2
    params: PyTree

    def act(
        self, memory: HistoryState, observation: jax.Array, last: Last, chance: jax.Array
    ) -> tuple[jax.Array, jax.Array, jax.Array, HistoryState]:
        action, value, logits, state = self.agent.act(Rl2State(self.params, memory), observation, last, chance)
        return action, value, logits, state.memory


@dataclasses.dataclass(frozen=True)
class PolicyLearning:
    """eta acts; a lifetime's agent is its memory."""

    def init(self, parts: "Parts", key: jax.Array) -> PyTree:
        return parts.agent.init_params(key)

    def tabulate(self, parts: "Parts", eta: PyTree, observations: jax.Array) -> PyTree:
        return history.tabulate(eta, observations, parts.network)

    def begin(
        self, parts: "Parts", eta: PyTree, key: jax.Array, world: World, key_first: jax.Array
    ) -> tuple[PyTree, World, Rollout]:
        del eta, key
        nobody = RandomAgent(parts.task.spec, rollout_length=0)
        _, world, rollout, _ = play(parts.task, nobody, (), world, split_keys(key_first, 0), parts.privilege)
        return history.begin(parts.task.spec, parts.network), world, rollout

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
        """Returns the window of N·T steps; `recorded` and `alternatives` are those of all of them, [N·T]."""
        length = num_updates * parts.agent.rollout_length
        memory, world = self.enter(parts, eta, lifetime), lifetime.world
        if recorded is None:
            noise = presample_noise(key, length, parts.task.spec.num_actions)
            actor: Any = _Actor(parts.agent, jax.lax.stop_gradient(eta))
            _, world, recorded, steps = play(parts.task, actor, memory, world, noise, parts.privilege, all_actions)
            alternatives = steps.alternatives
        logits, memory = parts.agent.unroll(eta, memory, see_steps(recorded, lifetime.world.last))
        return Window(
            rollouts=jax.tree.map(lambda x: x[:length], recorded),
            logits=logits,
            rewards=jnp.zeros(length),
            agent=memory,
            reward_state=(),
            last=jax.tree.map(lambda x: x[length:], recorded),
            world=world,
            alternatives=alternatives,
        )

    def weigh_first(self, lifetime: Lifetime) -> jax.Array | None:
        del lifetime
        return None

    def probe(self, eta: PyTree, zero: jax.Array) -> PyTree:
        return raise_head(eta, zero)

    def norm(self, agent: PyTree) -> jax.Array:
        return jnp.sqrt(squared_norm(agent))
