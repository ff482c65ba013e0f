"""A clock: the share of the lifetime that has passed, as inputs of a network.

    share   = min(1, episodes that ended in this lifetime before the step / episodes in a lifetime)
    inputs  = [share, sin(2π·k·share), cos(2π·k·share)]        k in 1, 2, 4, 8

Counted from the history alone, from the ends of episodes that a step tells: whoever pays needs to know no task. What a
lifetime has is what its reward was trained on, `TaskSpec.episodes_per_lifetime`; where a lifetime goes on for longer,
the clock stands still at its end.

A bare share is little to tell moments apart by: from a quarter of a lifetime to the next it moves by a quarter. The
waves turn once, twice, four and eight times in a lifetime, so that its halves, quarters and eighths are marked, and
together with the share no two moments look alike. All inputs are of order one. For arrays of JAX and of NumPy alike,
and without importing JAX: rewards are paid in processes that have none.
"""

from typing import Any, TypeAlias

import numpy as np

from orexis.config import HistoryNetConfig

Array: TypeAlias = Any
"""An array of JAX or of NumPy."""

TURNS = (1, 2, 4, 8)
"""k: how often each wave turns in a lifetime."""
NUM_FEATURES = 1 + 2 * len(TURNS)


def check_policy(config: HistoryNetConfig) -> None:
    """Raises ValueError if a policy is to see a clock: only rewards are told at which episode a lifetime begins."""
    if config.sees_clock:
        raise ValueError("sees_clock must be off for a policy: only rewards, and their lifetime values, see a clock")


def features(ended: Array, episodes_per_lifetime: int, dtype: Any) -> Array:
    """Returns the inputs f[T, 9] of T steps of type `dtype`, from how many episodes ended before each, i[T]."""
    xp = ended.__array_namespace__()
    share = xp.minimum(ended.astype(dtype) / float(episodes_per_lifetime), 1.0)[:, None]
    phase = share * np.array([[2 * np.pi * k for k in TURNS]], dtype)
    return xp.concatenate([share, xp.sin(phase), xp.cos(phase)], axis=1)
