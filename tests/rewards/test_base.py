import numpy as np
import pytest

from orexis.rewards.base import Returns
from tests.instances import random_rollout, small_task


@pytest.fixture
def rollout():
    rollout = random_rollout(0, 4, small_task().spec)
    rollout.episode_goes_on[:] = [1, 0, 1, 0]
    rollout.lifetime_goes_on[:] = [1, 1, 1, 0]
    return rollout


@pytest.mark.parametrize(
    ("returns", "expected"),
    [
        (Returns(), [0.9, 0, 0.9, 0]),  # the agent's discount, cut at episode ends
        (Returns(discount=0.5), [0.5, 0, 0.5, 0]),
        (Returns(through_episodes=True), [0.9, 0.9, 0.9, 0]),  # cut at the lifetime's end
        (Returns(discount=0.99, through_episodes=True), [0.99, 0.99, 0.99, 0]),
        (Returns(discount=0.0), [0, 0, 0, 0]),  # zero is a discount, not its absence
    ],
)
def test_discounts_are_zero_where_what_is_summed_over_ends(rollout, returns: Returns, expected):
    np.testing.assert_allclose(returns.discounts(rollout, agent_discount=0.9), expected, rtol=1e-6)
