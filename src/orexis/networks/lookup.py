"""How a network gets from an observation, as rollouts store it, through its convolution.

A task with few distinct observations is seen through a table: rollouts then store an
observation's row number, i32[], instead of its planes, and patches are looked up, not computed.
"""

import dataclasses
import functools
from typing import Protocol

import jax
import jax.numpy as jnp
import numpy as np

from orexis.networks.layers import Params, conv_flat, conv_patches


class ObservationLookup(Protocol):
    """Knows how observations are stored."""

    def convolve(self, params: Params, observations: jax.Array) -> jax.Array:
        """Returns relu of the convolution of stored observations, flattened: f32[..., H·W·filters]."""
        ...


@dataclasses.dataclass(frozen=True)
class Direct:
    """Rollouts store planes f32[..., H, W, C]."""

    def convolve(self, params: Params, observations: jax.Array) -> jax.Array:
        return conv_flat(params, observations)


DIRECT = Direct()


@dataclasses.dataclass(frozen=True, eq=False)
class Table:
    """Rollouts store row numbers i32[...] of the table of all observations, f32[S, H, W, C]."""

    observations: np.ndarray

    @functools.cached_property
    def _patches(self) -> np.ndarray:
        padded = np.pad(self.observations, ((0, 0), (1, 1), (1, 1), (0, 0)))
        height, width = self.observations.shape[1:3]
        return np.concatenate([padded[:, i : i + height, j : j + width] for i in range(3) for j in range(3)], axis=-1)

    @functools.cached_property
    def differences(self) -> "Differences":
        """What sets each observation apart from what most of them show."""
        return find_differences(self._patches)

    def convolve(self, params: Params, observations: jax.Array) -> jax.Array:
        return conv_patches(params, jnp.asarray(self._patches)[observations])


@dataclasses.dataclass(frozen=True, eq=False)
class Differences:
    """Every observation as the same base but for M of its cells; P = 9·C numbers make a patch.

    The base shows in each cell what most observations show there: walls, resting objects. Around the agent, and only
    there, an observation differs. Where fewer than M cells differ, cells that do not fill the row up.
    """

    base: np.ndarray  # f32[1, H, W, P]
    cells: np.ndarray  # i32[S, M]      which cells
    patches: np.ndarray  # f32[S, M, P]   what is seen there
    usual: np.ndarray  # f32[S, M, P]   what the base has there


def find_differences(patches: np.ndarray) -> Differences:
    """Returns how the observations with these patches, f32[S, H, W, P], differ from their common base."""
    num_rows, height, width, size = patches.shape
    flat = patches.reshape(num_rows, height * width, size)
    base = np.stack([_most_common(flat[:, cell]) for cell in range(height * width)])
    differs = np.any(flat != base, axis=-1)
    cells = np.argsort(~differs, axis=1, kind="stable")[:, : max(1, int(differs.sum(axis=1).max()))]
    return Differences(
        base=base.reshape(1, height, width, size),
        cells=cells.astype(np.int32),
        patches=np.take_along_axis(flat, cells[..., None], axis=1),
        usual=base[cells],
    )


def _most_common(rows: np.ndarray) -> np.ndarray:
    values, counts = np.unique(rows, axis=0, return_counts=True)
    return values[np.argmax(counts)]
