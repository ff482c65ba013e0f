"""What the outer loss weighs by, found while training: an entropy cost that holds a level, and running scales.

    factor ← clip(factor · exp(gain · (level − H)), least, most)         H: mean entropy of the policies that acted
    c_ent  = schedule · factor

A schedule has to guess when policies lose their entropy; this follows them. The truncated window does not see that
a policy without entropy cannot unlearn later, so only the entropy term can speak for it.

    m ← m + (mean x² − m) · max(1 / (t + 1), 1 − DECAY)                  x: outer returns G, and advantages

The roots of the two m measure the task's rewards and what the lifetime value leaves unexplained. With them the costs of
the outer loss mean the same whether a task pays hundredths or hundreds.
"""

import math

import jax
import jax.numpy as jnp

from orexis.config import OuterConfig
from orexis.meta.outer import Scales, WindowMetrics
from orexis.optimizers import scheduled
from orexis.types import record

DECAY = 0.99
LEAST = 1e-4  # of a scale: a task that never pays has none


@record
class Balance:
    """Running scalars of the learner."""

    entropy_factor: jax.Array  # f32[]
    return_square: jax.Array  # f32[]  mean of G², in the task's own units
    advantage_square: jax.Array  # f32[]  likewise

    @classmethod
    def begin(cls) -> "Balance":
        """Returns the balance before the first update: everything weighs one."""
        return cls(jnp.ones(()), jnp.ones(()), jnp.ones(()))


def entropy_cost(outer: OuterConfig, balance: Balance, update: jax.Array) -> jax.Array:
    """Returns c_ent of this update, f32[]."""
    return scheduled(outer.entropy_cost, update) * balance.entropy_factor


def scales_of(outer: OuterConfig, balance: Balance) -> Scales:
    """Returns the scales of this update: ones unless the outer loss is normalised."""
    if not outer.normalize:
        return Scales.ones()
    unit = jnp.maximum(jnp.sqrt(balance.return_square), LEAST)
    return Scales(unit=unit, advantage=jnp.maximum(jnp.sqrt(balance.advantage_square), LEAST * unit) / unit)


def step_balance(
    outer: OuterConfig, balance: Balance, window: WindowMetrics, update: jax.Array, num_actions: int
) -> Balance:
    """Returns the balance after an update whose windows, summed over lifetimes, looked like `window`."""
    steps = jnp.maximum(window.steps, 1.0)
    level, factor = outer.entropy_level, balance.entropy_factor
    if level.share is not None:
        missing = level.share * math.log(num_actions) - window.entropy / steps
        factor = jnp.clip(factor * jnp.exp(level.gain * missing), level.least, level.most)
    weight = jnp.maximum(1.0 / (update + 1.0), 1.0 - DECAY)

    def follow(mean: jax.Array, total: jax.Array) -> jax.Array:
        return mean + (total / steps - mean) * weight

    return Balance(
        entropy_factor=factor,
        return_square=follow(balance.return_square, window.return_square),
        advantage_square=follow(balance.advantage_square, window.advantage_square),
    )
