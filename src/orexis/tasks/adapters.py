"""Tasks made of gymnax environments: an environment, and how its parameters are drawn once a lifetime.

    def wind(key, params):
        return params.replace(force_mag=jax.random.uniform(key, minval=5.0, maxval=15.0))

    def windy_cart_pole():
        return from_gymnax("CartPole-v1", wind, episodes=50)

    orexis train my_module:windy_cart_pole

Needs the extra `gymnax` only where an environment is named by its id.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from orexis.config import TaskSpec
from orexis.types import PyTree, record


@record
class GymnaxState:
    inner: PyTree  # gymnax's own
    observation: jax.Array  # f32[H, W, C]  made when the state was: environments tell it once


def keep_params(key: jax.Array, params: PyTree) -> PyTree:
    """Returns `params` unchanged: every lifetime is the same task."""
    del key
    return params


@dataclasses.dataclass(frozen=True)
class GymnaxTask:
    """A gymnax environment whose parameters `sample_params(key, default parameters)` draws once a lifetime.

    What gymnax does beside the dynamics is left out: it would reset by itself. Steps of five values
    (gymnax 0.x: done) and of six (terminated, truncated) are understood; either end ends the episode. An observation
    that is no image becomes one: [H, W] gets one plane, [n] is a row of n cells with one plane, more than three
    axes are flattened to such a row.
    """

    environment: Any
    sample_params: Callable[[jax.Array, PyTree], PyTree] = keep_params
    episodes: int = 50
    time_limit: int | None = None  # default: the environment's own

    def __post_init__(self) -> None:
        name = type(self.environment).__name__
        if not hasattr(self.environment, "step_env"):
            raise ValueError(f"{name} is no gymnax environment: it has no step_env")
        if not hasattr(self.environment.action_space(self._default), "n"):
            raise ValueError(f"the actions of {name} are not discrete, and agents here choose among discrete ones")
        if self.time_limit is None and not hasattr(self._default, "max_steps_in_episode"):
            raise ValueError(f"{name} has no time limit of its own: give one, time_limit=...")

    @functools.cached_property
    def spec(self) -> TaskSpec:
        limit = self.time_limit if self.time_limit is not None else int(self._default.max_steps_in_episode)
        seen = jax.eval_shape(lambda: self._see(self._reset(jax.random.key(0), self._default)[0]))
        return TaskSpec(
            num_actions=int(self.environment.action_space(self._default).n),
            observation_shape=seen.shape,
            time_limit=limit,
            episodes_per_lifetime=self.episodes,
        )

    def sample(self, key: jax.Array) -> PyTree:
        return jax.tree.map(jnp.asarray, self.sample_params(key, self._default))

    def reset(self, key: jax.Array, params: PyTree, episode: jax.Array) -> GymnaxState:
        del episode
        observation, inner = self._reset(key, params)
        return GymnaxState(inner=jax.tree.map(jnp.asarray, inner), observation=self._see(observation))

    def step(
        self, key: jax.Array, params: PyTree, state: GymnaxState, action: jax.Array
    ) -> tuple[GymnaxState, jax.Array, jax.Array]:
        values = self.environment.step_env(key, state.inner, action, params)
        observation, inner, reward, ended = values[:4]
        if len(values) == 6:
            ended = ended | values[4]
        elif len(values) != 5:
            raise ValueError(f"step_env must return 5 or 6 values, not {len(values)}")
        if hasattr(self.environment, "is_truncated"):
            ended = ended | self.environment.is_truncated(inner, params)
        same_types = jax.tree.map(lambda new, old: jnp.asarray(new, old.dtype), inner, state.inner)
        following = GymnaxState(inner=same_types, observation=self._see(observation))
        return following, jnp.asarray(reward, jnp.float32).reshape(()), jnp.asarray(ended, bool).reshape(())

    def observe(self, params: PyTree, state: GymnaxState) -> jax.Array:
        del params
        return state.observation

    @property
    def _default(self) -> PyTree:
        return self.environment.default_params

    def _reset(self, key: jax.Array, params: PyTree) -> tuple[PyTree, PyTree]:
        return self.environment.reset_env(key, params)

    def _see(self, observation: PyTree) -> jax.Array:
        """Returns an observation as f32[H, W, C]."""
        if not hasattr(observation, "shape"):
            raise ValueError(f"the observation must be one array, not {type(observation).__name__}")
        image = jnp.asarray(observation, jnp.float32)
        if image.ndim == 2:
            return image[:, :, None]
        return image if image.ndim == 3 else image.reshape(1, -1, 1)


def from_gymnax(
    environment: Any,
    sample_params: Callable[[jax.Array, PyTree], PyTree] = keep_params,
    *,
    episodes: int = 50,
    time_limit: int | None = None,
    **options: Any,
) -> GymnaxTask:
    """Returns the task of a gymnax environment, given as its id (`options` go to gymnax.make) or as an object."""
    if isinstance(environment, str):
        try:
            import gymnax  # type: ignore[import-not-found, unused-ignore]
        except ImportError as error:
            raise ValueError(f"{environment} needs gymnax ({error}): pip install 'orexis[gymnax]'") from error
        environment, _ = gymnax.make(environment, **options)
    return GymnaxTask(environment, sample_params, episodes, time_limit)
