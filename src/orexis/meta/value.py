"""V_phi, the lifetime value: the extrinsic return still to come in this lifetime. It judges what eta brought about."""

import dataclasses

import jax
import jax.numpy as jnp

from orexis.config import HistoryNetConfig, TaskSpec
from orexis.networks import egocentric, history
from orexis.networks.egocentric import Lookup
from orexis.networks.history import HistoryParams, HistoryState
from orexis.networks.layers import dense, dense_init
from orexis.types import Alternatives, Rollout

NUM_JUDGES = 32
"""Units of the layer in which the memory and the privileged facts meet."""


@dataclasses.dataclass(frozen=True)
class LifetimeValue:
    """V before each step, from the reward's inputs and, if it is privileged, from facts that eta never sees.

        V_t = head([h_t, relu(W·[h_t, facts_t] + b)])        without facts: head(h_t)

    h_t is the LSTM's output after step t−1. `facts` are those of `meta.privilege` and of `meta.outer`.
    """

    spec: TaskSpec
    config: HistoryNetConfig
    tabulated: bool = False
    lookup: Lookup | None = None
    num_facts: int = 0  # 0: not privileged

    def __post_init__(self) -> None:
        egocentric.check_view(self.spec, self.config)

    def init(self, key: jax.Array) -> HistoryParams:
        if not self.num_facts:
            return history.init(key, self.spec, self.remembering)
        key_history, key_judges, key_head = jax.random.split(key, 3)
        units = self.config.num_units
        return {
            **history.init(key_history, self.spec, self.remembering),
            "judges": dense_init(key_judges, units + self.num_facts, NUM_JUDGES, gain=2.0),
            "head": dense_init(key_head, units + NUM_JUDGES, 1, self.config.head_gain),
        }

    def begin(self) -> HistoryState:
        return history.begin(self.spec, self.remembering)

    def unroll(
        self,
        params: HistoryParams,
        state: HistoryState,
        rollouts: Rollout,
        num_carried: int,
        facts: jax.Array | tuple[()] = (),
    ) -> tuple[jax.Array, HistoryState]:
        """Returns V before each of S consecutive steps and after the last, f32[S+1], and the state after
        `num_carried` of them.

        V before step t is the head on the state after step t−1; each step is consumed once. facts f32[S+1, K].
        """
        first = jax.tree.map(lambda x: x[:num_carried], rollouts)
        rest = jax.tree.map(lambda x: x[num_carried:], rollouts)
        hidden_first, carried = self.remember(params, state, first)
        hidden_rest, _ = self.remember(params, carried, rest)
        hidden = jnp.concatenate([state.hidden[None], hidden_first, hidden_rest])
        return self.judge(params, hidden, facts), carried

    def judge(self, params: HistoryParams, hidden: jax.Array, facts: jax.Array | tuple[()] = ()) -> jax.Array:
        """Returns V f32[...] on the LSTM's outputs f32[..., U] and facts f32[..., K]."""
        if isinstance(facts, tuple):
            return history.head(params, hidden)
        judged = jax.nn.relu(dense(params["judges"], jnp.concatenate([hidden, facts.astype(hidden.dtype)], axis=-1)))
        return history.head(params, jnp.concatenate([hidden, judged], axis=-1))

    def foresee(
        self,
        params: HistoryParams,
        state: HistoryState,
        rollouts: Rollout,
        alternatives: Alternatives,
        facts: jax.Array | tuple[()] = (),
    ) -> jax.Array:
        """Returns V after each of the A steps that could have been taken at each of S steps, f32[S, A]: a constant.

        state: before the first of the steps. facts f32[S, A, K]: after each of the alternatives.
        """
        params, state = jax.lax.stop_gradient((params, state))
        num_actions = alternatives.reward.shape[1]

        def try_all(state: HistoryState, row: tuple[Rollout, Alternatives]) -> tuple[HistoryState, jax.Array]:
            step, others = row

            def try_one(action: jax.Array, other: Alternatives) -> jax.Array:
                instead = dataclasses.replace(
                    step,
                    next_observation=other.next_observation,
                    action=action,
                    reward=other.reward,
                    episode_goes_on=other.episode_goes_on,
                )
                return self.remember(params, state, jax.tree.map(lambda x: x[None], instead))[0][0]

            outputs = jax.vmap(try_one)(jnp.arange(num_actions, dtype=step.action.dtype), others)
            return self.remember(params, state, jax.tree.map(lambda x: x[None], step))[1], outputs

        rows = (rollouts, dataclasses.replace(alternatives, hints=()))
        _, outputs = jax.lax.scan(try_all, state, rows)  # f32[S, A, U]
        return jax.lax.stop_gradient(self.judge(params, outputs, facts))

    def remember(self, params: HistoryParams, state: HistoryState, rollout: Rollout) -> tuple[jax.Array, HistoryState]:
        """Returns the LSTM's outputs after each step, f32[T, U], and the state after the last; T may be 0."""
        if not rollout.action.shape[0]:
            return state.hidden[None][:0], state
        unroll = history.unroll_tabulated if self.tabulated else history.unroll
        return unroll(params, state, rollout, self.spec, self.remembering, self.lookup)

    @property
    def remembering(self) -> HistoryNetConfig:
        """The network's settings: the reward's, but always with a memory."""
        return dataclasses.replace(self.config, history="lstm")  # the ablation is of the reward alone
