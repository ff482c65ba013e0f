"""Novelty by counting: the extrinsic reward and beta / sqrt(n(s)) on top (Strehl and Littman, 2008)."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from orexis.rewards.base import Returns
from orexis.tasks.base import Task
from orexis.tasks.tabled import find_rows, has_table, table_of
from orexis.types import Rollout

NUM_BUCKETS = 2**20  # of the hashed counts; a lifetime of Key-Box has at most 5·10^5 arrivals


@dataclasses.dataclass(frozen=True)
class Count:
    """r_t = extrinsic + scale / sqrt(n), n the arrivals of this lifetime in s_{t+1}, this one among them.

    A task that lists its observations (see `orexis.tasks.tabled`) is counted exactly, any other by the hash of its
    observation: states that share a bucket are counted together, so a bonus may be too small, never too large.
    """

    task: Task
    scale: float = dataclasses.field(compare=False)  # becomes the params: a compiled program serves every scale
    num_buckets: int = NUM_BUCKETS
    returns: Returns = Returns()

    def init(self, key: jax.Array) -> jax.Array:
        """Returns the scale, f32[]."""
        del key
        return jnp.float32(self.scale)

    def begin(self, params: jax.Array, key: jax.Array) -> jax.Array:
        """Returns the counts i32[S] of a newborn: one for each observation, or for each bucket."""
        del params, key
        return jnp.zeros(self._num_counts(), jnp.int32)

    def unroll(self, params: jax.Array, state: jax.Array, rollout: Rollout) -> tuple[jax.Array, jax.Array]:
        places = self.places(rollout.next_observation)
        counted = (rollout.in_lifetime > 0).astype(jnp.int32)
        state = state.at[places].add(counted)  # first: who reads the counts before makes XLA copy all of them
        later = jnp.triu(places[:, None] == places[None, :], k=1)  # [t, u]: step u > t arrived in the same state
        visits = state[places] - later.astype(jnp.int32) @ counted
        bonus = params / jnp.sqrt(jnp.maximum(visits, 1).astype(jnp.float32))
        return rollout.reward + counted * bonus, state

    def places(self, observations: jax.Array) -> jax.Array:
        """Returns i32[T], where each of the observations f32[T, H, W, C] is counted."""
        if not has_table(self.task):
            return hash_observations(observations) % self.num_buckets
        return find_rows(table_of(self.task), observations)

    def _num_counts(self) -> int:
        return len(table_of(self.task)) if has_table(self.task) else self.num_buckets


def hash_observations(observations: jax.Array) -> jax.Array:
    """Returns i32[T] in [0, 2^31), a multilinear hash of the bits of f32[T, H, W, C] with fixed random weights."""
    num_numbers = int(np.prod(observations.shape[1:]))
    weights = np.random.default_rng(0).integers(0, 2**32, num_numbers, dtype=np.uint32)
    bits = jax.lax.bitcast_convert_type(observations + 0.0, jnp.uint32).reshape(len(observations), -1)  # −0 is 0
    total = jnp.sum((_mix(bits) | 1) * weights, axis=1, dtype=jnp.uint32)  # odd factors lose no bit of a weight
    return (_mix(total) >> 1).astype(jnp.int32)


def _mix(bits: jax.Array) -> jax.Array:
    """Returns u32[...] in which every bit depends on all of `bits`: the finaliser of MurmurHash3."""
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        bits = (bits ^ (bits >> shift)) * jnp.uint32(factor)
    return bits ^ (bits >> 16)
