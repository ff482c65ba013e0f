"""Losses of policy-gradient agents: one equation each, summed over the rows where the mask is 1."""

import jax
import jax.numpy as jnp


def log_probability(logits: jax.Array, actions: jax.Array) -> jax.Array:
    """Returns log pi(a_t | s_t), f32[T], from logits f32[T, A] and actions i32[T]."""
    chosen = jnp.arange(logits.shape[-1]) == actions[..., None]
    return jnp.sum(jnp.where(chosen, jax.nn.log_softmax(logits), 0.0), axis=-1)


def entropy(logits: jax.Array) -> jax.Array:
    """Returns the entropy of each row's policy in nats, f32[T], from logits f32[T, A]."""
    log_pi = jax.nn.log_softmax(logits)
    return -jnp.sum(jnp.exp(log_pi) * log_pi, axis=-1)


def policy_gradient_loss(logits: jax.Array, actions: jax.Array, advantages: jax.Array, mask: jax.Array) -> jax.Array:
    """Returns −Σ_t mask_t · log pi(a_t | s_t) · advantage_t.

    Gradients flow to the logits and to the advantages: the inner loss needs both (the
    advantage is how eta reaches theta), the outer loss stops the latter itself.
    """
    return -jnp.sum(mask * log_probability(logits, actions) * advantages)


def all_actions_loss(
    logits: jax.Array, actions: jax.Array, advantages: jax.Array, expected: jax.Array, mask: jax.Array
) -> jax.Array:
    """Returns −Σ_t mask_t · (Σ_a pi(a | s_t)·E_t(a) + log pi(a_t | s_t)·(A_t − E_t(a_t))).

    E_t(a) = Q(s_t, a) − V(s_t), `expected` f32[T, A], is summed over all actions instead of sampled; what the
    advantage A_t of the action taken has beyond it is left to the sample. In expectation over a_t this is the policy
    gradient with A_t, whatever E is (E is a baseline that may depend on the action, because its mean is added back).
    With one-step advantages, A_t = E_t(a_t), nothing is left to the sample. Gradients flow to the logits.
    """
    taken = jnp.sum(jnp.where(jnp.arange(logits.shape[-1]) == actions[..., None], expected, 0.0), axis=-1)
    over_all = jnp.sum(jax.nn.softmax(logits) * expected, axis=-1)
    return policy_gradient_loss(logits, actions, advantages - taken, mask) - jnp.sum(mask * over_all)


def entropy_loss(logits: jax.Array, mask: jax.Array) -> jax.Array:
    """Returns −Σ_t mask_t · H(pi(· | s_t)), to be minimised times an entropy cost."""
    return -jnp.sum(mask * entropy(logits))


def value_loss(values: jax.Array, targets: jax.Array, mask: jax.Array) -> jax.Array:
    """Returns ½ Σ_t mask_t · (v_t − target_t)². Gradients flow to the targets too: stop them outside if unwanted."""
    return 0.5 * jnp.sum(mask * jnp.square(values - targets))
