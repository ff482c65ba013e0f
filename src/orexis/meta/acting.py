"""Acting on large grids: only what changed since the usual picture is multiplied.

A grid's observations differ from a common base (walls, resting objects) in the M cells around the agent alone, see
`networks.lookup.Differences`. With x(s) the inputs of the hidden layer on observation s, x_0 those on the base, c(s)
the M cells and d(s) what x(s) has more than x_0 there,

    x(s)·W  =  x_0·W + d(s)·W[c(s)]

The first term is computed once for each theta, the second touches M·filters rows of W: 144 of 1936 in Empty
Rooms (the idea of NNUE in chess). W itself is factored, W_0 + Xᵀ·D, see `factored`. Exact, but for rounding. Only for
acting: in an update the T observations share one pass over W_0, and gathering rows for each would cost more.
"""

import dataclasses

import jax
import jax.numpy as jnp

from orexis.agents.sampling import choose
from orexis.networks.layers import Params, conv_patches, dense
from orexis.networks.lookup import Differences
from orexis.types import Last, record

Small = dict[str, Params]
"""theta without its hidden matrix: conv, policy, value, and the hidden layer's bias."""


@record
class Acting:
    small: Small
    usual: jax.Array  # f32[out]           x_0·W + b
    matrix: jax.Array  # f32[cells, filters·out]   W_0
    inputs: jax.Array  # f32[k·T, cells, filters]  X
    cotangents: jax.Array  # f32[k·T, out]         D


def is_cheaper(differences: Differences) -> bool:
    """Returns whether so few cells differ that gathering their rows is cheaper than using all of them."""
    num_cells = differences.base.shape[1] * differences.base.shape[2]
    return 4 * differences.cells.shape[1] <= num_cells


@dataclasses.dataclass(frozen=True)
class DifferenceActor:
    """Acts as the factored agent does; observations are row numbers of a table."""

    rollout_length: int
    differences: Differences

    def begin(self, small: Small, matrix: jax.Array, inputs: jax.Array, cotangents: jax.Array) -> Acting:
        """Returns what acting with W = `matrix` + `inputs`ᵀ·`cotangents` needs."""
        base = conv_patches(small["conv"], jnp.asarray(self.differences.base))  # f32[1, in]
        usual = base @ matrix + (base @ inputs.T) @ cotangents + small["hidden"]["b"]
        num_filters = small["conv"]["b"].shape[0]
        num_cells = matrix.shape[0] // num_filters
        return Acting(
            small=small,
            usual=usual[0],
            matrix=matrix.reshape(num_cells, -1),
            inputs=inputs.reshape(-1, num_cells, num_filters),
            cotangents=cotangents,
        )

    def act(
        self, state: Acting, observation: jax.Array, last: Last, key: jax.Array
    ) -> tuple[jax.Array, jax.Array, jax.Array, Acting]:
        del last
        logits, value = self._apply(state, observation)
        return choose(logits, key), value, logits, state

    def _apply(self, state: Acting, row: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Returns logits f32[A] and value f32[] on the observation in `row` of the table."""
        small, differences = state.small, self.differences
        cells = jnp.asarray(differences.cells)[row]
        seen, usual = (
            jax.nn.relu(dense(small["conv"], jnp.asarray(patches)[row]))
            for patches in (differences.patches, differences.usual)
        )
        change = (seen - usual).reshape(-1)  # d(s), f32[M·filters]
        rows = state.matrix[cells].reshape(change.shape[0], -1)
        learned = state.inputs[:, cells].reshape(-1, change.shape[0])
        hidden = jax.nn.relu(state.usual + change @ rows + (learned @ change) @ state.cotangents)
        return dense(small["policy"], hidden), dense(small["value"], hidden)[0]
