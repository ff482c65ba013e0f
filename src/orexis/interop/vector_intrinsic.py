"""Many Gymnasium environments that pay a learned reward: `VectorIntrinsicReward(envs, "random-abc")`. No JAX."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper

from orexis.interop.mixing import Mode, check_fit, check_mode, image_of, mix, own_reward
from orexis.interop.numpy_reward import NumpyReward


class VectorIntrinsicReward(VectorWrapper):
    """`IntrinsicReward` for a vector environment, whichever way it resets; `infos` has both rewards, f[E].

    A step on which an environment only resets (Gymnasium's NEXT_STEP mode) is no step of its
    lifetime: the reward neither sees nor pays it.
    """

    def __init__(
        self,
        env: VectorEnv,
        reward: str | Path | NumpyReward,
        mode: Mode = "intrinsic",
        coefficient: float = 1.0,
    ):
        super().__init__(env)
        check_mode(mode)
        self.intrinsic = own_reward(reward)
        check_fit(self.intrinsic, env.single_observation_space, env.single_action_space, env.metadata)
        self.mode = mode
        self.coefficient = coefficient
        self.autoreset_mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        self._resetting = np.zeros(env.num_envs, bool)  # those that only reset in the next step
        self._begun = False
        self._seen: np.ndarray | None = None  # f32[E, H, W, C]  what the next actions are chosen on

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        observations, infos = self.env.reset(seed=cast(Any, seed), options=options)
        options = options or {}
        concerned = np.asarray(options.get("reset_mask", np.ones(self.num_envs, bool)), bool)
        if not self._begun:
            self.intrinsic.begin(self.num_envs)
            self._begun = True
        seeded = np.full(self.num_envs, seed is not None)
        if isinstance(seed, Sequence):
            seeded = np.array([each is not None for each in seed])
        asked = concerned & (seeded | bool(options.get("new_lifetime")))
        self.intrinsic.forget(asked | _began_a_lifetime(infos, self.num_envs))
        self._resetting &= ~concerned
        self._seen = _copy(observations)
        return observations, infos

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        observations, extrinsic, terminated, truncated, infos = self.env.step(actions)
        over, happened = terminated | truncated, ~self._resetting
        first = getattr(self.env.single_action_space, "start", 0)
        next_observations = _next_observations(observations, infos)
        told = (np.asarray(actions) - first, extrinsic, over, happened)
        intrinsic = self.intrinsic.step(next_observations, *told, observation=self._seen)
        self._seen = _copy(observations)
        self.intrinsic.forget(_began_a_lifetime(infos, self.num_envs))
        self._resetting = over if self.autoreset_mode == AutoresetMode.NEXT_STEP else np.zeros_like(over)
        infos = {**infos, "extrinsic_reward": np.array(extrinsic), "_extrinsic_reward": happened}
        infos |= {"intrinsic_reward": intrinsic, "_intrinsic_reward": happened.copy()}
        paid = np.asarray(mix(self.mode, self.coefficient, extrinsic, intrinsic), np.float64)
        return observations, paid, terminated, truncated, infos


def _copy(observations: Any) -> np.ndarray:
    """Returns what is seen as arrays of our own: environments may write the next observations over these."""
    return np.array(image_of(observations), np.float32)


def _next_observations(observations: Any, infos: dict[str, Any]) -> np.ndarray:
    """Returns what was arrived in, f32[E, H, W, C]: the final observation where an environment has reset already."""
    next_observations = np.asarray(image_of(observations))
    if "final_obs" not in infos:
        return next_observations
    next_observations, final = (
        next_observations.copy(),
        image_of(infos["final_obs"]),
    )  # dicts come batched or one by one
    for i in np.flatnonzero(infos["_final_obs"]):
        next_observations[i] = image_of(final[i])
    return next_observations


def _began_a_lifetime(infos: dict[str, Any], num_envs: int) -> np.ndarray:
    """Returns bool[E]: which environments say that a lifetime began with what they now show."""
    said = np.asarray(infos.get("new_lifetime", np.zeros(num_envs, bool)), bool)
    return said & np.asarray(infos.get("_new_lifetime", np.ones(num_envs, bool)), bool)
