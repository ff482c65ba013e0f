import dataclasses

import jax
import numpy as np

from orexis.networks import policy
from tests.instances import POLICY_NET, small_task

SPEC = small_task().spec
OBSERVATIONS = np.random.default_rng(0).normal(size=(4, *SPEC.observation_shape)).astype(np.float32)


def test_logits_and_values_have_a_row_for_each_observation():
    logits, values = policy.apply(policy.init(jax.random.key(0), SPEC, POLICY_NET), OBSERVATIONS)
    assert logits.shape == (4, SPEC.num_actions)
    assert values.shape == (4,)


def test_an_observation_alone_gives_what_it_gives_in_a_batch():
    theta = policy.init(jax.random.key(0), SPEC, POLICY_NET)
    logits, values = policy.apply(theta, OBSERVATIONS)
    one_logits, one_value = policy.apply(theta, OBSERVATIONS[2])
    np.testing.assert_allclose(one_logits, logits[2], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(one_value, values[2], rtol=1e-5, atol=1e-6)


def test_the_network_by_hand_in_numpy():
    theta = jax.tree.map(np.asarray, policy.init(jax.random.key(0), SPEC, POLICY_NET))
    theta = jax.tree.map(lambda x: x + 0.1, theta)  # biases are zero at birth: make them count
    padded = np.pad(OBSERVATIONS[0], [(1, 1), (1, 1), (0, 0)])
    cells = [padded[i : i + 3, j : j + 3].reshape(-1) for i in range(3) for j in range(3)]
    conv = np.maximum(np.stack(cells) @ theta["conv"]["w"] + theta["conv"]["b"], 0.0).reshape(-1)
    features = np.maximum(conv @ theta["hidden"]["w"] + theta["hidden"]["b"], 0.0)

    logits, value = policy.apply(theta, OBSERVATIONS[0])

    np.testing.assert_allclose(logits, features @ theta["policy"]["w"] + theta["policy"]["b"], rtol=1e-4)
    np.testing.assert_allclose(value, (features @ theta["value"]["w"] + theta["value"]["b"])[0], rtol=1e-4)


def test_small_heads_make_the_first_policy_near_uniform_and_values_near_zero():
    def sizes(head_gain: float) -> np.ndarray:
        net = dataclasses.replace(POLICY_NET, head_gain=head_gain)
        return np.array(
            [np.abs(x).max() for x in policy.apply(policy.init(jax.random.key(0), SPEC, net), OBSERVATIONS)]
        )

    full = sizes(1.0)
    assert (full > 0.0).all()
    np.testing.assert_allclose(sizes(0.1), 0.1 * full, rtol=1e-4)  # same key, same torso: the heads alone shrink
    np.testing.assert_array_equal(sizes(0.0), [0.0, 0.0])


def test_two_keys_give_two_thetas():
    first, second = (policy.init(jax.random.key(seed), SPEC, POLICY_NET) for seed in (0, 1))
    assert all(np.any(first[layer]["w"] != second[layer]["w"]) for layer in first)
