"""What the outer loss weighs by: the entropy cost follows the policies, running scales follow the task."""

import dataclasses
import math

import jax.numpy as jnp
import numpy as np
import pytest

from orexis.config import EntropyLevel, OuterConfig, Schedule
from orexis.meta.balance import DECAY, Balance, entropy_cost, scales_of, step_balance
from orexis.meta.outer import WindowMetrics

STEPS = 10.0
HELD = OuterConfig(entropy_cost=Schedule(0.2, 0.2), entropy_level=EntropyLevel(share=0.5, gain=0.05, least=0.3, most=4))


def window(entropy: float = 0.0, returns: float = 0.0, advantages: float = 0.0) -> WindowMetrics:
    """Returns the sums over ten steps of which each has this entropy, this return and this advantage."""
    return dataclasses.replace(
        WindowMetrics.zero(),
        steps=jnp.float32(STEPS),
        entropy=jnp.float32(STEPS * entropy),
        return_square=jnp.float32(STEPS * returns**2),
        advantage_square=jnp.float32(STEPS * advantages**2),
    )


def test_the_cost_grows_below_the_level_and_falls_above_it():
    level = 0.5 * math.log(4)  # of four actions
    for found, expected in ((level - 0.4, math.exp(0.02)), (level, 1.0), (level + 0.4, math.exp(-0.02))):
        balance = step_balance(HELD, Balance.begin(), window(entropy=found), jnp.int32(0), num_actions=4)
        np.testing.assert_allclose(balance.entropy_factor, expected, rtol=1e-5)
        np.testing.assert_allclose(entropy_cost(HELD, balance, jnp.int32(1)), 0.2 * expected, rtol=1e-5)


@pytest.mark.parametrize(("found", "bound"), [(0.0, 4.0), (math.log(4), 0.3)])
def test_the_factor_stays_within_its_bounds(found: float, bound: float):
    balance = Balance.begin()
    for update in range(200):
        balance = step_balance(HELD, balance, window(entropy=found), jnp.int32(update), num_actions=4)
    np.testing.assert_allclose(balance.entropy_factor, bound, rtol=1e-6)


def test_without_a_level_the_schedule_alone_counts():
    plain = OuterConfig(entropy_cost=Schedule(0.2, 0.2))
    balance = step_balance(plain, Balance.begin(), window(entropy=0.0), jnp.int32(0), num_actions=4)
    assert float(balance.entropy_factor) == 1.0


def test_scales_are_the_running_roots_of_mean_squares():
    config = OuterConfig(normalize=True)
    balance = step_balance(config, Balance.begin(), window(returns=6.0, advantages=2.0), jnp.int32(0), 4)
    scales = scales_of(config, balance)  # the first update counts in full: nothing of the ones is left
    np.testing.assert_allclose((scales.unit, scales.advantage), (6.0, 2.0 / 6.0), rtol=1e-6)

    balance = step_balance(config, balance, window(returns=0.0, advantages=4.0), jnp.int32(1000), 4)
    np.testing.assert_allclose(balance.return_square, 36.0 * DECAY, rtol=1e-5)  # later ones by 1 − DECAY
    np.testing.assert_allclose(balance.advantage_square, 4.0 + (16.0 - 4.0) * (1 - DECAY), rtol=1e-5)


def test_a_task_that_never_pays_has_finite_scales():
    config = OuterConfig(normalize=True)
    scales = scales_of(config, step_balance(config, Balance.begin(), window(), jnp.int32(0), 4))
    assert 0 < float(scales.unit) < 1
    assert 0 < float(scales.advantage) <= 1


def test_scales_are_ones_unless_they_are_asked_for():
    plain = OuterConfig()
    scales = scales_of(plain, step_balance(plain, Balance.begin(), window(returns=6.0), jnp.int32(0), 4))
    assert (float(scales.unit), float(scales.advantage)) == (1.0, 1.0)
