"""Drawing an action from a policy's logits: the largest of logits + Gumbel noise.

The noise does not depend on the logits. So that of many steps can be drawn at once, before the first is taken: one run
of the random number generator, which is a loop of some ninety small kernels, instead of one for each step.
"""

import jax
import jax.numpy as jnp


def draw_noise(key: jax.Array, num_actions: int) -> jax.Array:
    """Returns f32[A], what `choose` adds to the logits. The key is consumed."""
    return jax.random.gumbel(key, (num_actions,))


def choose(logits: jax.Array, chance: jax.Array) -> jax.Array:
    """Returns an action i32[] with the probabilities softmax(`logits`), f32[A].

    `chance` is a key, which is consumed, or what `draw_noise` made of that key: the action is the same.
    """
    if jnp.issubdtype(chance.dtype, jnp.floating):
        return jnp.argmax(logits + chance)
    return jax.random.categorical(chance, logits)
