"""What every wrapper that pays a learned reward shares: does the reward fit, what is seen, what is paid."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from gymnasium import spaces

from orexis.interop.numpy_reward import NumpyReward, load_reward

Mode = Literal["intrinsic", "sum", "extrinsic"]
ACTIONS = "orexis_actions"
"""The key in an environment's metadata that tells which action space of a task it offers."""


def own_reward(reward: str | Path | NumpyReward) -> NumpyReward:
    """Returns `reward`, by name or as it is, with a memory that nobody else uses."""
    return reward.newborn() if isinstance(reward, NumpyReward) else load_reward(reward)


def check_mode(mode: str) -> None:
    """Raises ValueError if there is no such mode."""
    if mode not in get_args(Mode):
        raise ValueError(f"mode must be one of {', '.join(get_args(Mode))}, not {mode!r}")


def check_fit(reward: NumpyReward, observations: spaces.Space, actions: spaces.Space, metadata: Mapping) -> None:
    """Raises ValueError if `reward` cannot be paid for one environment with these spaces.

    A reward that does not see the action serves any action space; one that does, only the one
    it was learned with.
    """
    image = observations.spaces.get("image") if isinstance(observations, spaces.Dict) else observations
    expected = reward.spec.observation_shape
    if not isinstance(image, spaces.Box) or image.shape != expected:
        raise ValueError(
            f"the reward was learned on observations of shape {expected}, "
            f"the environment has {_shape(image or observations)}"
        )
    if not reward.network.sees_action:
        return
    if not isinstance(actions, spaces.Discrete) or actions.n != reward.spec.num_actions:
        raise ValueError(
            f"the reward sees the action and knows Discrete({reward.spec.num_actions}), the environment has "
            f"{_shape(actions)}; use a reward that does not see the action"
        )
    if metadata.get(ACTIONS, "normal") != "normal":
        raise ValueError(
            f"the reward sees the action and knows normal Discrete({reward.spec.num_actions}), the environment has "
            f"{metadata[ACTIONS]} {_shape(actions)}; use a reward that does not see the action"
        )


def image_of(observation: Any) -> np.ndarray:
    """Returns what the reward sees of an observation: all of it, or its "image"."""
    return observation["image"] if isinstance(observation, Mapping) else observation


def mix(mode: str, coefficient: float, extrinsic: Any, intrinsic: Any) -> Any:
    """Returns what the agent is paid: coefficient · intrinsic, extrinsic + coefficient · intrinsic, or extrinsic."""
    if mode == "extrinsic":
        return extrinsic
    return coefficient * intrinsic + (extrinsic if mode == "sum" else 0.0)


def _shape(space: spaces.Space) -> str:
    return str(space.shape) if isinstance(space, spaces.Box) else str(space)
