"""The learner's step, and that it is the same whether networks are trees or packed into vectors."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.config import OuterConfig, Schedule
from orexis.meta.accumulate import all_finite
from orexis.meta.learner import ROUND, Learner, Packing, begin_learner, pack, step_learner

OUTER = dataclasses.replace(OuterConfig(), reward_learning_rate=Schedule(0.01, 0.01, 1), value_learning_rate=0.02)


def network(seed: int, units: int = 3) -> dict:
    rng = np.random.default_rng(seed)
    shapes = {"head": {"b": (1,), "w": (units, 1)}, "torso": {"w": (5, units)}, "scale": ()}
    return jax.tree.map(
        lambda shape: jnp.float32(rng.normal(size=shape)), shapes, is_leaf=lambda x: isinstance(x, tuple)
    )


def first() -> Learner:
    return begin_learner(network(0), network(1, units=4))


def test_what_is_packed_is_found_again():
    learner = first()
    packing = Packing.of(learner)
    packed = packing.pack(learner)
    assert packed.eta.shape == packed.phi.shape == packed.eta_average.shape == (ROUND,)
    assert packed.eta_optimizer.mu.shape == packed.eta_optimizer.nu.shape == packed.eta.shape
    jax.tree.map(np.testing.assert_array_equal, packing.unpack(packed), learner)


def test_packed_learners_take_the_same_steps():
    learner, packing = first(), Packing.of(first())
    packed = packing.pack(learner)
    for seed in range(3):
        eta_grad, phi_grad = network(10 + seed), network(20 + seed, units=4)
        learner = step_learner(OUTER, learner, eta_grad, phi_grad, learner.balance)
        packed = step_learner(OUTER, packed, pack(eta_grad), pack(phi_grad), packed.balance)
    assert int(learner.update) == 3
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7), packing.unpack(packed), learner)
    assert float(jnp.max(jnp.abs(learner.eta["torso"]["w"] - first().eta["torso"]["w"]))) > 0.01  # and they are steps


@pytest.mark.parametrize("size", [0.0, 1e-45, 1e-38, 1e-20, 1e10, 3e17])
def test_gradients_of_finite_norm_keep_a_finite_learner_finite(size: float):
    # Whatever a finite norm may hide: squares that underflow, squares that nearly overflow, and jumps between them.
    packing = Packing.of(first())
    learner, step = packing.pack(first()), jax.jit(lambda *arguments: step_learner(OUTER, *arguments))
    for number in range(8):
        grad = jnp.full(learner.eta.shape, np.float32((size, -size, 1.0, 0.0)[number % 4]))
        assert np.isfinite(float(jnp.sqrt(jnp.sum(jnp.square(grad)))))
        before, learner = learner, step(learner, grad, grad, learner.balance)
        assert float(jnp.max(jnp.abs(learner.eta - before.eta))) <= 10 * 0.01
    assert bool(all_finite(learner))


def test_etas_gradient_is_clipped_before_adam_and_phis_is_not():
    clipped = dataclasses.replace(OUTER, gradient_clip=0.5)
    learner, eta_grad, phi_grad = first(), network(10), network(20, units=4)
    size = float(jnp.sqrt(sum(jnp.sum(jnp.square(x)) for x in jax.tree.leaves(eta_grad))))
    assert size > 0.5
    ours = step_learner(clipped, learner, eta_grad, phi_grad, learner.balance)
    scaled = jax.tree.map(lambda g: g * (0.5 / size), eta_grad)
    expected = step_learner(OUTER, learner, scaled, phi_grad, learner.balance)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-8), ours, expected)
