"""A learned reward for Stable-Baselines3: `VecIntrinsicReward(venv, "random-abc")`. Needs the extra `sb3`; no JAX."""

from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

from orexis.interop.mixing import Mode, check_fit, check_mode, image_of, mix, own_reward
from orexis.interop.numpy_reward import NumpyReward


class VecIntrinsicReward(VecEnvWrapper):
    """`orexis.interop.IntrinsicReward` for Stable-Baselines3's vector environments.

    `seed(...)` or `set_options({"new_lifetime": True})` makes the next `reset()` begin a lifetime, and so
    does an environment that says so by itself; a plain `reset()` and the resets between episodes do
    not. The reward sees `infos[i]["terminal_observation"]` where an episode ended. Every info has
    `extrinsic_reward` and `intrinsic_reward`.
    """

    def __init__(
        self, venv: VecEnv, reward: str | Path | NumpyReward, mode: Mode = "intrinsic", coefficient: float = 1.0
    ):
        super().__init__(venv)
        check_mode(mode)
        self.intrinsic = own_reward(reward)
        for metadata in venv.get_attr("metadata"):
            check_fit(self.intrinsic, venv.observation_space, venv.action_space, metadata)
        self.mode = mode
        self.coefficient = coefficient
        self._asked = np.ones(venv.num_envs, bool)  # the next reset begins a lifetime
        self._actions: Any = None
        self._seen: np.ndarray | None = None  # f32[E, H, W, C]  what the next actions are chosen on
        self.intrinsic.begin(venv.num_envs)

    def seed(self, seed: int | None = None) -> Any:
        self._asked[:] = True
        return super().seed(seed)

    def set_options(self, options: list[dict] | dict | None = None) -> None:
        each = options if isinstance(options, list) else [options] * self.num_envs
        self._asked |= [bool((one or {}).get("new_lifetime")) for one in each]
        super().set_options(options)

    def reset(self) -> Any:
        observations = self.venv.reset()
        self.intrinsic.forget(self._asked | self._said_new_lifetime())
        self._asked[:] = False
        self._seen = np.array(image_of(observations), np.float32)
        return observations

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = np.asarray(actions)
        self.venv.step_async(actions)

    def step_wait(self) -> Any:
        observations, extrinsic, dones, infos = self.venv.step_wait()
        following = np.array(image_of(observations), np.float32)
        next_observations = following.copy()
        for i in np.flatnonzero(dones):
            next_observations[i] = image_of(infos[i]["terminal_observation"])
        first = getattr(self.action_space, "start", 0)
        told = (self._actions - first, extrinsic, dones)
        intrinsic = self.intrinsic.step(next_observations, *told, observation=self._seen)
        self._seen = following
        self.intrinsic.forget(np.asarray(dones, bool) & self._said_new_lifetime())
        infos = [
            {**info, "extrinsic_reward": float(extrinsic[i]), "intrinsic_reward": float(intrinsic[i])}
            for i, info in enumerate(infos)
        ]
        return observations, np.asarray(mix(self.mode, self.coefficient, extrinsic, intrinsic)), dones, infos

    def _said_new_lifetime(self) -> np.ndarray:
        """Returns bool[E]: which environments said at their last reset that it began a lifetime."""
        return np.array([bool(info.get("new_lifetime")) for info in self.unwrapped.reset_infos])
