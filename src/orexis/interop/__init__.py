"""Learned rewards in other people's agents. Names are imported when they are asked for; none of them imports JAX."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orexis.interop.intrinsic import IntrinsicReward
    from orexis.interop.numpy_reward import NumpyReward, load_reward
    from orexis.interop.vector_intrinsic import VectorIntrinsicReward

_WHERE = {
    "IntrinsicReward": "intrinsic",
    "NumpyReward": "numpy_reward",
    "VectorIntrinsicReward": "vector_intrinsic",
    "load_reward": "numpy_reward",
}
__all__ = ["IntrinsicReward", "NumpyReward", "VectorIntrinsicReward", "load_reward"]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'orexis.interop' has no attribute {name!r}")
    return getattr(importlib.import_module(f"orexis.interop.{_WHERE[name]}"), name)
