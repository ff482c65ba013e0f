"""The ruler of the benchmark computes what the engine computes: the same meta-gradient on a recorded window."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.config import MetaConfig
from orexis.reference.naive import Naive
from tests.instances import (
    AGENTS,
    HISTORY_NET,
    OUTER,
    difference,
    loss_and_gradients,
    norm,
    recorded_instance,
    small_task,
    widen,
)

ENTROPY_COST = 0.1


@pytest.mark.parametrize("agent", ["sgd", "adam"])
def test_the_naive_reference_has_the_meta_gradient_of_the_engine(agent: str):
    naive = Naive(small_task(), MetaConfig(agent=AGENTS[agent], reward=HISTORY_NET, outer=OUTER))
    with jax.enable_x64(True):
        window = widen(recorded_instance(agent))
        recorded = window.rollouts(OUTER.window)
        (loss, _), (eta_gradient, phi_gradient, _) = loss_and_gradients(agent, OUTER.window)(
            window.eta, window.phi, window.entering, window.lifetime, recorded, ENTROPY_COST
        )
        rollouts = jax.tree.map(lambda x, y: jnp.concatenate([x[None], y]), window.lifetime.rollout, recorded)
        naive_loss, gradients = jax.jit(jax.value_and_grad(naive.outer_loss))(
            (window.eta, window.phi), window.lifetime, rollouts, ENTROPY_COST
        )
        alone = jax.tree.map(lambda x: x[None], (window.lifetime, rollouts))
        averaged = jax.jit(naive.meta_gradient)((window.eta, window.phi), *alone, ENTROPY_COST)

    np.testing.assert_allclose(naive_loss, loss, rtol=1e-10)
    for ours, expected in zip(gradients, (eta_gradient, phi_gradient), strict=True):
        assert norm(expected) > 1e-2
        assert norm(difference(ours, expected)) < 1e-9 * norm(expected)
    assert norm(difference(averaged, gradients)) < 1e-9 * norm(gradients)


def test_what_it_was_not_written_for_is_refused():
    outer = dataclasses.replace(OUTER, objective="episode")
    with pytest.raises(ValueError, match="main algorithm"):
        Naive(small_task(), MetaConfig(outer=outer))
    with pytest.raises(ValueError, match="it does not know a clock"):
        Naive(small_task(), MetaConfig(reward=dataclasses.replace(HISTORY_NET, sees_clock=True)))
