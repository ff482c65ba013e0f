"""Learned rewards in other people's agents, and tasks as their environments.

Names are imported when they are asked for. The rewards need no JAX; `OrexisEnv` and `OrexisVectorEnv` do.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orexis.interop.environments import OrexisEnv
    from orexis.interop.intrinsic import IntrinsicReward
    from orexis.interop.numpy_reward import NumpyReward, load_reward
    from orexis.interop.vector import OrexisVectorEnv
    from orexis.interop.vector_intrinsic import VectorIntrinsicReward

_WHERE = {
    "IntrinsicReward": "intrinsic",
    "NumpyReward": "numpy_reward",
    "OrexisEnv": "environments",
    "OrexisVectorEnv": "vector",
    "VectorIntrinsicReward": "vector_intrinsic",
    "load_reward": "numpy_reward",
}
__all__ = ["IntrinsicReward", "NumpyReward", "OrexisEnv", "OrexisVectorEnv", "VectorIntrinsicReward", "load_reward"]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'orexis.interop' has no attribute {name!r}")
    return getattr(importlib.import_module(f"orexis.interop.{_WHERE[name]}"), name)
