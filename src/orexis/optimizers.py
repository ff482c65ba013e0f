"""The agent's own optimiser, differentiable as the meta-gradient needs it, and schedules.

The update of theta is part of the computation graph of eta, so the optimiser has to be
differentiated too. Plain SGD is linear and harmless. Adam is not: the derivative of
1/(sqrt(v) + eps) is infinite where v = 0 (a weight that has never seen a gradient). By
default the denominator is a constant for the meta-gradient (`stop_gradient` on the line
marked below); the first moment always carries gradient.
"""

from typing import Protocol

import jax
import jax.numpy as jnp

from orexis.config import Schedule
from orexis.types import PyTree, record


class InnerOptimizer(Protocol):
    """What an agent needs of its optimiser."""

    def init(self, theta: PyTree) -> PyTree: ...

    def update(self, grads: PyTree, state: PyTree, theta: PyTree) -> tuple[PyTree, PyTree]:
        """Returns the new theta and the new optimiser state."""
        ...


class Sgd:
    """theta' = theta − alpha · g."""

    def __init__(self, learning_rate: float):
        self.learning_rate = learning_rate

    def init(self, theta: PyTree) -> tuple[()]:
        del theta
        return ()

    def update(self, grads: PyTree, state: tuple[()], theta: PyTree) -> tuple[PyTree, tuple[()]]:
        return jax.tree.map(lambda p, g: p - self.learning_rate * g, theta, grads), state


@record
class AdamState:
    step: jax.Array  # i32[]
    first: PyTree  # m, like theta
    second: PyTree  # v, like theta


class Adam:
    """theta' = theta − alpha · m̂ / (sqrt(v̂ + eps_root) + eps)  (Kingma & Ba, algorithm 1)."""

    def __init__(
        self,
        learning_rate: float,
        b1: float = 0.9,
        b2: float = 0.999,
        eps: float = 1e-8,
        eps_root: float = 0.0,
        differentiate_denominator: bool = False,
    ):
        if differentiate_denominator and eps_root <= 0.0:
            raise ValueError(
                "a differentiated denominator needs eps_root > 0: its derivative at a zero gradient is NaN"
            )
        self.learning_rate, self.b1, self.b2 = learning_rate, b1, b2
        self.eps, self.eps_root = eps, eps_root
        self.differentiate_denominator = differentiate_denominator

    def init(self, theta: PyTree) -> AdamState:
        zeros = jax.tree.map(jnp.zeros_like, theta)
        return AdamState(step=jnp.zeros((), jnp.int32), first=zeros, second=zeros)

    def update(self, grads: PyTree, state: AdamState, theta: PyTree) -> tuple[PyTree, AdamState]:
        step = state.step + 1
        first = jax.tree.map(lambda m, g: self.b1 * m + (1 - self.b1) * g, state.first, grads)
        # The edge of the gradient table that is cut; before the square, else all g would be kept for its derivative.
        squared = grads if self.differentiate_denominator else jax.lax.stop_gradient(grads)
        second = jax.tree.map(lambda v, g: self.b2 * v + (1 - self.b2) * jnp.square(g), state.second, squared)

        def descend(p: jax.Array, m: jax.Array, v: jax.Array) -> jax.Array:
            count = step.astype(p.dtype)
            m_hat, v_hat = m / (1 - self.b1**count), v / (1 - self.b2**count)
            return p - self.learning_rate * m_hat / (jnp.sqrt(v_hat + self.eps_root) + self.eps)

        return jax.tree.map(descend, theta, first, second), AdamState(step=step, first=first, second=second)


def clip_factor(squared_norm: jax.Array, clip: float | None) -> jax.Array | float:
    """Returns what a gradient g with ‖g‖² = `squared_norm` is multiplied by so that its norm is at most `clip`.

        min(1, clip / ‖g‖)

    None clips nothing. Differentiable, also at a zero gradient: the root is only taken where it is large.
    """
    if clip is None:
        return 1.0
    large = squared_norm > clip * clip
    return jnp.where(large, clip * jax.lax.rsqrt(jnp.where(large, squared_norm, 1.0)), 1.0)


def squared_norm(tree: PyTree) -> jax.Array:
    """Returns Σ x² over all numbers of `tree`, f32[]."""
    return sum((jnp.sum(jnp.square(x)) for x in jax.tree.leaves(tree)), start=jnp.zeros(()))


def scheduled(schedule: Schedule, update: jax.Array) -> jax.Array:
    """Returns the schedule's value at `update`, geometric between its ends."""
    share = jnp.clip((update - schedule.transition_begin) / schedule.transition_steps, 0.0, 1.0)
    return schedule.init_value * (schedule.end_value / schedule.init_value) ** share
