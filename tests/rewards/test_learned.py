import dataclasses

import jax
import numpy as np
import pytest

from orexis.meta.value import LifetimeValue
from orexis.networks import history
from orexis.rewards.learned import LearnedReward
from tests.instances import HISTORY_NET, jitter, random_rollout, small_task

SPEC = small_task().spec
ROLLOUT = random_rollout(0, 6, SPEC)
REWARD, VALUE = LearnedReward(SPEC, HISTORY_NET), LifetimeValue(SPEC, HISTORY_NET)


@pytest.fixture(scope="module")
def params():
    return jax.jit(lambda key: jitter(REWARD.init(key), key))(jax.random.key(0))


@pytest.fixture(scope="module")
def unrolls():
    """Compiled unrolls: of the reward, of the value, and of the network below both."""
    return (
        jax.jit(REWARD.unroll),
        jax.jit(VALUE.unroll, static_argnums=3),
        jax.jit(lambda params, state, rollout: history.unroll(params, state, rollout, SPEC, HISTORY_NET)),
    )


def cut(start: int, stop: int):
    return jax.tree.map(lambda x: x[start:stop], ROLLOUT)


def test_the_reward_is_the_arctangent_of_the_head(params, unrolls):
    unroll, _, unroll_network = unrolls
    state = REWARD.begin(params, jax.random.key(0))
    rewards, _ = unroll(params, state, ROLLOUT)
    hidden, _ = unroll_network(params, state, ROLLOUT)
    expected = np.arctan(np.asarray(hidden) @ params["head"]["w"][:, 0] + params["head"]["b"][0])
    np.testing.assert_allclose(rewards, expected, rtol=1e-5)


def test_the_reward_is_bounded_by_half_pi_whatever_the_head_says(params, unrolls):
    loud = params | {"head": jax.tree.map(lambda x: 1e6 * x, params["head"])}
    rewards = np.abs(unrolls[0](loud, REWARD.begin(loud, jax.random.key(0)), ROLLOUT)[0])
    assert (rewards <= np.float32(np.pi / 2)).all()
    assert (rewards > 1.5).all()


def test_a_lifetime_paid_in_three_rollouts_equals_one_long_one(params, unrolls):
    unroll, state = unrolls[0], REWARD.begin(params, jax.random.key(0))
    whole, whole_state = unroll(params, state, ROLLOUT)
    parts = []
    for start in (0, 2, 4):
        rewards, state = unroll(params, state, cut(start, start + 2))
        parts.append(rewards)
    np.testing.assert_allclose(np.concatenate(parts), whole, rtol=1e-5, atol=1e-6)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6), state, whole_state)


def test_values_stand_before_each_step_and_after_the_last(params, unrolls):
    _, unroll_value, unroll_network = unrolls
    state = VALUE.begin()
    values, _ = unroll_value(params, state, ROLLOUT, 4)
    hidden, _ = unroll_network(params, state, ROLLOUT)
    weights, bias = params["head"]["w"][:, 0], params["head"]["b"][0]
    assert values.shape == (7,)
    # V before step 0 of a lifetime is the head on the zero state, its bias; V before step t sees steps 0..t−1.
    np.testing.assert_allclose(values[0], bias, rtol=1e-6)
    np.testing.assert_allclose(values[1:], np.asarray(hidden) @ weights + bias, rtol=1e-4, atol=1e-5)
    assert float(bias) != 0.0


@pytest.mark.parametrize("num_carried", [2, 4])
def test_the_state_carried_on_is_the_one_after_so_many_steps_and_each_is_consumed_once(
    params, unrolls, num_carried: int
):
    _, unroll_value, _ = unrolls
    values, carried = unroll_value(params, VALUE.begin(), ROLLOUT, num_carried)
    later, _ = unroll_value(params, carried, cut(num_carried, 6), 1)
    np.testing.assert_allclose(later, values[num_carried:], rtol=1e-5, atol=1e-6)


def test_the_value_remembers_even_where_the_reward_does_not():
    feed_forward = dataclasses.replace(HISTORY_NET, history="none")
    value = LifetimeValue(SPEC, feed_forward)
    shapes = jax.eval_shape(value.init, jax.random.key(0))
    assert set(shapes["core"]) == {"wx", "wh", "b"}
    assert set(jax.eval_shape(LearnedReward(SPEC, feed_forward).init, jax.random.key(0))["core"]) == {"w", "b"}
    params = jax.jit(value.init)(jax.random.key(0))
    _, state = jax.jit(value.unroll, static_argnums=3)(params, value.begin(), ROLLOUT, 4)
    assert np.abs(state.hidden).max() > 0.0
