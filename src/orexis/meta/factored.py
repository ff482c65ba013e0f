"""Factored inner updates: within a window, theta's large matrix is never formed.

Inside a window theta_0 is a constant for the meta-gradient, and one rollout of T steps changes
the hidden layer's matrix by a product of T rows. With X_j f32[T, in] the layer's inputs on
rollout R_j and D_j f32[T, out] the cotangents of its outputs times −alpha,

    W_k = W_0 + Σ_{j<k} X_jᵀ D_j        x·W_k = x·W_0 + (x·Xᵀ)·D

with the rows of all updates so far stacked, X f32[k·T, in] and D f32[k·T, out]. So the rows are
kept instead of the matrix; the meta-gradient flows through the rows, and the backward pass never
touches a dense cotangent of W. The rows grow from update to update, so a window is a Python loop
here, not a scan: N is small, and nothing has to be stacked for the backward pass.

D comes from a zero *probe* added to the layer's outputs: the gradient with respect to the probe
is the cotangent wanted. The convolution's kernel, the heads and all biases are small and stay
dense. W_N is formed once, at the window's end. Clipping needs the norm of Xᵀ·D, which the rows tell too:

    ‖Xᵀ·D‖² = Σ (X·Xᵀ) ∘ (D·Dᵀ)        f32[T, T] each

Exact for SGD, whose update is linear in the gradient; tested equal to the dense path.
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

from orexis.agents.actor_critic import ActorCritic, ActorCriticState, inner_targets, rollout_loss
from orexis.agents.sampling import choose
from orexis.meta.acting import DifferenceActor, Small, is_cheaper
from orexis.networks.layers import times, times_transposed
from orexis.networks.lookup import Table
from orexis.optimizers import clip_factor, squared_norm
from orexis.rewards.base import Returns
from orexis.types import Last, Rollout, record


@record
class FactoredState:
    small: Small  # conv, policy and value as in theta; hidden: its bias only
    matrix: jax.Array  # f32[in, out]     W_0, a constant
    inputs: jax.Array  # f32[k·T, in]     X
    cotangents: jax.Array  # f32[k·T, out]    D, times −alpha


@dataclasses.dataclass(frozen=True)
class FactoredActorCritic:
    """An `ActorCritic` with SGD whose hidden matrix is kept factored during a window."""

    dense: ActorCritic
    grows = True  # the state's shapes change from update to update

    @property
    def rollout_length(self) -> int:
        return self.dense.rollout_length

    def begin_window(self, state: ActorCriticState) -> FactoredState:
        """Returns the factored form of a dense state, with no update in it yet."""
        matrix = state.theta["hidden"]["w"]
        return FactoredState(
            small={**state.theta, "hidden": {"b": state.theta["hidden"]["b"]}},
            matrix=matrix,
            inputs=jnp.zeros((0, matrix.shape[0]), matrix.dtype),
            cotangents=jnp.zeros((0, matrix.shape[1]), matrix.dtype),
        )

    def end_window(self, state: FactoredState) -> ActorCriticState:
        """Returns the dense state, W_N = W_0 + Xᵀ·D formed."""
        matrix = state.matrix + state.inputs.T @ state.cotangents
        return ActorCriticState(theta={**state.small, "hidden": {"w": matrix, **state.small["hidden"]}}, optimizer=())

    def act(
        self, state: FactoredState, observation: jax.Array, last: Last, key: jax.Array
    ) -> tuple[jax.Array, jax.Array, jax.Array, FactoredState]:
        del last
        logits, values, _ = self._apply(state.small, state, observation[None], 0.0)
        return choose(logits[0], key), values[0], logits[0], state

    def actor(self, state: FactoredState) -> tuple[Any, Any]:
        """Returns who acts for one rollout with this state, and its state: the agent itself, or its quicker twin."""
        observation_lookup = self.dense.observation_lookup
        if not isinstance(observation_lookup, Table) or not is_cheaper(observation_lookup.differences):
            return self, state
        actor = DifferenceActor(self.rollout_length, observation_lookup.differences)
        return actor, actor.begin(state.small, state.matrix, state.inputs, state.cotangents)

    def update_with_logits(
        self, state: FactoredState, rollout: Rollout, rewards: jax.Array, returns: Returns
    ) -> tuple[FactoredState, jax.Array]:
        """Returns the state after one SGD update, and the rollout's logits under the old theta.

        The same loss and the same gradient edges as `ActorCritic.update_with_logits`.
        """
        config = self.dense.config
        targets, advantages = inner_targets(rollout, rewards, returns, config)

        def inner_loss(small: Small, probe: jax.Array):
            logits, values, inputs = self._apply(small, state, rollout.observation[:-1], probe)
            loss = rollout_loss(logits, values, rollout, targets, advantages, config)
            return loss, (logits, inputs)

        probe = jnp.zeros((self.rollout_length, state.matrix.shape[1]), state.matrix.dtype)
        (grads, cotangents), (logits, inputs) = jax.grad(inner_loss, argnums=(0, 1), has_aux=True)(state.small, probe)
        rate: jax.Array | float = config.learning_rate
        if config.gradient_clip is not None:
            of_matrix = jnp.sum(times_transposed(inputs, inputs) * times_transposed(cotangents, cotangents))
            rate = rate * clip_factor(squared_norm(grads) + of_matrix, config.gradient_clip)
        return (
            FactoredState(
                small=jax.tree.map(lambda p, g: p - rate * g, state.small, grads),
                matrix=state.matrix,
                inputs=jnp.concatenate([state.inputs, inputs]),
                cotangents=jnp.concatenate([state.cotangents, -rate * cotangents]),
            ),
            logits,
        )

    def logits(self, state: FactoredState, observations: jax.Array) -> jax.Array:
        """Returns the policy's logits f32[B, A] on B observations."""
        return self._apply(state.small, state, observations, 0.0)[0]

    def _apply(self, small: Small, state: FactoredState, observations: jax.Array, probe: jax.Array | float):
        """Returns logits f32[B, A], values f32[B] and the hidden layer's inputs f32[B, in].

        `probe` is added to the hidden layer's outputs.
        """
        inputs = self.dense.observation_lookup.convolve(small["conv"], observations)
        outputs = times(inputs, state.matrix) + small["hidden"]["b"] + probe
        if state.inputs.shape[0]:
            outputs = outputs + times(times_transposed(inputs, state.inputs), state.cotangents)
        hidden = jax.nn.relu(outputs)
        logits, values = (times(hidden, small[name]["w"]) + small[name]["b"] for name in ("policy", "value"))
        return logits, values[..., 0], inputs
