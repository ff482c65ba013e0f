"""Q-learning (Watkins, 1989) on the paper's torso: another learner for the study of generalisation (section 5.1).

A reward that was learned with actor-critic agents is handed to agents that learn in another way.
"""

import dataclasses

import jax
import jax.numpy as jnp

from orexis.config import QLearningConfig, TaskSpec
from orexis.losses import value_loss
from orexis.networks import policy
from orexis.networks.layers import dense
from orexis.networks.policy import Theta
from orexis.optimizers import Adam, scheduled
from orexis.returns import discounted_returns
from orexis.rewards.base import Returns
from orexis.types import Last, PyTree, Rollout, record


@record
class QLearningState:
    theta: Theta
    optimizer: PyTree
    updates: jax.Array  # i32[]  lived so far: epsilon falls with them


@dataclasses.dataclass(frozen=True)
class QLearning:
    """theta is Q; the greedy action is taken but for a share epsilon; each rollout pays for one update."""

    spec: TaskSpec
    config: QLearningConfig

    @property
    def rollout_length(self) -> int:
        return self.config.rollout_length

    def init(self, key: jax.Array, learned: PyTree = ()) -> QLearningState:
        del learned
        born = policy.init(key, self.spec, self.config.net)
        theta = {"conv": born["conv"], "hidden": born["hidden"], "q": born["policy"]}
        optimizer = Adam(self.config.learning_rate).init(theta)
        return QLearningState(theta=theta, optimizer=optimizer, updates=jnp.zeros((), jnp.int32))

    def act(
        self, state: QLearningState, observation: jax.Array, last: Last, key: jax.Array
    ) -> tuple[jax.Array, jax.Array, jax.Array, QLearningState]:
        del last
        values = action_values(state.theta, observation)
        epsilon = scheduled(self.config.epsilon, state.updates)
        greedy = jax.nn.one_hot(jnp.argmax(values), self.spec.num_actions)
        logits = jnp.log(epsilon / self.spec.num_actions + (1.0 - epsilon) * greedy)
        return jax.random.categorical(key, logits), jnp.max(values), logits, state

    def update(self, state: QLearningState, rollout: Rollout, rewards: jax.Array, returns: Returns) -> QLearningState:
        """Returns the state after one step down ½ Σ_t mask_t · (Q(s_t, a_t) − G_t)², the targets G held fixed."""
        discounts = returns.discounts(rollout, self.config.discount)
        following = jnp.max(action_values(state.theta, rollout.observation[1:]), axis=-1)
        targets = jax.lax.stop_gradient(q_targets(rewards, discounts, following, self.config.trace))

        def loss(theta: Theta) -> jax.Array:
            values = action_values(theta, rollout.observation[:-1])
            taken = jnp.take_along_axis(values, rollout.action[:, None], axis=-1)[:, 0]
            return value_loss(taken, targets, rollout.in_lifetime)

        grads = jax.grad(loss)(state.theta)
        theta, optimizer = Adam(self.config.learning_rate).update(grads, state.optimizer, state.theta)
        return QLearningState(theta=theta, optimizer=optimizer, updates=state.updates + 1)


def action_values(theta: Theta, observations: jax.Array) -> jax.Array:
    """Returns Q f32[..., A] of observations f32[..., H, W, C]."""
    return dense(theta["q"], policy.features(theta, observations))


def q_targets(rewards: jax.Array, discounts: jax.Array, following: jax.Array, trace: float) -> jax.Array:
    """Returns the targets G f32[T] of Q(s_t, a_t), naive Q(lambda) inside a rollout.

        G_t = r_t + d_t · ((1 − λ)·M_{t+1} + λ·G_{t+1}),   G_T = M_T,   M_t = max_a Q(s_t, a)

    `following` f32[T] are M_1..M_T. λ = 0 is one-step Q-learning, λ = 1 the T-step return.
    """
    one_step = rewards + discounts * (1.0 - trace) * following
    return discounted_returns(one_step, discounts * trace, following[-1])
