"""eta and phi: Conv(16, 3, 1) – FC(64) – LSTM(64) over a lifetime's history, with a scalar head.

A step's input is what arriving told: the observation arrived in (through the torso), the
action that led there, the extrinsic reward and whether an episode ended. The recurrent state
runs over the whole lifetime and is never reset at an episode's end.
"""

import jax
import jax.numpy as jnp

from orexis.config import HistoryNetConfig, TaskSpec
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
    height, width, planes = spec.observation_shape
    key_conv, key_hidden, key_core, key_head = jax.random.split(key, 4)
    num_inputs = config.num_hidden + 2 + (spec.num_actions if config.sees_action else 0)
    core_init = lstm_init if config.history == "lstm" else dense_init
    return {
        "conv": conv_init(key_conv, planes, config.num_filters, config.conv_gain),
        "hidden": dense_init(key_hidden, height * width * config.num_filters, config.num_hidden, config.hidden_gain),
        "core": core_init(key_core, num_inputs, config.num_units),
        "head": dense_init(key_head, config.num_units, 1, config.head_gain),
    }


def begin(config: HistoryNetConfig) -> LstmState:
    """Returns the state at a lifetime's start: zero."""
    return lstm_begin(config.num_units)


def embed(params: HistoryParams, rollout: Rollout, num_actions: int, sees_action: bool) -> jax.Array:
    """Returns the core's inputs, f32[T, F], one for each arrival: torso features, reward, done, action."""
    features = _torso(params, rollout.arrival)
    return jnp.concatenate([features, _told(rollout, num_actions, sees_action, features.dtype)], axis=-1)


def unroll(
    params: HistoryParams, state: LstmState, rollout: Rollout, num_actions: int, config: HistoryNetConfig
) -> tuple[jax.Array, LstmState]:
    """Returns the core's outputs after each arrival, f32[T, U], and the state after the last.

    With `history="none"` the core is a dense layer that sees the current step only; the
    state is handed through untouched.
    """
    inputs = embed(params, rollout, num_actions, config.sees_action)
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
    return {"core": {"inputs": jnp.concatenate([rows, told]), **recurrent}, "head": params["head"]}


def unroll_tabulated(
    params: HistoryParams, state: LstmState, rollout: Rollout, num_actions: int, config: HistoryNetConfig
) -> tuple[jax.Array, LstmState]:
    """Returns what `unroll` does, from `tabulate`d parameters and a rollout whose arrivals are row numbers i32[T]."""
    core = params["core"]
    num_told = 2 + (num_actions if config.sees_action else 0)
    row = jax.nn.one_hot(rollout.arrival, core["inputs"].shape[0] - num_told)
    features = jnp.concatenate([row, _told(rollout, num_actions, config.sees_action, row.dtype)], axis=-1)
    projected = features @ core["inputs"]
    if config.history == "none":
        return jax.nn.relu(projected), state
    return lstm_run(core["wh"], state, projected)


def _torso(params: HistoryParams, observations: jax.Array) -> jax.Array:
    return jax.nn.relu(dense(params["hidden"], conv_flat(params["conv"], observations)))


def _told(rollout: Rollout, num_actions: int, sees_action: bool, dtype: jnp.dtype) -> jax.Array:
    """Returns what a step told beside the observation: reward, done and, if seen, the action; f32[T, 2 (+ A)]."""
    scalars = jnp.stack([rollout.reward, 1.0 - rollout.episode_goes_on], axis=-1).astype(dtype)
    if not sees_action:
        return scalars
    return jnp.concatenate([scalars, jax.nn.one_hot(rollout.action, num_actions, dtype=dtype)], axis=-1)
