import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.networks.layers import (
    LstmState,
    conv_flat,
    conv_init,
    dense,
    dense_init,
    lstm_begin,
    lstm_init,
    lstm_run,
    lstm_unroll,
    patches,
    times,
    times_transposed,
)


def noise(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def test_the_patch_convolution_equals_jaxs_own_with_same_padding():
    height, width, planes, filters = 4, 3, 2, 5  # nothing square, nothing equal: a transposition would show
    images, bias = noise(0, 7, height, width, planes), noise(1, filters)
    params = {"w": noise(2, 9 * planes, filters), "b": bias}

    ours = conv_flat(params, images)

    theirs = jax.lax.conv_general_dilated(
        images,
        params["w"].reshape(3, 3, planes, filters),
        window_strides=(1, 1),
        padding="SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )
    expected = np.maximum(np.asarray(theirs) + bias, 0.0).reshape(7, -1)
    np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-5)


def test_patches_hold_the_neighbourhood_row_by_row_and_zeros_beyond_the_border():
    image = np.arange(1.0, 7.0, dtype=np.float32).reshape(2, 3, 1)  # 1 2 3 / 4 5 6
    corner = patches(image)[0, 2]  # around the 3
    np.testing.assert_array_equal(corner, [0, 0, 0, 2, 3, 0, 5, 6, 0])


def test_a_convolution_of_one_image_equals_its_row_in_a_batch():
    images, params = noise(0, 4, 3, 3, 2), {"w": noise(1, 18, 2), "b": noise(2, 2)}
    np.testing.assert_allclose(conv_flat(params, images)[2], conv_flat(params, images[2]), rtol=1e-6)


def test_dense_by_hand():
    params = {"w": jnp.array([[1.0, 2.0], [3.0, 4.0]]), "b": jnp.array([10.0, 20.0])}
    # [1, −1]: 1 − 3 + 10 = 8 and 2 − 4 + 20 = 18
    np.testing.assert_allclose(dense(params, jnp.array([1.0, -1.0])), [8.0, 18.0])


@pytest.mark.parametrize("gain", [1.0, 3.0])
def test_dense_weights_have_standard_deviation_gain_over_root_inputs_and_biases_are_zero(gain: float):
    params = dense_init(jax.random.key(0), 100, 200, gain)
    limit = gain * 3.0**0.5 / 10.0  # uniform in ±limit has standard deviation limit/sqrt 3 = gain/10
    assert np.std(params["w"]) == pytest.approx(gain / 10.0, rel=0.02)
    assert np.abs(params["w"]).max() <= limit
    np.testing.assert_array_equal(params["b"], np.zeros(200))


def test_a_kernel_has_a_row_for_each_cell_and_plane_of_the_neighbourhood():
    assert conv_init(jax.random.key(0), 4, 7)["w"].shape == (36, 7)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-x))


def test_the_lstm_equals_a_loop_in_numpy():
    num_inputs, num_units, length = 3, 2, 5
    params = {"wx": noise(0, num_inputs, 8), "wh": noise(1, num_units, 8), "b": noise(2, 8)}
    inputs, hidden, cell = noise(3, length, num_inputs), noise(4, num_units), noise(5, num_units)

    outputs, state = lstm_unroll(params, LstmState(jnp.asarray(hidden), jnp.asarray(cell)), inputs)

    for t in range(length):
        gates = inputs[t] @ params["wx"] + hidden @ params["wh"] + params["b"]
        into, forget, candidate, out = gates[:2], gates[2:4], gates[4:6], gates[6:]
        cell = sigmoid(forget) * cell + sigmoid(into) * np.tanh(candidate)
        hidden = sigmoid(out) * np.tanh(cell)
        np.testing.assert_allclose(outputs[t], hidden, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(state.hidden, hidden, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(state.cell, cell, rtol=1e-4, atol=1e-6)


def test_a_new_lstm_forgets_little_and_starts_from_zero():
    params = lstm_init(jax.random.key(0), 3, 2)
    np.testing.assert_array_equal(params["b"], [0, 0, 1, 1, 0, 0, 0, 0])  # input, forget, candidate, output
    assert params["wx"].shape == (3, 8)
    assert params["wh"].shape == (2, 8)
    assert float(jnp.abs(params["wh"]).max()) > 0.0
    for part in jax.tree.leaves(lstm_begin(2)):
        np.testing.assert_array_equal(part, [0.0, 0.0])


def loss_of_products(multiply, multiply_transposed):
    """A function of x and W with both products in it, bent in between, so that second derivatives say something."""

    def loss(x: jax.Array, matrix: jax.Array) -> jax.Array:
        there = jnp.sin(multiply(x, matrix))
        return jnp.sum(jnp.square(multiply_transposed(there, matrix)) * jnp.arange(1.0, 1.0 + x.size).reshape(x.shape))

    return loss


OURS = loss_of_products(times, times_transposed)
PLAIN = loss_of_products(lambda x, matrix: x @ matrix, lambda x, matrix: x @ matrix.T)


def assert_close(ours, expected) -> None:
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11), ours, expected)


@pytest.mark.parametrize("num_rows", [1, 3])
def test_products_and_their_gradients_are_those_of_plain_matmuls(num_rows: int):
    with jax.enable_x64(True):
        x, matrix = (jnp.asarray(noise(seed, *shape), float) for seed, shape in ((0, (num_rows, 4)), (1, (4, 5))))
        assert_close(OURS(x, matrix), PLAIN(x, matrix))
        assert_close(jax.grad(OURS, argnums=(0, 1))(x, matrix), jax.grad(PLAIN, argnums=(0, 1))(x, matrix))

        def second(loss):
            """Returns how a sum over the first derivatives changes: the gradient of a gradient, as in a window."""
            slopes = jax.grad(loss, argnums=(0, 1))
            return jax.grad(lambda *xs: sum(jnp.sum(jnp.cos(s)) for s in slopes(*xs)), argnums=(0, 1))(x, matrix)

        assert_close(second(OURS), second(PLAIN))


def test_products_of_many_lifetimes_are_those_of_each():
    with jax.enable_x64(True):
        xs, matrices = jnp.asarray(noise(0, 6, 3, 4), float), jnp.asarray(noise(1, 6, 4, 5), float)
        together = jax.jit(jax.vmap(jax.grad(OURS, argnums=(0, 1))))(xs, matrices)
        apart = [jax.grad(PLAIN, argnums=(0, 1))(x, matrix) for x, matrix in zip(xs, matrices, strict=True)]
        assert_close(together, jax.tree.map(lambda *rows: jnp.stack(rows), *apart))


def test_products_with_a_common_matrix_are_those_of_plain_matmuls():
    with jax.enable_x64(True):
        xs, matrix = jnp.asarray(noise(0, 6, 3, 4), float), jnp.asarray(noise(1, 4, 5), float)

        def gradients(loss):
            total = lambda xs, matrix: jnp.sum(jax.vmap(loss, in_axes=(0, None))(xs, matrix))  # noqa: E731
            return jax.jit(jax.grad(total, argnums=(0, 1)))(xs, matrix)

        assert_close(gradients(OURS), gradients(PLAIN))


def plain_lstm(recurrent: jax.Array, state: LstmState, projected: jax.Array) -> tuple[jax.Array, LstmState]:
    """The LSTM's equations as they stand, for JAX to differentiate."""

    def advance(state: LstmState, x: jax.Array) -> tuple[LstmState, jax.Array]:
        into, forget, candidate, out = jnp.split(x + state.hidden @ recurrent, 4)
        cell = jax.nn.sigmoid(forget) * state.cell + jax.nn.sigmoid(into) * jnp.tanh(candidate)
        hidden = jax.nn.sigmoid(out) * jnp.tanh(cell)
        return LstmState(hidden=hidden, cell=cell), hidden

    state, hidden = jax.lax.scan(advance, state, projected)
    return hidden, state


def lstm_loss(run, judged: str):
    """A loss that looks at all hidden states, or at one part of the last state only."""

    def loss(recurrent: jax.Array, state: LstmState, projected: jax.Array) -> jax.Array:
        hidden, last = run(recurrent, state, projected)
        seen = {"hidden": hidden, "last hidden": last.hidden, "last cell": last.cell}[judged]
        return jnp.sum(jnp.sin(seen) * jnp.arange(1.0, 1.0 + seen.size).reshape(seen.shape))

    return loss


@pytest.mark.parametrize("judged", ["hidden", "last hidden", "last cell"])
@pytest.mark.parametrize("num_steps", [1, 5])
def test_the_gradient_of_the_lstm_is_what_jax_makes_of_its_equations(judged: str, num_steps: int):
    with jax.enable_x64(True):
        units, lifetimes = 3, 4
        recurrent = jnp.asarray(noise(0, units, 4 * units), float)
        states = LstmState(*(jnp.asarray(noise(seed, lifetimes, units), float) for seed in (1, 2)))
        projected = jnp.asarray(noise(3, lifetimes, num_steps, 4 * units), float)

        def gradients(run):
            """As in training: Wh is common to all lifetimes, states and inputs are not."""
            loss = jax.vmap(lstm_loss(run, judged), in_axes=(None, 0, 0))
            return jax.value_and_grad(lambda *xs: jnp.sum(loss(*xs)), argnums=(0, 1, 2))(recurrent, states, projected)

        assert_close(gradients(lstm_run), gradients(plain_lstm))


def test_the_lstm_refuses_a_second_derivative_rather_than_lose_terms():
    recurrent, projected = noise(0, 2, 8), noise(1, 3, 8)

    def slope(projected: jax.Array) -> jax.Array:
        return jnp.sum(jax.grad(lambda x: jnp.sum(lstm_run(recurrent, lstm_begin(2), x)[0]))(projected))

    with pytest.raises(TypeError, match="once only"):
        jax.grad(slope)(projected)
