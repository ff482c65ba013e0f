"""eta and phi: Conv(16, 3, 1) – FC(64) – LSTM(64) over a lifetime's history, with a scalar head.

A step's input is what arriving told: the observation arrived in (through the torso), the
action that led there, the extrinsic reward and whether an episode ended. The recurrent state
runs over the whole lifetime and is never reset at an episode's end. With the egocentric view the torso is
FC(64) on what the step looked like from the agent, see `networks.egocentric`, and there is no convolution.
"""

import jax
import jax.numpy as jnp

from orexis.config import HistoryNetConfig, TaskSpec
from orexis.networks import egocentric
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
from orexis.types import Rollout

HistoryParams = dict[str, Params]


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
        num_features = egocentric.num_features(shape)
        gain = config.hidden_gain / 2 * (num_features / egocentric.num_excited(shape)) ** 0.5
        return {"hidden": dense_init(key_hidden, num_features, config.num_hidden, gain)}
    num_flat = shape[0] * shape[1] * config.num_filters
    return {
        "conv": conv_init(key_conv, shape[2], config.num_filters, config.conv_gain),
        "hidden": dense_init(key_hidden, num_flat, config.num_hidden, config.hidden_gain),
    }


def begin(config: HistoryNetConfig) -> LstmState:
    """Returns the state at a lifetime's start: zero."""
    return lstm_begin(config.num_units)


def embed(
    params: HistoryParams, rollout: Rollout, spec: TaskSpec, config: HistoryNetConfig, lookup: Lookup | None = None
) -> jax.Array:
    """Returns the core's inputs, f32[T, F], one for each arrival: torso features, reward, done, action."""
    if egocentric.replaces_planes(spec, config):
        features = jax.nn.relu(dense(params["hidden"], _seen_from_agent(rollout, spec, lookup)))
    else:
        features = _torso(params, rollout.next_observation)
    return jnp.concatenate([features, _told(rollout, spec, config, lookup, features.dtype)], axis=-1)


def unroll(
    params: HistoryParams,
    state: LstmState,
    rollout: Rollout,
    spec: TaskSpec,
    config: HistoryNetConfig,
    lookup: Lookup | None = None,
) -> tuple[jax.Array, LstmState]:
    """Returns the core's outputs after each arrival, f32[T, U], and the state after the last.

    With `history="none"` the core is a dense layer that sees the current step only; the
    state is handed through untouched. With `lookup` the rollout's observations are row numbers of a table: only where
    the torso sees from the agent, else see `unroll_tabulated`.
    """
    inputs = embed(params, rollout, spec, config, lookup)
    if config.history == "none":
        return jax.nn.relu(dense(params["core"], inputs)), state
    return lstm_unroll(params["core"], state, inputs)


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
    state: LstmState,
    rollout: Rollout,
    spec: TaskSpec,
    config: HistoryNetConfig,
    lookup: Lookup | None = None,
) -> tuple[jax.Array, LstmState]:
    """Returns what `unroll` does, from `tabulate`d parameters and a rollout whose arrivals are row numbers i32[T].

    lookup: of the same table, needed where it is told whether the agent moved.
    """
    core = params["core"]
    row = jax.nn.one_hot(rollout.next_observation, core["inputs"].shape[0] - egocentric.num_told(spec, config))
    features = jnp.concatenate([row, _told(rollout, spec, config, lookup, row.dtype)], axis=-1)
    projected = features @ core["inputs"]
    if config.history == "none":
        return jax.nn.relu(projected), state
    return lstm_run(core["wh"], state, projected)


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
    rollout: Rollout, spec: TaskSpec, config: HistoryNetConfig, lookup: Lookup | None, dtype: jnp.dtype
) -> jax.Array:
    """Returns what a step told beside the observation, f32[T, 2 (+ 1) (+ A)]: reward, done, whether the agent did not
    move if the egocentric view joins the planes, and the action if it is seen."""
    scalars = [rollout.reward, 1.0 - rollout.episode_goes_on]
    if egocentric.joins_planes(spec, config):
        scalars.append(_stayed(rollout, spec, lookup))
    told = jnp.stack(scalars, axis=-1).astype(dtype)
    if not config.sees_action:
        return told
    return jnp.concatenate([told, jax.nn.one_hot(rollout.action, spec.num_actions, dtype=dtype)], axis=-1)
