import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.agents.sampling import choose, draw_noise

LOGITS = jnp.log(jnp.array([0.1, 0.2, 0.3, 0.4]))
NUMBER = 4000


@pytest.fixture(scope="module")
def drawn():
    """Actions drawn by keys, and by the noise of the same keys."""
    keys = jax.random.split(jax.random.key(0), NUMBER)
    noise = jax.vmap(draw_noise, in_axes=(0, None))(keys, LOGITS.shape[0])
    by = jax.jit(jax.vmap(choose, in_axes=(None, 0)))
    return np.asarray(by(LOGITS, keys)), np.asarray(by(LOGITS, noise))


def test_a_key_and_its_noise_choose_the_same_action(drawn):
    by_key, by_noise = drawn
    np.testing.assert_array_equal(by_noise, by_key)


def test_actions_have_the_probabilities_of_the_policy(drawn):
    shares = np.bincount(drawn[1], minlength=4) / NUMBER
    np.testing.assert_allclose(shares, np.exp(LOGITS), atol=0.03)  # standard error below 0.008


def test_an_untyped_key_is_a_key():
    typed = jax.random.key(3)
    assert int(choose(LOGITS, jax.random.key_data(typed))) == int(choose(LOGITS, typed))
