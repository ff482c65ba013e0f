"""eta and phi: Conv(16, 3, 1) – FC(64) – LSTM(64) over a lifetime's history, with a scalar head.

A step's input is what arriving told: the observation arrived in (through the torso), the
action that led there, the extrinsic reward and whether an episode ended. The recurrent state
runs over the whole lifetime and is never reset at an episode's end. With the egocentric view the torso is
FC(64) on what the step looked like from the agent, see `networks.egocentric`, and there is no convolution.
A network that sees a clock, `networks.clock`, counts the episodes that end and carries their number too; one that keeps
a ledger, `networks.ledger`, carries it.
"""

import dataclasses
from typing import TypeAlias, TypeGuard, cast

import jax
import jax.numpy as jnp

from orexis.config import HistoryNetConfig, TaskSpec
from orexis.networks import clock, egocentric, ledger
from orexis.networks.egocentric import Lookup
from orexis.networks.layers import (
    LstmState,
    Params,
    conv_flat,
    conv_init,
    dense,
    dense_init,
    lstm_begin,
    lstm_init,
    lstm_run,
    lstm_unroll,
    times,
)
from orexis.types import PyTree, Rollout, record

HistoryParams = dict[str, Params]


@record
class NotedState:
    """What a network that sees a clock or keeps a ledger carries over a lifetime; () for the one that it has not."""

    memory: LstmState
    ended: PyTree  # i32[]  episodes of the lifetime that have ended
    ledger: PyTree = ()  # f32[2, J]  see `networks.ledger`

    @property
    def hidden(self) -> jax.Array:
        return self.memory.hidden


HistoryState: TypeAlias = LstmState | NotedState


def init(key: jax.Array, spec: TaskSpec, config: HistoryNetConfig) -> HistoryParams:
    """Returns fresh parameters, the output head near zero. The key is consumed."""
    key_conv, key_hidden, key_core, key_head = jax.random.split(key, 4)
    num_inputs = config.num_hidden + egocentric.num_told(spec, config)
    core_init = lstm_init if config.history == "lstm" else dense_init
    return {
        **_torso_init(key_conv, key_hidden, spec, config),
        "core": core_init(key_core, num_inputs, config.num_units),
        "head": dense_init(key_head, config.num_units, 1, config.head_gain),
    }


def _torso_init(key_conv: jax.Array, key_hidden: jax.Array, spec: TaskSpec, config: HistoryNetConfig) -> HistoryParams:
    """Returns the torso's parameters: "conv" and "hidden", or "hidden" alone where it sees from the agent.

    One-hot features excite few of their inputs, on large grids fewer still. The default gain of 2 makes pre-activations
    of order one there: weights have the standard deviation gain / 2 / sqrt(excited inputs).
    """
    shape = spec.observation_shape
    if egocentric.replaces_planes(spec, config):
        num_features = egocentric.num_seen(spec, config)
        gain = config.hidden_gain / 2 * (num_features / egocentric.num_excited(shape)) ** 0.5
        return {"hidden": dense_init(key_hidden, num_features, config.num_hidden, gain)}
    num_flat = shape[0] * shape[1] * config.num_filters
    return {
        "conv": conv_init(key_conv, shape[2], config.num_filters, config.conv_gain),
        "hidden": dense_init(key_hidden, num_flat, config.num_hidden, config.hidden_gain),
    }


def begin(spec: TaskSpec, config: HistoryNetConfig) -> HistoryState:
    """Returns the state at a lifetime's start: zero."""
    memory = lstm_begin(config.num_units)
    if not (config.sees_clock or config.keeps_ledger):
        return memory
    return NotedState(
        memory,
        ended=jnp.zeros((), jnp.int32) if config.sees_clock else (),
        ledger=jnp.zeros((2, ledger.num_entries(spec.observation_shape))) if config.keeps_ledger else (),
    )


def begin_at(state: PyTree, episode: jax.Array) -> PyTree:
    """Returns the `state` of a newborn lifetime whose first episode is number `episode`, i32[]: its clock says so.

    The state of anything that has no clock, of whatever kind, as it is.
    """
    if not _has_clock(state):
        return state
    return dataclasses.replace(state, ended=jnp.asarray(episode, jnp.int32))


def embed(
    params: HistoryParams,
    state: HistoryState,
    rollout: Rollout,
    spec: TaskSpec,
    config: HistoryNetConfig,
    lookup: Lookup | None = None,
) -> tuple[jax.Array, HistoryState]:
    """Returns the core's inputs, f32[T, F], one for each arrival: torso features, reward, done, clock, action; and the
    state whose notes are those after the rollout, its memory still that of before.
    """
    noted = _note(state, rollout)
    if egocentric.replaces_planes(spec, config):
        seen = _seen_from_agent(rollout, spec, lookup)
        if config.keeps_ledger:
            ledgers = _keep_ledger(state, seen, rollout, spec)
            noted = dataclasses.replace(cast(NotedState, noted), ledger=ledgers[-1])
            seen = jnp.concatenate([seen, ledger.read(ledgers)], axis=-1)
        features = jax.nn.relu(dense(params["hidden"], seen))
    else:
        features = _torso(params, rollout.next_observation)
    return jnp.concatenate([features, _told(state, rollout, spec, config, lookup, features.dtype)], axis=-1), noted


def unroll(
    params: HistoryParams,
    state: HistoryState,
    rollout: Rollout,
    spec: TaskSpec,
    config: HistoryNetConfig,
    lookup: Lookup | None = None,
) -> tuple[jax.Array, HistoryState]:
    """Returns the core's outputs after each arrival, f32[T, U], and the state after the last.

    With `history="none"` the core is a dense layer that sees the current step only; the
    memory is handed through untouched. With `lookup` the rollout's observations are row numbers of a table: only where
    the torso sees from the agent, else see `unroll_tabulated`.
    """
    inputs, noted = embed(params, state, rollout, spec, config, lookup)
    if config.history == "none":
        return jax.nn.relu(dense(params["core"], inputs)), noted
    hidden, memory = lstm_unroll(params["core"], _memory(state), inputs)
    return hidden, _with_memory(noted, memory)


def head(params: HistoryParams, hidden: jax.Array) -> jax.Array:
    """Returns the scalar output f32[...] on core outputs f32[..., U]."""
    return dense(params["head"], hidden)[..., 0]


def tabulate(params: HistoryParams, observations: jax.Array, config: HistoryNetConfig) -> HistoryParams:
    """Returns the network for arrivals given as row numbers of a table, `observations` f32[S, H, W, C].

    The torso sees only S different things, so it is evaluated on each of them once, and pushed on
    through the core's input weights. What is left is linear in one-hot features,

        x·Wx + b  =  [one_hot(row), reward, done, one_hot(action)] · "inputs"     f32[S + 2 + A, 4·U]

    so that neither pass over a window touches the convolution: its gradient flows through this
    small matrix, once an update.
    """
    core = params["core"]
    weights = core["wx"] if config.history == "lstm" else core["w"]
    seen, told = jnp.split(weights, [config.num_hidden])
    hidden = params["hidden"]  # `_torso`, but by `times`: here the weights are not multiplied with all lifetimes' rows
    features = jax.nn.relu(times(conv_flat(params["conv"], observations), hidden["w"]) + hidden["b"])
    rows = times(features, seen) + core["b"]
    recurrent = {"wh": core["wh"]} if config.history == "lstm" else {}
    beyond = {name: layer for name, layer in params.items() if name not in ("conv", "hidden", "core")}
    return {"core": {"inputs": jnp.concatenate([rows, told]), **recurrent}, **beyond}


def unroll_tabulated(
    params: HistoryParams,
    state: HistoryState,
    rollout: Rollout,
    spec: TaskSpec,
    config: HistoryNetConfig,
    lookup: Lookup | None = None,
) -> tuple[jax.Array, HistoryState]:
    """Returns what `unroll` does, from `tabulate`d parameters and a rollout whose arrivals are row numbers i32[T].

    lookup: of the same table, needed where it is told whether the agent moved.
    """
    core = params["core"]
    row = jax.nn.one_hot(rollout.next_observation, core["inputs"].shape[0] - egocentric.num_told(spec, config))
    features = jnp.concatenate([row, _told(state, rollout, spec, config, lookup, row.dtype)], axis=-1)
    projected = features @ core["inputs"]
    if config.history == "none":
        return jax.nn.relu(projected), _note(state, rollout)
    hidden, memory = lstm_run(core["wh"], _memory(state), projected)
    return hidden, _with_memory(_note(state, rollout), memory)


def _memory(state: HistoryState) -> LstmState:
    return state.memory if isinstance(state, NotedState) else state


def _with_memory(state: HistoryState, memory: LstmState) -> HistoryState:
    return dataclasses.replace(state, memory=memory) if isinstance(state, NotedState) else memory


def _note(state: HistoryState, rollout: Rollout) -> HistoryState:
    """Returns the state with its clock, if it has one, moved on by the episodes that ended in `rollout`."""
    if not _has_clock(state):
        return state
    return dataclasses.replace(state, ended=state.ended + jnp.sum(_ends(rollout), dtype=jnp.int32))


def _has_clock(state: PyTree) -> TypeGuard[NotedState]:
    return isinstance(state, NotedState) and not isinstance(state.ended, tuple)


def _keep_ledger(state: PyTree, seen: jax.Array, rollout: Rollout, spec: TaskSpec) -> jax.Array:
    """Returns the ledger after each step, f32[T, 2, J], from what the steps looked like, f32[T, F]."""
    ended = 1.0 - rollout.episode_goes_on
    rows = (egocentric.standing_on(seen, spec.observation_shape), rollout.reward, ended)

    def keep(kept: jax.Array, row: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        following = ledger.write(kept, *row)
        return following, following

    return jax.lax.stop_gradient(jax.lax.scan(keep, state.ledger, rows)[1])


def _ends(rollout: Rollout) -> jax.Array:
    """Returns i32[T], 1 where the arrival ended an episode."""
    return (1.0 - rollout.episode_goes_on).astype(jnp.int32)


def _torso(params: HistoryParams, observations: jax.Array) -> jax.Array:
    return jax.nn.relu(dense(params["hidden"], conv_flat(params["conv"], observations)))


def _seen_from_agent(rollout: Rollout, spec: TaskSpec, lookup: Lookup | None) -> jax.Array:
    """Returns f32[T, F], see `networks.egocentric`."""
    before, after = rollout.observation[: rollout.next_observation.shape[0]], rollout.next_observation
    if lookup is not None:
        return lookup.features(before, after)
    assert spec.agent_plane is not None
    return egocentric.features(before, after, spec.agent_plane)


def _stayed(rollout: Rollout, spec: TaskSpec, lookup: Lookup | None) -> jax.Array:
    """Returns f32[T], 1 where the agent did not move."""
    before, after = rollout.observation[: rollout.next_observation.shape[0]], rollout.next_observation
    if lookup is not None:
        return lookup.stayed(before, after)
    assert spec.agent_plane is not None
    return egocentric.stayed(before, after, spec.agent_plane)


def _told(
    state: HistoryState,
    rollout: Rollout,
    spec: TaskSpec,
    config: HistoryNetConfig,
    lookup: Lookup | None,
    dtype: jnp.dtype,
) -> jax.Array:
    """Returns what a step told beside the observation, f32[T, 2 (+ 1) (+ 9) (+ A)]: reward, done, whether the agent did
    not move if the egocentric view joins the planes, the clock and the action if they are seen."""
    scalars = [rollout.reward, 1.0 - rollout.episode_goes_on]
    if egocentric.joins_planes(spec, config):
        scalars.append(_stayed(rollout, spec, lookup))
    told = [jnp.stack(scalars, axis=-1).astype(dtype)]
    if _has_clock(state):
        ends = _ends(rollout)
        before = state.ended + jnp.cumsum(ends, dtype=jnp.int32) - ends
        told.append(clock.features(before, spec.episodes_per_lifetime, dtype))
    if config.sees_action:
        told.append(jax.nn.one_hot(rollout.action, spec.num_actions, dtype=dtype))
    return jnp.concatenate(told, axis=-1)
