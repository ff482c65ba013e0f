"""A learned reward in plain NumPy: for agents that have no JAX in their process.

    reward = orexis.load_reward("random-abc")
    reward.begin(num_envs=8)                                        # once a lifetime
    intrinsic = reward.step(next_observation, action, extrinsic, done)  # each step, f32[num_envs]

The memory runs over the whole lifetime: call `begin` when new agents are born, never at an
episode's end. `next_observation` is the observation arrived in, the terminal one where an episode ended. A reward that
sees from the agent (its card tells the view) also needs the observation acted on, `observation=`.
"""

import copy
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from orexis.config import HistoryNetConfig, TaskSpec
from orexis.networks import clock, egocentric, ledger
from orexis.storage.artefact import Artefact
from orexis.zoo.registry import open_reward


class NumpyReward:
    """The reward of an artefact, for `num_envs` lifetimes side by side."""

    def __init__(self, artefact: Artefact):
        self.artefact = artefact
        self.spec: TaskSpec = artefact.spec
        self.network: HistoryNetConfig = artefact.network
        self._params = artefact.params
        self._core = _stack_core(artefact)
        self._room: _Room | None = None

    def begin(self, num_envs: int = 1) -> None:
        """Starts a new lifetime in each of `num_envs` environments: everything remembered is forgotten."""
        if num_envs < 1:
            raise ValueError(f"num_envs must be at least 1, not {num_envs}")
        self._room = _Room(self.spec, self.network, num_envs)

    def forget(self, which: np.ndarray) -> None:
        """Starts a new lifetime where `which` bool[E] is true; the other environments remember what they did."""
        room = self._begun()
        for remembered in (room.memory, room.cell, room.ended, room.ledger):
            remembered[which] = 0

    def newborn(self) -> "NumpyReward":
        """Returns the same reward with a memory of its own, not begun."""
        other = copy.copy(self)
        other._room = None
        return other

    def repeated(self, times: int) -> "NumpyReward":
        """Returns the same reward in `times` copies of each lifetime, row i·times + k a copy of i, with its memory.

        The copies may live on differently; the original remembers nothing of it.
        """
        room, other = self._begun(), self.newborn()
        other.begin(times * len(room))
        copies = other._begun()
        copies.memory[...] = np.repeat(room.memory, times, axis=0)
        copies.cell[...] = np.repeat(room.cell, times, axis=0)
        copies.ended[...] = np.repeat(room.ended, times)
        copies.ledger[...] = np.repeat(room.ledger, times, axis=0)
        return other

    def step(
        self,
        next_observation: np.ndarray,
        action: np.ndarray,
        reward: np.ndarray,
        done: np.ndarray,
        happened: np.ndarray | None = None,
        observation: np.ndarray | None = None,
    ) -> np.ndarray:
        """Returns the intrinsic reward f32[E] for one step of E environments.

        next_observation f32[E, H, W, C] is what was arrived in, before any reset; action i[E] led there;
        reward f32[E] is the extrinsic reward; done bool[E] tells whether an episode ended. Where
        `happened` bool[E] is false there was no step: nothing is paid and nothing remembered.
        observation f32[E, H, W, C] is what was acted on; only rewards with the egocentric view need it.

        Raises ValueError for a wrong shape, NaN or infinity; then nothing of the step is remembered.
        """
        room = self._begun()
        images = room.images(next_observation, "next_observation")
        columns = _column(reward, len(room), "reward"), _column(done, len(room), "done")
        for name, given in (("next_observation", images), ("reward", columns[0]), ("done", columns[1])):
            _refuse_not_finite(name, given, happened)
        chosen = self._check_action(action, len(room)) if self.network.sees_action else None
        idle = None if happened is None else ~np.asarray(happened, bool)
        kept = None if idle is None else (room.memory[idle], room.cell[idle], room.ledger[idle])
        room.told[:, 0], room.told[:, 1] = columns
        self._see(room, images, observation, happened)
        if self.network.sees_clock:
            room.clock[...] = clock.features(room.ended, self.spec.episodes_per_lifetime, np.float32)
        if chosen is not None:
            one_hot = room.told[:, -self.spec.num_actions :]
            one_hot[...] = 0.0
            one_hot[room.rows, chosen] = 1.0
        outputs = self._remember(room) if self.network.history == "lstm" else self._reflect(room)
        head = self._params["head"]
        paid = np.arctan(outputs @ head["w"] + head["b"])[:, 0]
        if kept is not None:
            room.memory[idle], room.cell[idle], room.ledger[idle] = kept
            paid[idle] = 0.0
        room.ended += (columns[1] > 0.0) if idle is None else (columns[1] > 0.0) & ~idle
        return paid

    def _begun(self) -> "_Room":
        if self._room is None:
            raise ValueError("call begin(num_envs) before the first step")
        return self._room

    def _check_action(self, action: np.ndarray, num_envs: int) -> np.ndarray:
        action = np.asarray(action)
        whole = action.shape == (num_envs,) and action.dtype.kind in "iu"
        if not whole or action.min() < 0 or action.max() >= self.spec.num_actions:
            raise ValueError(f"action must be {num_envs} whole numbers from 0 to {self.spec.num_actions - 1}")
        return action

    def _see(
        self,
        room: "_Room",
        next_observation: np.ndarray,
        observation: np.ndarray | None,
        happened: np.ndarray | None,
    ) -> None:
        """Writes the torso's features of the step into the core's inputs, and whether the agent moved if it is told."""
        if self.network.view == "egocentric":
            if observation is None:
                raise ValueError("this reward sees from the agent: it needs the observation acted on, observation=")
            before, plane = room.images(observation, "observation"), self.spec.agent_plane
            assert plane is not None
            _refuse_not_finite("observation", before, happened)
            if egocentric.replaces_planes(self.spec, self.network):
                seen = egocentric.features(before, next_observation, plane)
                self._activate(room, self._keep_ledger(room, seen) if self.network.keeps_ledger else seen)
                return
            room.told[:, 2] = egocentric.stayed(before, next_observation, plane)
        self._activate(room, self._convolve(room, next_observation))

    def _keep_ledger(self, room: "_Room", seen: np.ndarray) -> np.ndarray:
        """Writes the step into the ledgers; returns what is seen, and beside it what they tell."""
        standing_on = egocentric.standing_on(seen, self.spec.observation_shape)
        room.ledger[...] = ledger.write(room.ledger, standing_on, room.told[:, 0], room.told[:, 1])
        return np.concatenate([seen, ledger.read(room.ledger)], axis=1)

    def _convolve(self, room: "_Room", next_observation: np.ndarray) -> np.ndarray:
        """Returns relu of the convolution of the next observations, f32[E, H·W·filters]."""
        conv = self._params["conv"]
        room.image[...] = next_observation
        np.copyto(room.patches, room.windows)
        np.matmul(room.patches.reshape(-1, len(conv["w"])), conv["w"], out=room.convolved)
        room.convolved += conv["b"]
        np.maximum(room.convolved, 0.0, out=room.convolved)
        return room.convolved.reshape(len(room), -1)

    def _activate(self, room: "_Room", seen: np.ndarray) -> None:
        dense = self._params["hidden"]
        features = seen @ dense["w"]
        features += dense["b"]
        np.maximum(features, 0.0, out=room.features)

    def _reflect(self, room: "_Room") -> np.ndarray:
        weights, bias = self._core
        return np.maximum(room.inputs @ weights + bias, 0.0)

    def _remember(self, room: "_Room") -> np.ndarray:
        """Advances the LSTM and returns its outputs f32[E, U].

        The gates' weights are halved where a sigmoid follows, so that one tanh serves all four:
        sigmoid(x) = ½ (tanh(½ x) + 1).
        """
        weights, bias = self._core
        gates = room.inputs @ weights
        gates += bias
        np.tanh(gates, out=gates)
        units = self.network.num_units
        candidate = gates[:, 2 * units : 3 * units].copy()
        gates += 1.0
        gates *= 0.5
        room.cell *= gates[:, units : 2 * units]
        candidate *= gates[:, :units]
        room.cell += candidate
        np.multiply(gates[:, 3 * units :], np.tanh(room.cell), out=room.memory)
        return room.memory


class _Room:
    """What E lifetimes remember, and the arrays that each step writes over: nothing grows with the steps."""

    def __init__(self, spec: TaskSpec, network: HistoryNetConfig, num_envs: int):
        height, width, planes = spec.observation_shape
        units = network.num_units if network.history == "lstm" else 0
        num_told = egocentric.num_told(spec, network)
        self.rows = np.arange(num_envs)
        self.padded = np.zeros((num_envs, height + 2, width + 2, planes), np.float32)
        self.image = self.padded[:, 1:-1, 1:-1]
        self.windows = sliding_window_view(self.padded, (3, 3), axis=(1, 2)).transpose(0, 1, 2, 4, 5, 3)
        self.patches = np.zeros(self.windows.shape, np.float32)  # f32[E, H, W, 3, 3, C]
        self.convolved = np.zeros((num_envs * height * width, network.num_filters), np.float32)
        self.inputs = np.zeros((num_envs, network.num_hidden + num_told + units), np.float32)
        self.features, self.told, self.memory = np.split(
            self.inputs, [network.num_hidden, network.num_hidden + num_told], axis=1
        )
        self.cell = np.zeros((num_envs, units), np.float32)
        self.ended = np.zeros(num_envs, np.int32)  # episodes of each lifetime that have ended
        self.ledger = np.zeros((num_envs, 2, ledger.num_entries(spec.observation_shape)), np.float32)
        after = 3 if egocentric.joins_planes(spec, network) else 2  # reward, done, whether the agent moved
        self.clock = self.told[:, after : after + clock.NUM_FEATURES]  # only where it is seen

    def __len__(self) -> int:
        return len(self.rows)

    def images(self, given: np.ndarray, name: str) -> np.ndarray:
        """Returns `given` as f32[E, H, W, C]. Raises ValueError if it has another shape."""
        images = np.asarray(given, np.float32)
        if images.shape != self.image.shape:
            raise ValueError(f"{name} must have shape {self.image.shape}, not {images.shape}")
        return images


def load_reward(name_or_path: str | Path) -> NumpyReward:
    """Returns a shipped reward by its name, or the one in a reward folder or a run folder, ready to pay.

    Works offline and imports no JAX. Raises FileNotFoundError if there is none and
    `orexis.storage.artefact.DamagedError` if it is damaged.
    """
    return NumpyReward(open_reward(name_or_path))


def _stack_core(artefact: Artefact) -> tuple[np.ndarray, np.ndarray]:
    """Returns the core's weights on [features, told, memory] and its bias; of an LSTM, halved before sigmoids."""
    core = artefact.params["core"]
    if artefact.network.history == "none":
        return core["w"], core["b"]
    half, whole = (np.full(artefact.network.num_units, scale, np.float32) for scale in (0.5, 1.0))
    scales = np.concatenate([half, half, whole, half])  # input, forget, candidate, output
    return np.concatenate([core["wx"], core["wh"]]) * scales, core["b"] * scales


def _column(values: np.ndarray, num_envs: int, name: str) -> np.ndarray:
    column = np.asarray(values, np.float32)
    if column.shape != (num_envs,):
        raise ValueError(f"{name} must have shape ({num_envs},), not {column.shape}")
    return column


def _refuse_not_finite(name: str, values: np.ndarray, happened: np.ndarray | None) -> None:
    """Raises ValueError if a step that happened has NaN or infinity, which a memory would never lose again."""
    bad = ~np.isfinite(values)
    if bad.any():
        rows = bad.reshape(len(values), -1).any(axis=1) & (True if happened is None else np.asarray(happened, bool))
        if rows.any():
            raise ValueError(f"{name} must be finite, it is not in environment {int(np.argmax(rows))}")
