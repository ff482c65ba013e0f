"""RL²: a policy that learns in its memory, an LSTM over the lifetime's history (Duan et al., 2016; Wang et al., 2016).

A step's input is the observation acted on (through the torso) and what the last step told: its action, its reward and
whether it ended an episode. The memory runs over the whole lifetime. The network is the reward's but for its head:
Conv(16, 3, 1) – FC(64) – LSTM(64) – logits. It needs no rewards and no updates: whatever it is paid, it is the same.
"""

import dataclasses
import math

import jax
import jax.numpy as jnp

from orexis.agents.sampling import choose
from orexis.config import HistoryNetConfig, TaskSpec
from orexis.networks import clock, history
from orexis.networks.history import HistoryParams, HistoryState
from orexis.networks.layers import Params, dense, dense_init
from orexis.rewards.base import Returns
from orexis.types import Last, PyTree, Rollout, record

LONGEST = 100.0  # steps that a unit remembers at first, at most
CALMER = 0.2  # how much smaller the first weights of its input and forget gates are
LOUDER = 4.0  # how much larger the first weights are of what the last step told


@record
class Rl2State:
    params: HistoryParams  # never changed in a lifetime
    memory: HistoryState


@dataclasses.dataclass(frozen=True)
class Rl2:
    """The policy as an agent; `learned` are its parameters."""

    spec: TaskSpec
    config: HistoryNetConfig
    rollout_length: int = 4
    tabulated: bool = False  # observations are row numbers and params went through `history.tabulate`

    def __post_init__(self) -> None:
        clock.check_policy(self.config)

    def init_params(self, key: jax.Array) -> HistoryParams:
        """Returns fresh parameters, the memory's made to last. The key is consumed."""
        key_history, key_head, key_times = jax.random.split(key, 3)
        params = history.init(key_history, self.spec, self.config)
        head = dense_init(key_head, self.config.num_units, self.spec.num_actions, self.config.head_gain)
        core = self._lasting(params["core"], key_times) if self.config.history == "lstm" else params["core"]
        return {**params, "core": core, "head": head}

    def _lasting(self, core: Params, key: jax.Array) -> Params:
        """Returns an LSTM whose units remember from 2 to `LONGEST` steps and hear what the last step told.

        With forget biases of 1 a unit keeps 0.73 of its cell a step: a reward is forgotten before the next episode is
        over, and no gradient tells that it would have been of use. So biases of the forget gates are spread from 0 to
        log(LONGEST − 1), those of the input gates the opposite (as in chrono initialisation, Tallec & Ollivier, 2018),
        and what a step shows moves these two gates `CALMER`: a cell is then a running mean and does not saturate. What
        the last step told is a few of some seventy inputs: their weights are larger.
        """
        units = self.config.num_units
        times = jax.random.uniform(key, (units,), maxval=math.log(LONGEST - 1.0))
        told = jnp.where(jnp.arange(core["wx"].shape[0]) < self.config.num_hidden, 1.0, LOUDER)
        gates = jnp.where(jnp.arange(4 * units) < 2 * units, CALMER, 1.0)  # input and forget, candidate and output
        bias = core["b"].at[:units].set(-times).at[units : 2 * units].set(times)
        return {"wx": core["wx"] * told[:, None] * gates, "wh": core["wh"] * gates, "b": bias}

    def init(self, key: jax.Array, learned: PyTree = ()) -> Rl2State:
        params = self.init_params(key) if isinstance(learned, tuple) else learned
        return Rl2State(params=params, memory=history.begin(self.spec, self.config))

    def act(
        self, state: Rl2State, observation: jax.Array, last: Last, key: jax.Array
    ) -> tuple[jax.Array, jax.Array, jax.Array, Rl2State]:
        logits, memory = self.unroll(state.params, state.memory, _step(observation, last))
        return choose(logits[0], key), jnp.zeros(()), logits[0], dataclasses.replace(state, memory=memory)

    def update(self, state: Rl2State, rollout: Rollout, rewards: jax.Array, returns: Returns) -> Rl2State:
        del rollout, rewards, returns
        return state

    def unroll(self, params: HistoryParams, memory: HistoryState, steps: Rollout) -> tuple[jax.Array, HistoryState]:
        """Returns the logits f32[T, A] of T steps as `see_steps` shows them, and the memory after the last."""
        unroll = history.unroll_tabulated if self.tabulated else history.unroll
        hidden, memory = unroll(params, memory, steps, self.spec, self.config)
        return dense(params["head"], hidden), memory


def see_steps(rollout: Rollout, before: Last) -> Rollout:
    """Returns the steps of a rollout as the policy meets them: row t holds the observation acted on as the one arrived
    in, and what step t − 1 told. `before`: what was told before the first."""

    def shift(first: jax.Array, rows: jax.Array) -> jax.Array:
        return jnp.concatenate([first[None].astype(rows.dtype), rows[:-1]])

    return dataclasses.replace(
        rollout,
        next_observation=rollout.observation[:-1],
        action=shift(before.action, rollout.action),
        reward=shift(before.reward, rollout.reward),
        episode_goes_on=shift(1.0 - before.done, rollout.episode_goes_on),
    )


def _step(observation: jax.Array, last: Last) -> Rollout:
    """Returns `see_steps` of a single step, which is yet to be taken."""
    nothing = jnp.ones(1)
    return Rollout(
        observation=observation[None],
        next_observation=observation[None],
        action=last.action[None],
        reward=last.reward[None],
        episode_goes_on=1.0 - last.done[None],
        lifetime_goes_on=nothing,
        in_lifetime=nothing,
        value=nothing,
    )
