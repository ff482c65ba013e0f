"""The learned intrinsic reward r_eta and its companion, the lifetime value function V_phi."""

import dataclasses

import jax
import jax.numpy as jnp

from orexis.config import HistoryNetConfig, TaskSpec
from orexis.networks import history
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

    def init(self, key: jax.Array) -> HistoryParams:
        return history.init(key, self.spec, self.config)

    def begin(self, params: HistoryParams, key: jax.Array) -> LstmState:
        del params, key
        return history.begin(self.config)

    def unroll(self, params: HistoryParams, state: LstmState, rollout: Rollout) -> tuple[jax.Array, LstmState]:
        hidden, state = history.unroll(params, state, rollout, self.spec.num_actions, self.config)
        return jnp.arctan(history.head(params, hidden)), state


@dataclasses.dataclass(frozen=True)
class LifetimeValue:
    """V_phi before each step: the extrinsic return still to come in this lifetime. Takes the reward's inputs."""

    spec: TaskSpec
    config: HistoryNetConfig

    def init(self, key: jax.Array) -> HistoryParams:
        return history.init(key, self.spec, self._config)

    def begin(self) -> LstmState:
        return history.begin(self._config)

    def unroll(
        self, params: HistoryParams, state: LstmState, rollouts: Rollout, num_carried: int
    ) -> tuple[jax.Array, LstmState]:
        """Returns V before each of S consecutive steps and after the last, f32[S+1], and the state after
        `num_carried` of them.

        V before step t is the head on the state after step t−1; each step is consumed once.
        """
        first = jax.tree.map(lambda x: x[:num_carried], rollouts)
        rest = jax.tree.map(lambda x: x[num_carried:], rollouts)
        hidden_first, carried = history.unroll(params, state, first, self.spec.num_actions, self._config)
        hidden_rest, _ = history.unroll(params, carried, rest, self.spec.num_actions, self._config)
        hidden = jnp.concatenate([state.hidden[None], hidden_first, hidden_rest])
        return history.head(params, hidden), carried

    @property
    def _config(self) -> HistoryNetConfig:
        return dataclasses.replace(self.config, history="lstm")  # the ablation is of the reward alone
