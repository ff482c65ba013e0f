"""Dense layer, 3×3 convolution as patches and a matmul, LSTM cell: `init` and `apply` on dicts of arrays.

A convolution is a matmul here because theta differs between lifetimes: `vmap` over kernels
turns a native convolution into a grouped one, which is slow, and a matmul into a batched
matmul, which is not.
"""

import jax
import jax.numpy as jnp

from orexis.types import record

Params = dict[str, jax.Array]


def dense_init(key: jax.Array, num_inputs: int, num_outputs: int, gain: float = 1.0) -> Params:
    """Returns weights uniform with standard deviation gain/sqrt(inputs), and zero biases. The key is consumed."""
    limit = gain * (3.0 / num_inputs) ** 0.5
    weights = jax.random.uniform(key, (num_inputs, num_outputs), minval=-limit, maxval=limit)
    return {"w": weights, "b": jnp.zeros(num_outputs)}


def dense(params: Params, x: jax.Array) -> jax.Array:
    """Returns x·W + b for x f32[..., inputs]."""
    return x @ params["w"] + params["b"]


def conv_init(key: jax.Array, num_planes: int, num_filters: int, gain: float = 1.0) -> Params:
    """Returns a 3×3 kernel as f32[9·C, filters], row order (di, dj, c), and biases."""
    return dense_init(key, 9 * num_planes, num_filters, gain)


def patches(images: jax.Array) -> jax.Array:
    """Returns the zero-padded 3×3 neighbourhood of every cell, f32[..., H, W, 9·C], from f32[..., H, W, C]."""
    height, width = images.shape[-3:-1]
    border = [(0, 0)] * (images.ndim - 3) + [(1, 1), (1, 1), (0, 0)]
    padded = jnp.pad(images, border)
    shifted = [padded[..., i : i + height, j : j + width, :] for i in range(3) for j in range(3)]
    return jnp.concatenate(shifted, axis=-1)


def conv_flat(params: Params, images: jax.Array) -> jax.Array:
    """Returns relu of the same-size 3×3 convolution, flattened: f32[..., H·W·filters] from f32[..., H, W, C]."""
    return conv_patches(params, patches(images))


def conv_patches(params: Params, neighbourhoods: jax.Array) -> jax.Array:
    """Returns `conv_flat` from the patches themselves, f32[..., H, W, 9·C].

    All cells are rows of one matrix: left in their own axes, the kernel's gradient would sum over
    several axes at once, for which XLA transposes copies (a fifth of an update's time).
    """
    rows = neighbourhoods.reshape(-1, neighbourhoods.shape[-1])
    return jax.nn.relu(dense(params, rows)).reshape(*neighbourhoods.shape[:-3], -1)


@record
class LstmState:
    hidden: jax.Array  # f32[U]
    cell: jax.Array  # f32[U]


def lstm_init(key: jax.Array, num_inputs: int, num_units: int) -> Params:
    """Returns the four gates' weights side by side (input, forget, candidate, output), forget bias 1."""
    key_input, key_hidden = jax.random.split(key)
    bias = jnp.zeros(4 * num_units).at[num_units : 2 * num_units].set(1.0)
    return {
        "wx": dense_init(key_input, num_inputs, 4 * num_units)["w"],
        "wh": dense_init(key_hidden, num_units, 4 * num_units)["w"],
        "b": bias,
    }


def lstm_begin(num_units: int) -> LstmState:
    """Returns the zero state."""
    return LstmState(hidden=jnp.zeros(num_units), cell=jnp.zeros(num_units))


def lstm_run(recurrent: jax.Array, state: LstmState, projected: jax.Array) -> tuple[jax.Array, LstmState]:
    """Returns the hidden states after each step, f32[T, U], and the last state.

    `projected` f32[T, 4·U] are the gates' shares of the inputs, x·Wx + b: one matmul for all steps,
    hoisted out of the scan by the caller; `recurrent` f32[U, 4·U] is Wh.
    """

    def advance(state: LstmState, x: jax.Array) -> tuple[LstmState, jax.Array]:
        into, forget, candidate, out = jnp.split(x + state.hidden @ recurrent, 4, axis=-1)
        cell = jax.nn.sigmoid(forget) * state.cell + jax.nn.sigmoid(into) * jnp.tanh(candidate)
        hidden = jax.nn.sigmoid(out) * jnp.tanh(cell)
        return LstmState(hidden=hidden, cell=cell), hidden

    state, hidden = jax.lax.scan(advance, state, projected)
    return hidden, state


def lstm_unroll(params: Params, state: LstmState, inputs: jax.Array) -> tuple[jax.Array, LstmState]:
    """Returns the hidden states after each input, f32[T, U], and the last state, from inputs f32[T, F]."""
    return lstm_run(params["wh"], state, inputs @ params["wx"] + params["b"])
