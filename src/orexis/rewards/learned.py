"""The learned intrinsic reward r_eta and its companion, the lifetime value function V_phi."""

import dataclasses

import jax
import jax.numpy as jnp

from orexis.config import HistoryNetConfig, TaskSpec
from orexis.networks import egocentric, history
from orexis.networks.egocentric import Lookup
from orexis.networks.history import HistoryParams
from orexis.networks.layers import LstmState
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

    def begin(self, params: HistoryParams, key: jax.Array) -> LstmState:
        del params, key
        return history.begin(self.config)

    def unroll(self, params: HistoryParams, state: LstmState, rollout: Rollout) -> tuple[jax.Array, LstmState]:
        unroll = history.unroll_tabulated if self.tabulated else history.unroll
        hidden, state = unroll(params, state, rollout, self.spec, self.config, self.lookup)
        return jnp.arctan(history.head(params, hidden)), state


@dataclasses.dataclass(frozen=True)
class LifetimeValue:
    """V_phi before each step: the extrinsic return still to come in this lifetime. Takes the reward's inputs."""

    spec: TaskSpec
    config: HistoryNetConfig
    tabulated: bool = False
    lookup: Lookup | None = None

    def __post_init__(self) -> None:
        egocentric.check_view(self.spec, self.config)

    def init(self, key: jax.Array) -> HistoryParams:
        return history.init(key, self.spec, self.remembering)

    def begin(self) -> LstmState:
        return history.begin(self.remembering)

    def unroll(
        self, params: HistoryParams, state: LstmState, rollouts: Rollout, num_carried: int
    ) -> tuple[jax.Array, LstmState]:
        """Returns V before each of S consecutive steps and after the last, f32[S+1], and the state after
        `num_carried` of them.

        V before step t is the head on the state after step t−1; each step is consumed once.
        """
        unroll = history.unroll_tabulated if self.tabulated else history.unroll
        first = jax.tree.map(lambda x: x[:num_carried], rollouts)
        rest = jax.tree.map(lambda x: x[num_carried:], rollouts)
        hidden_first, carried = unroll(params, state, first, self.spec, self.remembering, self.lookup)
        hidden_rest, _ = unroll(params, carried, rest, self.spec, self.remembering, self.lookup)
        hidden = jnp.concatenate([state.hidden[None], hidden_first, hidden_rest])
        return history.head(params, hidden), carried

    @property
    def remembering(self) -> HistoryNetConfig:
        """The network's settings: the reward's, but always with a memory."""
        return dataclasses.replace(self.config, history="lstm")  # the ablation is of the reward alone
