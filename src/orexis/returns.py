"""Discounted returns: arrays in, arrays out."""

import jax
import jax.numpy as jnp

UNROLLED = 8
"""Steps that are compiled as one kernel. Its size grows with their square, as each return is computed from scratch."""


def discounted_returns(rewards: jax.Array, discounts: jax.Array, bootstrap: jax.Array) -> jax.Array:
    """Returns G f32[T], the sums of rewards to the end of the sequence, bootstrapped there.

        G_t = r_t + d_t · G_{t+1},   G_T = bootstrap

    `rewards[t]` is paid on arriving in s_{t+1}; `discounts[t]` belongs to the same arrival, so
    it is 0 where that arrival ends what is summed over. Gradients flow to all three arguments.
    """
    assert rewards.shape == discounts.shape
    assert bootstrap.shape == rewards.shape[1:]

    def add(following: jax.Array, next_observation: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        reward, discount = next_observation
        following = reward + discount * following
        return following, following

    _, returns = jax.lax.scan(add, bootstrap, (rewards, discounts), reverse=True, unroll=UNROLLED)
    return returns


def gae(rewards: jax.Array, discounts: jax.Array, values: jax.Array, trace: float) -> jax.Array:
    """Returns the advantages A f32[T], exponentially weighted sums of one-step errors (Schulman et al., 2016).

        A_t = δ_t + d_t·λ·A_{t+1},   δ_t = r_t + d_t·V_{t+1} − V_t,   A_T = 0

    `values` f32[T+1] are V_0..V_T. With λ = 1 the sum telescopes to G_t − V_t, the n-step return to
    the end less the value; a smaller λ trusts V sooner, with less variance and some bias.
    """
    errors = rewards + discounts * values[1:] - values[:-1]
    return discounted_returns(errors, trace * discounts, jnp.zeros_like(values[0]))
