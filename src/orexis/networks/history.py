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
    lstm_unroll,
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
    """Returns the core's inputs, f32[T, F], one for each arrival."""
    features = jax.nn.relu(dense(params["hidden"], conv_flat(params["conv"], rollout.arrival)))
    scalars = jnp.stack([rollout.reward, 1.0 - rollout.episode_goes_on], axis=-1)
    parts = [features, scalars]
    if sees_action:
        parts.append(jax.nn.one_hot(rollout.action, num_actions))
    return jnp.concatenate(parts, axis=-1)


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
