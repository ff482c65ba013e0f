"""A stand-in for `stable_baselines3.common.vec_env`, as much of it as the reward wrapper touches.

Where Stable-Baselines3 is not installed the wrapper is tested on this; where it is, on the real one.
"""

from typing import Any

import numpy as np


class VecEnv:
    """The base; `unwrapped` is the innermost one."""

    @property
    def unwrapped(self) -> "VecEnv":
        return self

    def step(self, actions: np.ndarray) -> tuple:
        self.step_async(actions)
        return self.step_wait()


class DummyVecEnv(VecEnv):
    """Environments one after the other in this process, each reset as soon as its episode ends."""

    def __init__(self, makers: list):
        self.envs = [make() for make in makers]
        self.num_envs = len(self.envs)
        self.observation_space = self.envs[0].observation_space
        self.action_space = self.envs[0].action_space
        self.reset_infos: list[dict] = [{}] * self.num_envs
        self._forget_wishes()

    def _forget_wishes(self) -> None:
        self._seeds: list[int | None] = [None] * self.num_envs
        self._options: list[dict] = [{}] * self.num_envs

    def seed(self, seed: int) -> None:
        self._seeds = [seed + i for i in range(self.num_envs)]

    def set_options(self, options: Any) -> None:
        self._options = options if isinstance(options, list) else [options or {}] * self.num_envs

    def get_attr(self, name: str) -> list:
        return [getattr(env, name) for env in self.envs]

    def reset(self) -> np.ndarray:
        wishes = zip(self.envs, self._seeds, self._options, strict=True)
        seen, infos = zip(*(env.reset(seed=seed, options=options) for env, seed, options in wishes), strict=True)
        self.reset_infos = list(infos)
        self._forget_wishes()
        return np.stack(seen)

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = actions

    def step_wait(self) -> tuple:
        rows = []
        for i, env in enumerate(self.envs):
            seen, reward, terminated, truncated, info = env.step(self._actions[i])
            if terminated or truncated:
                info = {**info, "terminal_observation": seen}
                seen, self.reset_infos[i] = env.reset()
            rows.append((seen, reward, terminated or truncated, info))
        seen, rewards, dones, infos = zip(*rows, strict=True)
        return np.stack(seen), np.array(rewards, np.float32), np.array(dones), list(infos)


class VecEnvWrapper(VecEnv):
    """Hands everything on to the environment inside."""

    def __init__(self, venv: VecEnv):
        self.venv: Any = venv
        self.num_envs = self.venv.num_envs
        self.observation_space, self.action_space = self.venv.observation_space, self.venv.action_space

    @property
    def unwrapped(self) -> VecEnv:
        return self.venv.unwrapped

    def seed(self, seed: int | None = None) -> Any:
        return self.venv.seed(seed)

    def set_options(self, options: Any = None) -> None:
        return self.venv.set_options(options)

    def get_attr(self, name: str) -> list:
        return self.venv.get_attr(name)
