import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from orexis.optimizers import Adam, Sgd, clip_factor, squared_norm

THETA = {"w": jnp.array([1.0, -2.0]), "b": jnp.array(0.5)}
GRADS = [
    {"w": jnp.array([0.1, -3.0]), "b": jnp.array(0.0)},
    {"w": jnp.array([-0.2, 1.0]), "b": jnp.array(2.0)},
    {"w": jnp.array([0.3, 0.5]), "b": jnp.array(-1.0)},
]


def test_sgd_by_hand():
    theta, state = Sgd(0.1).update(GRADS[0], Sgd(0.1).init(THETA), THETA)
    # 1 − 0.1·0.1 = 0.99,  −2 + 0.1·3 = −1.7,  0.5 − 0 = 0.5
    np.testing.assert_allclose(theta["w"], [0.99, -1.7], rtol=1e-6)
    np.testing.assert_allclose(theta["b"], 0.5)
    assert state == ()


@pytest.mark.parametrize("eps_root", [0.0, 1e-3])
def test_adam_equals_optax_step_by_step(eps_root: float):
    ours, theirs = Adam(0.1, eps_root=eps_root), optax.adam(0.1, eps_root=eps_root)
    theta, state = THETA, ours.init(THETA)
    expected, expected_state = THETA, theirs.init(THETA)
    for grads in GRADS:
        theta, state = ours.update(grads, state, theta)
        updates, expected_state = theirs.update(grads, expected_state, expected)
        expected = optax.apply_updates(expected, updates)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), theta, expected)
    assert int(state.step) == 3


@pytest.mark.parametrize(
    "adam", [Adam(0.1), Adam(0.1, eps_root=1e-8, differentiate_denominator=True)], ids=["stopped", "differentiated"]
)
def test_adam_at_a_zero_gradient_has_a_finite_meta_gradient(adam: Adam):
    def weight_after_two_steps(scale: jax.Array) -> jax.Array:
        theta, state = {"w": jnp.array(1.0)}, adam.init({"w": jnp.array(1.0)})
        for direction in (0.0, 1.0):  # the first gradient is zero whatever the scale: v is 0 there
            theta, state = adam.update({"w": direction * scale}, state, theta)
        return theta["w"]

    slope = jax.grad(weight_after_two_steps)(jnp.array(0.3))
    assert np.isfinite(slope)
    assert slope != 0.0


def test_optax_without_eps_root_is_the_trap_that_adam_here_avoids():
    def step(gradient: jax.Array) -> jax.Array:
        updates, _ = optax.adam(0.1).update(gradient, optax.adam(0.1).init(gradient))
        return updates

    assert np.isnan(jax.grad(step)(jnp.array(0.0)))
    assert np.isfinite(jax.grad(lambda g: Adam(0.1).update(g, Adam(0.1).init(g), g)[0])(jnp.array(0.0)))


def test_a_differentiated_denominator_is_refused_without_eps_root():
    with pytest.raises(ValueError, match="needs eps_root > 0"):
        Adam(0.1, differentiate_denominator=True)


def slope_of_one_step(adam: Adam, gradient: float) -> float:
    """Returns d theta' / d g of Adam's first step."""
    weight = jnp.array(1.0)
    return float(jax.grad(lambda g: adam.update(g, adam.init(weight), weight)[0])(jnp.array(gradient)))


def test_the_denominator_is_a_constant_for_the_meta_gradient():
    # First step: m̂ = g, v̂ = g², theta' = theta − alpha·g/(|g| + eps). With |g| a constant 0.5 the slope is −0.1/0.5.
    assert slope_of_one_step(Adam(0.1), 0.5) == pytest.approx(-0.2, rel=1e-4)


def test_the_denominator_carries_gradient_if_asked_to():
    adam = Adam(0.1, eps=0.0, eps_root=0.75, differentiate_denominator=True)
    # theta' = theta − alpha·g/sqrt(g² + e); d/dg g/sqrt(g² + e) = e/(g² + e)^1.5 = 0.75/1^1.5 at g = 0.5
    assert slope_of_one_step(adam, 0.5) == pytest.approx(-0.1 * 0.75, rel=1e-4)


def test_adams_first_moment_carries_gradient_from_one_update_to_the_next():
    adam = Adam(0.1, b1=0.5, b2=0.5, eps=0.0)

    def weight_after_two_steps(first: jax.Array) -> jax.Array:
        weight = jnp.array(1.0)
        weight, state = adam.update(first, adam.init(weight), weight)
        return adam.update(jnp.array(2.0), state, weight)[0]

    # g_1 = 1, g_2 = 2.  d_1 = sqrt(½·1/½) = 1.  v_2 = ½·½ + ½·4 = 9/4, v̂_2 = (9/4)/(3/4) = 3, d_2 = sqrt 3.
    # m_2 = ½·½·g_1 + ½·g_2, m̂_2 = m_2/(3/4): its slope in g_1 is 1/3.
    # d theta_2 / d g_1 = −alpha·(1/d_1 + (1/3)/d_2); without the moment's edge it would be −alpha.
    expected = -0.1 * (1.0 + 1.0 / (3.0 * 3.0**0.5))
    assert float(jax.grad(weight_after_two_steps)(jnp.array(1.0))) == pytest.approx(expected, rel=1e-5)


def test_a_clipped_gradient_has_the_norm_asked_for_and_a_small_one_is_left_alone():
    grads = {"w": jnp.array([3.0, 0.0]), "b": jnp.array(-4.0)}  # norm 5
    assert float(squared_norm(grads)) == 25.0
    np.testing.assert_allclose(clip_factor(squared_norm(grads), 2.0), 0.4, rtol=1e-6)
    assert float(clip_factor(squared_norm(grads), 5.5)) == 1.0
    assert clip_factor(squared_norm(grads), None) == 1.0


def test_clipping_is_differentiable_at_a_zero_gradient_and_carries_gradient_where_it_clips():
    def clipped(x):
        grads = x * jnp.array([3.0, 4.0])
        return jnp.sum(clip_factor(squared_norm(grads), 2.0) * grads)

    np.testing.assert_allclose(jax.grad(clipped)(0.0), 7.0, rtol=1e-6)  # nothing is clipped: the slope of 3x + 4x
    np.testing.assert_allclose(jax.grad(clipped)(1.0), 0.0, atol=1e-6)  # clipped, it no longer grows with x
