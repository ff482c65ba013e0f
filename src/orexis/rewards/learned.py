"""The learned intrinsic reward r_eta."""

import dataclasses

import jax
import jax.numpy as jnp

from orexis.config import HistoryNetConfig, TaskSpec
from orexis.networks import egocentric, history
from orexis.networks.egocentric import Lookup
from orexis.networks.history import HistoryParams, HistoryState
from orexis.rewards.base import Returns
from orexis.types import Rollout


@dataclasses.dataclass(frozen=True)
class LearnedReward:
    """r_t = arctan(head(core after arrival t)), in (−π/2, π/2); the core's state runs over the lifetime."""

    spec: TaskSpec
    config: HistoryNetConfig
    returns: Returns = Returns()
    tabulated: bool = False  # arrivals are row numbers and params went through `history.tabulate`
    lookup: Lookup | None = None  # observations are row numbers, and this tells how they look from the agent

    def __post_init__(self) -> None:
        egocentric.check_view(self.spec, self.config)

    def init(self, key: jax.Array) -> HistoryParams:
        return history.init(key, self.spec, self.config)

    def begin(self, params: HistoryParams, key: jax.Array) -> HistoryState:
        del params, key
        return history.begin(self.spec, self.config)

    def unroll(self, params: HistoryParams, state: HistoryState, rollout: Rollout) -> tuple[jax.Array, HistoryState]:
        unroll = history.unroll_tabulated if self.tabulated else history.unroll
        hidden, state = unroll(params, state, rollout, self.spec, self.config, self.lookup)
        return jnp.arctan(history.head(params, hidden)), state
