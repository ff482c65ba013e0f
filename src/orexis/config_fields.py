"""Fields of configs: what each may hold, and what configs of earlier versions called it or lacked."""

import dataclasses
import math
from typing import Any


def require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


LARGEST = 2**31 - 1
"""The largest whole number that means something: counters are i32."""
NEW = "new"
"""Marks a field that configs of earlier versions lack: they are read with its default."""


WAS = "was"
"""Marks a field that had another name in earlier versions: their configs are read."""


def renamed(was: str, default: Any = dataclasses.MISSING) -> Any:
    """Returns a field that was called `was` in earlier versions."""
    return dataclasses.field(default=default, metadata={WAS: was})


def new(default: Any) -> Any:
    """Returns a field that configs of earlier versions lack; `default` is what they meant."""
    return dataclasses.field(default=default, metadata={NEW: True})


def positive(config: object, *names: str) -> None:
    """Raises ValueError unless each of these fields is positive, or None where it may be left out."""
    for name in names:
        value = getattr(config, name)
        if value is not None:
            require(value > 0, f"{name} must be positive, not {value}")
            _bounded(name, value)


def not_negative(config: object, *names: str) -> None:
    for name in names:
        value = getattr(config, name)
        require(value >= 0, f"{name} must not be negative, not {value}")
        _bounded(name, value)


def _bounded(name: str, value: float) -> None:
    if isinstance(value, int):
        require(value <= LARGEST, f"{name} must be at most {LARGEST}, not {value}")
    else:
        require(math.isfinite(value), f"{name} must be finite, not {value}")


def one_of(config: object, name: str, *choices: str) -> None:
    value = getattr(config, name)
    require(value in choices, f"{name} must be one of {', '.join(choices)}, not {value!r}")
