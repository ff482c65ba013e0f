"""Curiosity: the extrinsic reward and, on top, how badly a model foresaw the arrival (Pathak et al., 2017)."""

import dataclasses

import jax
import jax.numpy as jnp

from orexis.config import CuriosityConfig, TaskSpec
from orexis.networks.layers import Params, conv_flat, conv_init, dense, dense_init
from orexis.optimizers import Adam
from orexis.rewards.base import Returns
from orexis.types import PyTree, Rollout, record

Models = dict[str, Params]


@record
class IcmState:
    """What a lifetime has learned about its world."""

    models: Models
    optimizer: PyTree


@dataclasses.dataclass(frozen=True)
class Icm:
    """r_t = extrinsic + scale · ½‖f̂_{t+1} − f_{t+1}‖², with features f learned in this lifetime.

    Two models share the features f(s), which have unit length: the inverse one tells the action from f_t and
    f_{t+1}, the forward one foresees f_{t+1} from f_t and the action. Features learn from the inverse model alone,
    so that they keep what the agent can influence; the forward model learns to foresee them as they are. One step of
    Adam for each rollout, after it was paid.
    """

    spec: TaskSpec
    config: CuriosityConfig
    scale: float = dataclasses.field(compare=False)  # becomes the params: a compiled program serves every scale
    returns: Returns = Returns()

    def init(self, key: jax.Array) -> jax.Array:
        """Returns the scale, f32[]."""
        del key
        return jnp.float32(self.scale)

    def begin(self, params: jax.Array, key: jax.Array) -> IcmState:
        del params
        models = self._init_models(key)
        return IcmState(models=models, optimizer=self._optimizer().init(models))

    def unroll(self, params: jax.Array, state: IcmState, rollout: Rollout) -> tuple[jax.Array, IcmState]:
        mask = rollout.in_lifetime

        def loss(models: Models) -> tuple[jax.Array, jax.Array]:
            errors, surprisal = self.judge(models, rollout)
            return jnp.sum(mask * (errors + surprisal)), errors

        grads, errors = jax.grad(loss, has_aux=True)(state.models)
        models, optimizer = self._optimizer().update(grads, state.optimizer, state.models)
        return rollout.reward + params * mask * errors, IcmState(models=models, optimizer=optimizer)

    def judge(self, models: Models, rollout: Rollout) -> tuple[jax.Array, jax.Array]:
        """Returns the forward model's error ½‖f̂ − f‖² and the inverse model's −log p(action), f32[T] each."""
        before, after = (
            self._features(models, rollout.observation[:-1]),
            self._features(models, rollout.next_observation),
        )
        taken = jax.nn.one_hot(rollout.action, self.spec.num_actions)
        told = _perceptron(models, "inverse", jnp.concatenate([before, after], axis=-1))
        surprisal = -jnp.sum(taken * jax.nn.log_softmax(told), axis=-1)
        known = jax.lax.stop_gradient((before, after))
        foreseen = _perceptron(models, "forward", jnp.concatenate([known[0], taken], axis=-1))
        return 0.5 * jnp.sum(jnp.square(foreseen - known[1]), axis=-1), surprisal

    def _features(self, models: Models, observations: jax.Array) -> jax.Array:
        """Returns f32[T, F], of unit length: an error cannot grow with the features."""
        features = dense(models["features"], conv_flat(models["conv"], observations))
        return features * jax.lax.rsqrt(jnp.sum(jnp.square(features), axis=-1, keepdims=True) + 1e-6)

    def _init_models(self, key: jax.Array) -> Models:
        height, width, planes = self.spec.observation_shape
        config, keys = self.config, jax.random.split(key, 6)
        num_features, num_actions = config.num_features, self.spec.num_actions
        num_cells = height * width * config.num_filters
        return {
            "conv": conv_init(keys[0], planes, config.num_filters, gain=3.0),  # one-hot planes excite few inputs
            "features": dense_init(keys[1], num_cells, num_features),
            "inverse hidden": dense_init(keys[2], 2 * num_features, config.num_hidden, gain=2.0),
            "inverse out": dense_init(keys[3], config.num_hidden, num_actions),
            "forward hidden": dense_init(keys[4], num_features + num_actions, config.num_hidden, gain=2.0),
            "forward out": dense_init(keys[5], config.num_hidden, num_features),
        }

    def _optimizer(self) -> Adam:
        return Adam(self.config.learning_rate)


def _perceptron(models: Models, name: str, inputs: jax.Array) -> jax.Array:
    return dense(models[f"{name} out"], jax.nn.relu(dense(models[f"{name} hidden"], inputs)))
