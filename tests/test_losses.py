import jax
import jax.numpy as jnp
import numpy as np

from orexis.losses import all_actions_loss, entropy, entropy_loss, log_probability, policy_gradient_loss, value_loss

LOG2, LOG3 = np.log(2.0), np.log(3.0)
# Row 0: probabilities 1/4, 3/4. Row 1: 1/2, 1/2.
LOGITS = jnp.array([[0.0, LOG3], [5.0, 5.0]])
ACTIONS = jnp.array([1, 0])


def test_log_probability_by_hand():
    # log 3/4 and log 1/2
    np.testing.assert_allclose(log_probability(LOGITS, ACTIONS), [LOG3 - 2 * LOG2, -LOG2], rtol=1e-6)


def test_log_probability_does_not_depend_on_a_constant_added_to_the_logits():
    np.testing.assert_allclose(log_probability(LOGITS + 7.0, ACTIONS), log_probability(LOGITS, ACTIONS), rtol=1e-5)


def test_log_probability_of_a_hopeless_action_is_finite():
    assert np.isfinite(log_probability(jnp.array([[0.0, 1e4]]), jnp.array([0])))[0]


def test_entropy_by_hand():
    # ¼·log 4 + ¾·log 4/3 = log 4 − ¾·log 3, and log 2
    np.testing.assert_allclose(entropy(LOGITS), [2 * LOG2 - 0.75 * LOG3, LOG2], rtol=1e-6)


def test_entropy_of_a_uniform_policy_is_the_log_of_the_number_of_actions():
    np.testing.assert_allclose(entropy(jnp.zeros((1, 9))), [np.log(9.0)], rtol=1e-6)


def test_entropy_of_a_certain_policy_and_its_gradient_are_zero():
    logits = jnp.array([[0.0, 1e4]])
    np.testing.assert_allclose(entropy(logits), [0.0], atol=1e-6)
    np.testing.assert_allclose(jax.grad(lambda x: entropy(x).sum())(logits), np.zeros((1, 2)), atol=1e-6)


def test_policy_gradient_loss_by_hand_and_masked():
    advantages = jnp.array([2.0, -1.0])
    both = policy_gradient_loss(LOGITS, ACTIONS, advantages, jnp.ones(2))
    # −[2·log 3/4 + (−1)·log ½]
    np.testing.assert_allclose(both, -(2 * (LOG3 - 2 * LOG2) + LOG2), rtol=1e-6)
    only_second = policy_gradient_loss(LOGITS, ACTIONS, advantages, jnp.array([0.0, 1.0]))
    np.testing.assert_allclose(only_second, -LOG2, rtol=1e-6)


def test_the_gradient_of_the_policy_loss_is_advantage_times_probability_minus_choice():
    gradient = jax.grad(policy_gradient_loss)(LOGITS, ACTIONS, jnp.array([2.0, -1.0]), jnp.ones(2))
    # d/dlogits of −A·log pi(a) is A·(pi − onehot(a)): row 0: 2·(¼, ¾ − 1), row 1: −1·(½ − 1, ½)
    np.testing.assert_allclose(gradient, [[0.5, -0.5], [0.5, -0.5]], rtol=1e-6)


def test_the_policy_loss_carries_gradient_to_the_advantages():
    gradient = jax.grad(policy_gradient_loss, argnums=2)(LOGITS, ACTIONS, jnp.zeros(2), jnp.array([1.0, 0.0]))
    np.testing.assert_allclose(gradient, [2 * LOG2 - LOG3, 0.0], rtol=1e-6)  # −mask·log pi(a)


def test_entropy_loss_is_minus_the_masked_entropy():
    np.testing.assert_allclose(entropy_loss(LOGITS, jnp.array([0.0, 1.0])), -LOG2, rtol=1e-6)


def test_descending_the_entropy_loss_makes_the_policy_more_uniform():
    gradient = jax.grad(entropy_loss)(LOGITS, jnp.ones(2))
    assert entropy(LOGITS - 0.1 * gradient)[0] > entropy(LOGITS)[0]


def test_value_loss_by_hand_and_masked():
    values, targets = jnp.array([1.0, 5.0]), jnp.array([3.0, 2.0])
    np.testing.assert_allclose(value_loss(values, targets, jnp.ones(2)), 6.5)  # ½·(2² + 3²)
    np.testing.assert_allclose(value_loss(values, targets, jnp.array([1.0, 0.0])), 2.0)


def test_the_value_loss_carries_opposite_gradients_to_values_and_targets():
    values, targets, mask = jnp.array([1.0, 5.0]), jnp.array([3.0, 2.0]), jnp.array([1.0, 0.0])
    to_values, to_targets = jax.grad(value_loss, argnums=(0, 1))(values, targets, mask)
    np.testing.assert_allclose(to_values, [-2.0, 0.0])
    np.testing.assert_allclose(to_targets, [2.0, 0.0])


EXPECTED = jnp.array([[1.0, -0.5], [0.2, 0.4]])  # Q − V of each action


def test_all_actions_loss_by_hand():
    # Row 0: ¼·1 − ¾·½ = −⅛, and log ¾ times (2 − −½). Row 1 is masked.
    loss = all_actions_loss(LOGITS, ACTIONS, jnp.array([2.0, 9.0]), EXPECTED, jnp.array([1.0, 0.0]))
    np.testing.assert_allclose(loss, 0.125 - (LOG3 - 2 * LOG2) * 2.5, rtol=1e-6)


def test_with_one_step_advantages_nothing_is_left_to_the_sample():
    taken = EXPECTED[jnp.arange(2), ACTIONS]
    gradient = jax.grad(all_actions_loss)(LOGITS, ACTIONS, taken, EXPECTED, jnp.ones(2))
    other = jax.grad(all_actions_loss)(LOGITS, 1 - ACTIONS, EXPECTED[jnp.arange(2), 1 - ACTIONS], EXPECTED, jnp.ones(2))
    np.testing.assert_allclose(gradient, other, rtol=1e-5, atol=1e-7)
    assert np.abs(gradient).max() > 1e-2


def test_in_expectation_over_the_action_it_is_the_policy_gradient_whatever_is_expected():
    # Σ_a pi(a) · gradient with a taken and advantage A(a), for row 0 alone.
    logits, advantages, mask = LOGITS[:1], jnp.array([0.7, -1.3]), jnp.ones(1)
    chances = jax.nn.softmax(logits[0])

    def mean(gradient_of):
        return sum(chances[a] * gradient_of(jnp.array([a]), advantages[a : a + 1]) for a in range(2))

    plain = mean(lambda a, worth: jax.grad(policy_gradient_loss)(logits, a, worth, mask))
    ours = mean(lambda a, worth: jax.grad(all_actions_loss)(logits, a, worth, EXPECTED[:1], mask))
    np.testing.assert_allclose(ours, plain, rtol=1e-5, atol=1e-7)
