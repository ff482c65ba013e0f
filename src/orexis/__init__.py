"""Orexis learns what agents should want: intrinsic rewards, meta-learned over many agent lifetimes.

Nothing here imports JAX until something is asked for that needs it.
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"
__all__ = ["__version__", "load_reward"]

if TYPE_CHECKING:
    from orexis.interop.numpy_reward import load_reward


def __getattr__(name: str):
    if name == "load_reward":
        from orexis.interop.numpy_reward import load_reward

        return load_reward
    raise AttributeError(f"module 'orexis' has no attribute {name!r}")
