"""Orexis learns what agents should want: intrinsic rewards, meta-learned over many agent lifetimes.

Importing it tells Gymnasium the names of the environments. Nothing here imports JAX until something is
asked for that needs it.
"""

from typing import TYPE_CHECKING

from orexis.interop import forks as _forks  # noqa: F401  sees forks from here on
from orexis.interop.registration import register_environments as _register_environments

_register_environments()

__version__ = "0.1.0"
__all__ = ["__version__", "load_reward"]

if TYPE_CHECKING:
    from orexis.interop.numpy_reward import load_reward


def __getattr__(name: str):
    if name == "load_reward":
        from orexis.interop.numpy_reward import load_reward

        return load_reward
    raise AttributeError(f"module 'orexis' has no attribute {name!r}")
