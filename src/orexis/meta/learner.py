"""What all lifetimes share: eta and phi, and how a meta-gradient moves them.

A step of Adam, the average of eta and the look whether all of it is finite treat every number alike, whatever network
or layer it belongs to. As trees that would be hundreds of kernels of a few microseconds each. So while updates
are made, each tree is packed into one vector, and networks are cut out of it where they are needed:

    eta {torso: {...}, lstm: {...}, head: {...}}  ──pack──►  f32[P]  ──step──►  f32[P]  ──unpack──►  eta
"""

import dataclasses
from collections.abc import Callable

import jax
import jax.flatten_util
import jax.numpy as jnp
import optax

from orexis.config import OuterConfig
from orexis.meta.balance import Balance
from orexis.optimizers import clip_factor, scheduled, squared_norm
from orexis.types import PyTree, record

ROUND = 1024
"""Vectors have a multiple of this length: XLA's kernels are slower on odd ones, see docs/explanation/performance.md."""
ADAM = optax.scale_by_adam()


@record
class Learner:
    """Replicated on every device. Each network is a tree of arrays, or packed into one vector."""

    update: jax.Array  # i32[]   updates of eta so far
    eta: PyTree
    phi: PyTree
    eta_optimizer: optax.ScaleByAdamState
    phi_optimizer: optax.ScaleByAdamState
    eta_average: PyTree  # of eta over the latest updates, see `averaged`: what becomes the artefact
    balance: Balance  # running scalars: what the outer loss weighs by


def begin_learner(eta: PyTree, phi: PyTree) -> Learner:
    """Returns the learner before its first update."""
    return Learner(
        update=jnp.zeros((), jnp.int32),
        eta=eta,
        phi=phi,
        eta_optimizer=ADAM.init(eta),
        phi_optimizer=ADAM.init(phi),
        eta_average=jax.tree.map(jnp.copy, eta),
        balance=Balance.begin(),
    )


def step_learner(outer: OuterConfig, learner: Learner, eta_grad: PyTree, phi_grad: PyTree, balance: Balance) -> Learner:
    """Returns the learner after an Adam step of eta and phi, eta's gradient clipped; `balance` is what it has then.

    A learner whose steps were all taken here stays finite if the gradients' norms are: no square of a gradient
    overflows where their sum did not; moments and the average are averages; Adam's step is at most some ten times
    its learning rate, and `OuterConfig` bounds that.
    """
    reward_lr = scheduled(outer.reward_learning_rate, learner.update)
    factor = clip_factor(squared_norm(eta_grad), outer.gradient_clip)
    eta_grad = jax.tree.map(lambda g: factor * g, eta_grad)
    eta_step, eta_optimizer = ADAM.update(eta_grad, learner.eta_optimizer)
    phi_step, phi_optimizer = ADAM.update(phi_grad, learner.phi_optimizer)
    eta = jax.tree.map(lambda p, u: p - reward_lr * u, learner.eta, eta_step)
    phi = jax.tree.map(lambda p, u: p - outer.value_learning_rate * u, learner.phi, phi_step)
    return Learner(
        update=learner.update + 1,
        eta=eta,
        phi=phi,
        eta_optimizer=eta_optimizer,
        phi_optimizer=phi_optimizer,
        eta_average=averaged(learner.eta_average, eta, learner.update + 1, outer.average_power),
        balance=balance,
    )


def averaged(average: PyTree, latest: PyTree, count: jax.Array, power: float) -> PyTree:
    """Returns the running average after value number `count` (from 1), of polynomial decay.

        a_t = a_{t−1} + (x_t − a_{t−1}) · (p + 1) / (p + t)

    It spans about the last 1/(p + 1) of all values, at any time: short while eta still moves
    fast, long when it only swings around an optimum (Shamir & Zhang, 2013).
    """
    weight = (power + 1.0) / (power + count)
    return jax.tree.map(lambda a, x: a + (x - a) * weight, average, latest)


@dataclasses.dataclass(frozen=True)
class Packing:
    """How eta and phi lie in their vectors."""

    eta: Callable[[jax.Array], PyTree]  # cuts it out of its vector
    phi: Callable[[jax.Array], PyTree]

    @classmethod
    def of(cls, learner: Learner) -> "Packing":
        """Returns the packing of a learner whose networks are trees."""
        return cls(unpacker(learner.eta), unpacker(learner.phi))

    def pack(self, learner: Learner) -> Learner:
        """Returns the same learner with each network, and all that is shaped like it, as one vector."""
        return _each_network(learner, pack, pack)

    def unpack(self, learner: Learner) -> Learner:
        """Returns what `pack` was given."""
        return _each_network(learner, self.eta, self.phi)


def pack(tree: PyTree) -> jax.Array:
    """Returns the arrays of `tree`, one after the other, as one vector, filled up with zeros."""
    leaves = jax.tree.leaves(tree)
    assert len({leaf.dtype for leaf in leaves}) == 1, "arrays of one type only"
    size = sum(leaf.size for leaf in leaves)
    zeros = jnp.zeros(-size % ROUND, leaves[0].dtype)
    # Joined with the arithmetic around it, joining would be slow: each number would ask which array it comes from.
    return jax.lax.optimization_barrier(jnp.concatenate([*(leaf.ravel() for leaf in leaves), zeros]))


def unpacker(like: PyTree) -> Callable[[jax.Array], PyTree]:
    """Returns the function that finds a tree of the shapes of `like` in its vector again."""
    unravel = jax.flatten_util.ravel_pytree(like)[1]
    size = sum(leaf.size for leaf in jax.tree.leaves(like))
    return lambda packed: unravel(packed[:size])


def _each_network(learner: Learner, eta: Callable[[PyTree], PyTree], phi: Callable[[PyTree], PyTree]) -> Learner:
    """Returns `learner` with `eta` applied to all that is shaped like eta, and `phi` likewise."""
    return Learner(
        update=learner.update,
        eta=eta(learner.eta),
        phi=phi(learner.phi),
        eta_optimizer=_each_moment(learner.eta_optimizer, eta),
        phi_optimizer=_each_moment(learner.phi_optimizer, phi),
        eta_average=eta(learner.eta_average),
        balance=learner.balance,
    )


def _each_moment(state: optax.ScaleByAdamState, change: Callable[[PyTree], PyTree]) -> optax.ScaleByAdamState:
    return state._replace(mu=change(state.mu), nu=change(state.nu))
