"""The task's own reward as a reward source: the baseline that knows nothing of other lifetimes."""

import dataclasses

import jax

from orexis.rewards.base import Returns
from orexis.types import Rollout


@dataclasses.dataclass(frozen=True)
class Extrinsic:
    """Pays what the task pays. With the default `returns` this is the paper's Extrinsic-EP."""

    returns: Returns = Returns()

    def init(self, key: jax.Array) -> tuple[()]:
        del key
        return ()

    def begin(self, params: tuple[()], key: jax.Array) -> tuple[()]:
        del params, key
        return ()

    def unroll(self, params: tuple[()], state: tuple[()], rollout: Rollout) -> tuple[jax.Array, tuple[()]]:
        del params
        return rollout.reward, state
