"""What an update is a function of, and what it says about itself."""

import dataclasses

import jax
import jax.numpy as jnp

from orexis.meta.learner import Learner
from orexis.meta.outer import WindowMetrics
from orexis.types import Lifetime, record


@record
class TrainState:
    learner: Learner
    lifetimes: Lifetime  # every field with a leading L, sharded


@record
class UpdateMetrics:
    """What one update of eta looked like; see docs/reference/metrics.md."""

    window: WindowMetrics  # summed over lifetimes
    finished: jax.Array  # f32[]  lifetimes that ended in this window
    complete: jax.Array  # f32[]  of these, the ones that began at their first episode
    complete_extrinsic: jax.Array  # f32[]  their lifetime returns, summed
    eta_gradient_norm: jax.Array  # f32[]
    phi_gradient_norm: jax.Array  # f32[]
    theta_norm_mean: jax.Array  # f32[]
    theta_norm_p99: jax.Array  # f32[]
    recorded_value_max: jax.Array  # f32[]  largest |v| while acting: the first sign of a diverging critic
    skipped: jax.Array  # f32[]  1 where no step was taken, because the meta-gradient or the learner was not finite
    dropped: jax.Array  # f32[]  lifetimes left out of the average and restarted, because they were not finite
    entropy_cost: jax.Array  # f32[]
    reward_learning_rate: jax.Array  # f32[]

    @classmethod
    def zeros(cls, number: int) -> "UpdateMetrics":
        """Returns room for the metrics of `number` updates."""
        window = jax.tree.map(lambda _: jnp.zeros(number), WindowMetrics.zero())
        names = [field.name for field in dataclasses.fields(cls) if field.name != "window"]
        return cls(window=window, **{name: jnp.zeros(number) for name in names})
