import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from orexis.returns import discounted_returns, gae


def test_returns_by_hand():
    rewards, discounts = np.array([1.0, 2.0, 4.0]), np.array([0.5, 0.5, 0.5])
    # G_2 = 4 + ½·8 = 8,  G_1 = 2 + ½·8 = 6,  G_0 = 1 + ½·6 = 4
    np.testing.assert_allclose(discounted_returns(rewards, discounts, jnp.array(8.0)), [4.0, 6.0, 8.0])


def test_a_zero_discount_cuts_the_sum_at_its_own_arrival():
    rewards, discounts = np.array([1.0, 2.0, 4.0]), np.array([0.5, 0.0, 0.5])
    # The reward of the arrival that ends it still counts, nothing after it does: G_1 = 2, G_0 = 1 + ½·2 = 2
    np.testing.assert_allclose(discounted_returns(rewards, discounts, jnp.array(8.0)), [2.0, 2.0, 8.0])


@given(st.lists(st.tuples(st.floats(-9, 9), st.floats(0, 1)), min_size=1, max_size=5), st.floats(-9, 9))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_returns_satisfy_their_recursion(steps, bootstrap):
    rewards, discounts = (np.array(column, np.float32) for column in zip(*steps, strict=True))

    returns = np.asarray(discounted_returns(rewards, discounts, np.float32(bootstrap)))

    following = np.append(returns[1:], np.float32(bootstrap))
    np.testing.assert_allclose(returns, rewards + discounts * following, rtol=1e-5, atol=1e-5)


def test_with_discount_one_and_no_end_the_first_return_is_the_sum():
    rewards = np.array([1.0, -2.0, 4.0, 0.5])
    returns = discounted_returns(rewards, np.ones(4), jnp.array(10.0))
    np.testing.assert_allclose(returns, [13.5, 12.5, 14.5, 10.5])


def test_two_halves_joined_by_the_bootstrap_equal_the_whole():
    rng = np.random.default_rng(0)
    rewards, discounts = rng.normal(size=6), rng.uniform(size=6)
    whole = discounted_returns(rewards, discounts, jnp.array(3.0))

    late = discounted_returns(rewards[4:], discounts[4:], jnp.array(3.0))
    early = discounted_returns(rewards[:4], discounts[:4], late[0])

    np.testing.assert_allclose(np.concatenate([early, late]), whole, rtol=1e-6)


def test_gradients_flow_to_rewards_discounts_and_bootstrap():
    arguments = jnp.array([1.0, 2.0]), jnp.array([0.5, 0.25]), jnp.array(8.0)

    gradients = jax.grad(lambda *a: discounted_returns(*a)[0], argnums=(0, 1, 2))(*arguments)

    # G_0 = r_0 + d_0·(r_1 + d_1·b):  dr = [1, d_0],  dd = [r_1 + d_1·b, d_0·b] = [4, 4],  db = d_0·d_1 = 1/8
    np.testing.assert_allclose(gradients[0], [1.0, 0.5])
    np.testing.assert_allclose(gradients[1], [4.0, 4.0])
    np.testing.assert_allclose(gradients[2], 0.125)


REWARDS, DISCOUNTS, VALUES = np.array([1.0, 2.0]), np.array([0.5, 0.5]), np.array([3.0, 2.0, 4.0])


def test_gae_by_hand():
    # delta_0 = 1 + 0.5 * 2 - 3 = -1, delta_1 = 2 + 0.5 * 4 - 2 = 2; with lambda 0.5: A_1 = 2, A_0 = -1 + 0.25 * 2
    np.testing.assert_allclose(gae(REWARDS, DISCOUNTS, VALUES, 0.5), [-0.5, 2.0])


def test_with_trace_zero_an_advantage_is_the_one_step_error():
    np.testing.assert_allclose(gae(REWARDS, DISCOUNTS, VALUES, 0.0), [-1.0, 2.0])


def test_with_trace_one_advantages_are_returns_less_values():
    rng = np.random.default_rng(0)
    rewards, discounts, values = rng.normal(size=6), rng.integers(0, 2, 6) * 0.9, rng.normal(size=7)
    returns = discounted_returns(rewards, discounts, jnp.asarray(values[-1]))
    np.testing.assert_allclose(gae(rewards, discounts, values, 1.0), returns - values[:-1], rtol=1e-5, atol=1e-6)
