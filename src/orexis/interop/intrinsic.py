"""A Gymnasium environment that pays a learned reward: `IntrinsicReward(env, "random-abc")`. Imports no JAX."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import RecordConstructorArgs

from orexis.interop.mixing import Mode, check_fit, check_mode, image_of, mix, own_reward
from orexis.interop.numpy_reward import NumpyReward


class IntrinsicReward(gymnasium.Wrapper, RecordConstructorArgs):
    """Pays `reward`, a shipped name, a folder or a loaded reward, in place of the environment's or beside it.

    mode: "intrinsic" pays coefficient · intrinsic; "sum" the extrinsic reward + coefficient · intrinsic;
    "extrinsic" what the environment pays. In every mode `info` has `extrinsic_reward` and `intrinsic_reward`.

    `reset(seed=...)` and `reset(options={"new_lifetime": True})` begin a lifetime, and so does an environment
    that says so by itself (`info["new_lifetime"]`); a plain `reset()` does not: the reward
    remembers through the ends of episodes. It sees the terminal observation, never the reset one as an arrival.
    """

    def __init__(
        self,
        env: gymnasium.Env,
        reward: str | Path | NumpyReward,
        mode: Mode = "intrinsic",
        coefficient: float = 1.0,
    ):
        RecordConstructorArgs.__init__(self, reward=reward, mode=mode, coefficient=coefficient)
        gymnasium.Wrapper.__init__(self, env)
        check_mode(mode)
        self.intrinsic = own_reward(reward)
        check_fit(self.intrinsic, env.observation_space, env.action_space, env.metadata)
        self.mode = mode
        self.coefficient = coefficient
        self._begun = False
        self._seen: np.ndarray | None = None  # f32[1, H, W, C]  what the next action is chosen on

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        asked = seed is not None or (options or {}).get("new_lifetime")
        if asked or not self._begun or info.get("new_lifetime"):
            self.intrinsic.begin(1)
            self._begun = True
        self._seen = np.array(image_of(observation), np.float32)[None]
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, extrinsic, terminated, truncated, info = self.env.step(action)
        first = getattr(self.env.action_space, "start", 0)
        told = (np.array([action - first]), np.array([extrinsic]), np.array([terminated or truncated]))
        next_observation = np.array(image_of(observation), np.float32)[None]
        intrinsic = float(self.intrinsic.step(next_observation, *told, observation=self._seen)[0])
        self._seen = next_observation
        info = {**info, "extrinsic_reward": float(extrinsic), "intrinsic_reward": intrinsic}
        paid = float(mix(self.mode, self.coefficient, extrinsic, intrinsic))
        return observation, paid, terminated, truncated, info
