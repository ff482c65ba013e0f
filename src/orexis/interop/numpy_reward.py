"""A learned reward in plain NumPy: for agents that have no JAX in their process.

    reward = orexis.load_reward("random-abc")
    reward.begin(num_envs=8)                                        # once a lifetime
    intrinsic = reward.step(arrival, action, extrinsic, done)       # each step, f32[num_envs]

The memory runs over the whole lifetime: call `begin` when new agents are born, never at an
episode's end. `arrival` is the observation arrived in, the terminal one where an episode ended.
"""

from pathlib import Path

import numpy as np

from orexis.config import HistoryNetConfig, TaskSpec
from orexis.zoo.artefact import Artefact
from orexis.zoo.shelf import open_reward


class NumpyReward:
    """The reward of an artefact, for `num_envs` lifetimes side by side."""

    def __init__(self, artefact: Artefact):
        self.artefact = artefact
        self.spec: TaskSpec = artefact.spec
        self.network: HistoryNetConfig = artefact.network
        self._params = artefact.params
        self._hidden = self._cell = np.zeros((0, 0), np.float32)

    def begin(self, num_envs: int = 1) -> None:
        """Starts a new lifetime in each of `num_envs` environments: everything remembered is forgotten."""
        if num_envs < 1:
            raise ValueError(f"num_envs must be at least 1, not {num_envs}")
        self._hidden = np.zeros((num_envs, self.network.num_units), np.float32)
        self._cell = np.zeros_like(self._hidden)

    def step(self, arrival: np.ndarray, action: np.ndarray, reward: np.ndarray, done: np.ndarray) -> np.ndarray:
        """Returns the intrinsic reward f32[E] for one step of E environments.

        arrival f32[E, H, W, C] is what was arrived in, before any reset; action i[E] led there;
        reward f32[E] is the extrinsic reward; done bool[E] tells whether an episode ended.
        """
        num_envs = len(self._hidden)
        if num_envs == 0:
            raise ValueError("call begin(num_envs) before the first step")
        arrival = np.asarray(arrival, np.float32)
        if arrival.shape != (num_envs, *self.spec.observation_shape):
            expected = (num_envs, *self.spec.observation_shape)
            raise ValueError(f"arrival must have shape {expected}, not {arrival.shape}")
        scalars = np.stack([_column(reward, num_envs, "reward"), _column(done, num_envs, "done")], axis=-1)
        parts = [self._torso(arrival), scalars]
        if self.network.sees_action:
            action = np.asarray(action)
            whole = action.shape == (num_envs,) and np.issubdtype(action.dtype, np.integer)
            if not whole or action.min() < 0 or action.max() >= self.spec.num_actions:
                raise ValueError(f"action must be {num_envs} whole numbers from 0 to {self.spec.num_actions - 1}")
            parts.append(np.eye(self.spec.num_actions, dtype=np.float32)[action])
        outputs = self._core(np.concatenate(parts, axis=-1))
        head = self._params["head"]
        return np.arctan(outputs @ head["w"] + head["b"])[:, 0]

    def _torso(self, images: np.ndarray) -> np.ndarray:
        conv, dense = self._params["conv"], self._params["hidden"]
        height, width, _ = self.spec.observation_shape
        padded = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)))
        shifted = [padded[:, i : i + height, j : j + width] for i in range(3) for j in range(3)]
        hidden = np.maximum(np.concatenate(shifted, axis=-1) @ conv["w"] + conv["b"], 0.0)
        return np.maximum(hidden.reshape(len(images), -1) @ dense["w"] + dense["b"], 0.0)

    def _core(self, inputs: np.ndarray) -> np.ndarray:
        core = self._params["core"]
        if self.network.history == "none":
            return np.maximum(inputs @ core["w"] + core["b"], 0.0)
        gates = inputs @ core["wx"] + core["b"] + self._hidden @ core["wh"]
        into, forget, candidate, out = np.split(gates, 4, axis=-1)
        self._cell = _sigmoid(forget) * self._cell + _sigmoid(into) * np.tanh(candidate)
        self._hidden = _sigmoid(out) * np.tanh(self._cell)
        return self._hidden


def load_reward(name_or_path: str | Path) -> NumpyReward:
    """Returns a shipped reward by its name, or the one in a reward folder or a run folder, ready to pay.

    Works offline and imports no JAX. Raises FileNotFoundError if there is none and
    `orexis.zoo.artefact.DamagedError` if it is damaged.
    """
    return NumpyReward(open_reward(name_or_path))


def _column(values: np.ndarray, num_envs: int, name: str) -> np.ndarray:
    column = np.asarray(values, np.float32)
    if column.shape != (num_envs,):
        raise ValueError(f"{name} must have shape ({num_envs},), not {column.shape}")
    return column


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 0.5 * (np.tanh(0.5 * x) + 1.0)
