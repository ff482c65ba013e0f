"""How a network gets from an observation, as rollouts store it, to the patches of its convolution.

A task with few distinct observations is seen through a table: rollouts then store an
observation's row number, i32[], instead of its planes, and patches are looked up, not computed.
"""

import dataclasses
import functools
from typing import Protocol

import jax
import jax.numpy as jnp
import numpy as np

from orexis.networks.layers import patches


class Sight(Protocol):
    """Turns stored observations into patches f32[..., H, W, 9·C]."""

    def patches(self, observations: jax.Array) -> jax.Array: ...


@dataclasses.dataclass(frozen=True)
class Direct:
    """Rollouts store planes f32[..., H, W, C]."""

    def patches(self, observations: jax.Array) -> jax.Array:
        return patches(observations)


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

    def patches(self, observations: jax.Array) -> jax.Array:
        return jnp.asarray(self._patches)[observations]
