"""Orexis learns what agents should want: intrinsic rewards, meta-learned over many agent lifetimes.

What users call is here, imported when it is asked for, and explained with an example each in docs/reference/python.md.
Importing Orexis tells Gymnasium the names of the environments. Nothing here imports JAX until something is
asked for that needs it.
"""

import importlib
from typing import TYPE_CHECKING, Any

from orexis.interop import forks as _forks  # noqa: F401  sees forks from here on
from orexis.interop.registration import register_environments as _register_environments

if TYPE_CHECKING:
    from orexis.agents.base import Agent
    from orexis.api import evaluate, train
    from orexis.config import (
        AgentConfig,
        EntropyLevel,
        HistoryNetConfig,
        MetaConfig,
        OuterConfig,
        PolicyNetConfig,
        RunConfig,
        Schedule,
        TaskSpec,
    )
    from orexis.interop.numpy_reward import load_reward
    from orexis.presets import preset
    from orexis.rewards.base import RewardSource
    from orexis.tasks.base import Task
    from orexis.tasks.registry import make_task
    from orexis.testing import check_task

_register_environments()

__version__ = "0.1.0"
__all__ = [
    "Agent",
    "AgentConfig",
    "EntropyLevel",
    "HistoryNetConfig",
    "MetaConfig",
    "OuterConfig",
    "PolicyNetConfig",
    "RewardSource",
    "RunConfig",
    "Schedule",
    "Task",
    "TaskSpec",
    "__version__",
    "check_task",
    "evaluate",
    "load_reward",
    "make_task",
    "preset",
    "train",
]
_WHERE = {
    "Agent": "agents.base",
    "RewardSource": "rewards.base",
    "Task": "tasks.base",
    "check_task": "testing",
    "evaluate": "api",
    "load_reward": "interop.numpy_reward",
    "make_task": "tasks.registry",
    "preset": "presets",
    "train": "api",
}
"""The module of each name that is not a config."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'orexis' has no attribute {name!r}")
    return getattr(importlib.import_module(f"orexis.{_WHERE.get(name, 'config')}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
