"""Products, dense layer, 3×3 convolution as patches and a matmul, LSTM: `init` and `apply` on dicts of arrays.

A convolution is a matmul here because theta differs between lifetimes: `vmap` over kernels
turns a native convolution into a grouped one, which is slow, and a matmul into a batched
matmul, which is not.
"""

import jax
import jax.numpy as jnp

from orexis.types import PyTree, record

Params = dict[str, jax.Array]


def dense_init(key: jax.Array, num_inputs: int, num_outputs: int, gain: float = 1.0) -> Params:
    """Returns weights uniform with standard deviation gain/sqrt(inputs), and zero biases. The key is consumed."""
    limit = gain * (3.0 / num_inputs) ** 0.5
    weights = jax.random.uniform(key, (num_inputs, num_outputs), minval=-limit, maxval=limit)
    return {"w": weights, "b": jnp.zeros(num_outputs)}


@jax.custom_vjp
def times(x: jax.Array, matrix: jax.Array) -> jax.Array:
    """Returns x·W f32[B, out], for a few rows x f32[B, in]; its gradients are g·Wᵀ and xᵀ·g.

    Of the ways to compute these three products, XLA takes one that reads the larger matrix against its order in memory,
    or a kernel for transposed inputs that is slow on small ones. Here these three read all matrices row by row: what
    has to be transposed is so before, and g·Wᵀ is computed as (W·gᵀ)ᵀ. Barriers keep XLA from turning them
    round again. Not where W is common to vmapped lifetimes and has a gradient: that would be formed for each of them.
    Forward-mode derivatives are not defined.
    """
    assert x.ndim == matrix.ndim == 2
    assert x.dtype == matrix.dtype
    return jax.lax.optimization_barrier(x) @ matrix


@jax.custom_vjp
def times_transposed(x: jax.Array, matrix: jax.Array) -> jax.Array:
    """Returns x·Wᵀ f32[B, in], for a few rows x f32[B, out], see `times`."""
    assert x.ndim == matrix.ndim == 2
    assert x.dtype == matrix.dtype
    contract_last = (((1,), (1,)), ((), ()))
    return jax.lax.optimization_barrier(jax.lax.dot_general(matrix, x, contract_last)).T


def _add_up(x: jax.Array, g: jax.Array) -> jax.Array:
    """Returns xᵀ·g f32[in, out], a matrix's gradient, see `times`."""
    return jax.lax.optimization_barrier(x.T) @ g


times.defvjp(
    lambda x, matrix: (times(x, matrix), (x, matrix)),
    lambda kept, g: (times_transposed(g, kept[1]), _add_up(kept[0], g)),
)
times_transposed.defvjp(
    lambda x, matrix: (times_transposed(x, matrix), (x, matrix)),
    lambda kept, g: (times(g, kept[1]), _add_up(g, kept[0])),
)


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

        z_t = x_t·Wx + b + h_{t−1}·Wh      (i, f, g, o) = (σ, σ, tanh, σ)(z_t)
        c_t = f·c_{t−1} + i·g              h_t = o·tanh(c_t)

    Values come from a loop that no gradient enters. Then z is computed from them once more, for all steps at once, and
    carries the gradient: what z' owes to later steps is added by `_remember`, and Wh' = Σ_t h_{t−1}ᵀ·z'_t is one
    matmul. Left to JAX, the loop backwards would carry Wh' along, add to it at every step, and keep an array for
    each factor of the above. It can be differentiated once, backwards: all that the meta-gradient asks of eta and phi.
    """
    constant, start, inputs = jax.lax.stop_gradient((recurrent, state, projected))

    def advance(state: LstmState, x: jax.Array) -> tuple[LstmState, LstmState]:
        into, forget, candidate, out = _open(x + state.hidden @ constant)
        cell = forget * state.cell + into * candidate
        following = LstmState(hidden=out * jnp.tanh(cell), cell=cell)
        return following, following

    states = jax.lax.scan(advance, start, inputs)[1]
    before = jnp.concatenate([start.hidden[None], states.hidden[:-1]])
    return _remember(projected + before @ recurrent, state, constant, states)


@jax.custom_vjp
def _remember(
    gates: jax.Array, first: LstmState, recurrent: jax.Array, states: LstmState
) -> tuple[jax.Array, LstmState]:
    """Returns the hidden states and the last state out of `states` [T], as functions of z `gates` and the `first`.

    Its gradient, with ' for derivatives, from the last step to the first, s_t being the slopes of the gates:

        c'_t += h'_t·o·(1 − tanh²c_t)       z'_t = (c'_t, c'_t, c'_t, h'_t) · s_t
        h'_{t−1} += z'_t·Whᵀ                c'_{t−1} = c'_t·f
    """
    return states.hidden, jax.tree.map(lambda rows: rows[-1], states)


def _remember_backward(
    kept: tuple[jax.Array, LstmState, jax.Array, LstmState], cotangents: tuple[jax.Array, LstmState]
) -> tuple[jax.Array, LstmState, None, None]:
    """Returns z', the first state's gradient, and none of the constants'; see `_remember`."""
    gates, first, recurrent, states = kept
    before = jnp.concatenate([first.cell[None], states.cell[:-1]])
    into, forget, candidate, out = _open(gates)
    bent = jnp.tanh(states.cell)
    slopes = jnp.concatenate(
        [
            candidate * into * (1.0 - into),
            before * forget * (1.0 - forget),
            into * (1.0 - candidate * candidate),
            bent * out * (1.0 - out),
        ],
        axis=-1,
    )

    def retreat(later: LstmState, row: tuple[jax.Array, ...]) -> tuple[LstmState, jax.Array]:
        told, slope, through, forget = row
        hidden = later.hidden + told
        cell = later.cell + hidden * through
        pushed = jnp.concatenate([cell, cell, cell, hidden]) * slope
        return LstmState(hidden=times_transposed(pushed[None], recurrent)[0], cell=cell * forget), pushed

    told, last = cotangents
    begun, pushed = jax.lax.scan(retreat, last, (told, slopes, out * (1.0 - bent * bent), forget), reverse=True)
    return (*_final((pushed, begun)), None, None)


@jax.custom_vjp
def _final(gradients: PyTree) -> PyTree:
    """Returns `gradients`, not to be differentiated again: `states` would count as constants, and terms be lost."""
    return gradients


def _refuse(kept: tuple[()], cotangents: PyTree) -> tuple[PyTree]:
    raise TypeError("lstm_run can be differentiated once only")


_final.defvjp(lambda gradients: (gradients, ()), _refuse)
_remember.defvjp(lambda *arguments: (_remember(*arguments), arguments), _remember_backward)


def _open(gates: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Returns how far each gate f32[..., U] is open: input, forget, candidate, output."""
    into, forget, candidate, out = jnp.split(gates, 4, axis=-1)
    return jax.nn.sigmoid(into), jax.nn.sigmoid(forget), jnp.tanh(candidate), jax.nn.sigmoid(out)


def lstm_unroll(params: Params, state: LstmState, inputs: jax.Array) -> tuple[jax.Array, LstmState]:
    """Returns the hidden states after each input, f32[T, U], and the last state, from inputs f32[T, F]."""
    return lstm_run(params["wh"], state, inputs @ params["wx"] + params["b"])
