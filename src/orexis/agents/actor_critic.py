"""The paper's agent: actor-critic with n-step returns of whatever reward it is given (equations 2 and 3)."""

import dataclasses

import jax
import jax.numpy as jnp

from orexis.agents.sampling import choose
from orexis.config import AgentConfig, TaskSpec
from orexis.losses import entropy_loss, policy_gradient_loss, value_loss
from orexis.networks import policy
from orexis.networks.lookup import DIRECT, ObservationLookup
from orexis.networks.policy import Theta
from orexis.optimizers import Adam, InnerOptimizer, Sgd, clip_factor, squared_norm
from orexis.returns import discounted_returns
from orexis.rewards.base import Returns
from orexis.types import Last, PyTree, Rollout, record


@record
class ActorCriticState:
    theta: Theta
    optimizer: PyTree


def make_optimizer(config: AgentConfig) -> InnerOptimizer:
    """Returns the optimiser that `config` names."""
    if config.optimizer == "sgd":
        return Sgd(config.learning_rate)
    eps_root = 1e-8 if config.differentiate_denominator else 0.0
    return Adam(config.learning_rate, eps_root=eps_root, differentiate_denominator=config.differentiate_denominator)


@dataclasses.dataclass(frozen=True)
class ActorCritic:
    """theta acts; each rollout pays for one update of theta. It begins as `learned` (MAML), or at random."""

    spec: TaskSpec
    config: AgentConfig
    observation_lookup: ObservationLookup = DIRECT  # how observations are stored in rollouts
    first_order: bool = False  # an update's gradient is a constant for the meta-gradient: of MAML alone
    grows = False  # the state keeps its shapes from update to update

    @property
    def rollout_length(self) -> int:
        return self.config.rollout_length

    def init(self, key: jax.Array, learned: PyTree = ()) -> ActorCriticState:
        theta = policy.init(key, self.spec, self.config.net) if isinstance(learned, tuple) else learned
        return ActorCriticState(theta=theta, optimizer=make_optimizer(self.config).init(theta))

    def act(
        self, state: ActorCriticState, observation: jax.Array, last: Last, key: jax.Array
    ) -> tuple[jax.Array, jax.Array, jax.Array, ActorCriticState]:
        del last
        logits, value = policy.apply(state.theta, observation, self.observation_lookup)
        return choose(logits, key), value, logits, state

    def update(
        self, state: ActorCriticState, rollout: Rollout, rewards: jax.Array, returns: Returns
    ) -> ActorCriticState:
        return self.update_with_logits(state, rollout, rewards, returns)[0]

    def update_with_logits(
        self, state: ActorCriticState, rollout: Rollout, rewards: jax.Array, returns: Returns
    ) -> tuple[ActorCriticState, jax.Array]:
        """Returns the state after one update, and the logits f32[T, A] of the rollout under the *old* theta.

        L_in = −Σ log pi(a)·(G − v_rec) − c·Σ H + c_b·½ Σ (v − G)², all masked by `in_lifetime`, with G
        bootstrapped from the recorded value. Gradients flow to `rewards` through the advantage and
        through the value target, and to the incoming theta (second order); not to recorded values. The
        gradient of L_in is clipped at `gradient_clip` in norm; the factor that does it carries gradient like the rest.
        """
        config = self.config
        targets, advantages = inner_targets(rollout, rewards, returns, config)

        def inner_loss(theta: Theta) -> tuple[jax.Array, jax.Array]:
            logits, values = policy.apply(theta, rollout.observation[:-1], self.observation_lookup)
            return rollout_loss(logits, values, rollout, targets, advantages, config), logits

        grads, logits = jax.grad(inner_loss, has_aux=True)(state.theta)
        grads = jax.lax.stop_gradient(grads) if self.first_order else grads
        if config.gradient_clip is not None:
            factor = clip_factor(squared_norm(grads), config.gradient_clip)
            grads = jax.tree.map(lambda g: factor * g, grads)
        theta, optimizer = make_optimizer(config).update(grads, state.optimizer, state.theta)
        return ActorCriticState(theta=theta, optimizer=optimizer), logits

    def begin_window(self, state: ActorCriticState) -> ActorCriticState:
        """Returns the state in the form in which a window's updates are done: here, as it is."""
        return state

    def actor(self, state: ActorCriticState) -> tuple["ActorCritic", ActorCriticState]:
        """Returns who acts for one rollout with this state, and its state: here, the agent itself."""
        return self, state

    def end_window(self, state: ActorCriticState) -> ActorCriticState:
        """Returns the state as it is carried from window to window."""
        return state

    def logits(self, state: ActorCriticState, observations: jax.Array) -> jax.Array:
        """Returns the policy's logits f32[..., A] on observations."""
        return policy.apply(state.theta, observations, self.observation_lookup)[0]


def inner_targets(
    rollout: Rollout, rewards: jax.Array, returns: Returns, config: AgentConfig
) -> tuple[jax.Array, jax.Array]:
    """Returns G f32[T] and the advantages G − v_rec f32[T]; gradients flow to `rewards`, not to recorded values."""
    recorded = jax.lax.stop_gradient(rollout.value)
    targets = discounted_returns(rewards, returns.discounts(rollout, config.discount), recorded[-1])
    return targets, targets - recorded[:-1]


def rollout_loss(
    logits: jax.Array,
    values: jax.Array,
    rollout: Rollout,
    targets: jax.Array,
    advantages: jax.Array,
    config: AgentConfig,
) -> jax.Array:
    """Returns L_in, the actor-critic loss of one rollout, summed over the steps inside the lifetime."""
    mask = rollout.in_lifetime
    return (
        policy_gradient_loss(logits, rollout.action, advantages, mask)
        + config.entropy_cost * entropy_loss(logits, mask)
        + config.value_cost * value_loss(values, targets, mask)
    )


def theta_norm(state: ActorCriticState) -> jax.Array:
    """Returns the Euclidean norm of theta, the first thing to look at when agents diverge."""
    return jnp.sqrt(squared_norm(state.theta))
