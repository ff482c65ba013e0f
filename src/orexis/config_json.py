"""What fields of configs may hold; configs as plain JSON and back, of this version and of earlier ones; in what two of
them differ."""

import dataclasses
import math
import types
from typing import Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")


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


def to_json(config: Any) -> dict[str, Any]:
    """Returns a config as plain JSON values, nested as the dataclasses are."""
    return dataclasses.asdict(config)


def from_json(cls: type[T], data: Any, where: str = "config") -> T:
    """Returns the config of type `cls` that `data` describes.

    Raises ValueError that names the field, for a field that is unknown, missing, of another
    type or out of range: a config of another version is refused, not guessed at.
    """
    require(isinstance(data, dict), f"{where} must be an object, not {type(data).__name__}")
    hints = get_type_hints(cls)
    data = _with_new_names(cls, data)
    fields = {field.name for field in dataclasses.fields(cast(Any, cls))}
    unknown = sorted(set(data) - fields)
    require(not unknown, f"{where} has unknown fields: {', '.join(unknown)}; was it written by another version?")
    new = {field.name for field in dataclasses.fields(cast(Any, cls)) if field.metadata.get(NEW)}
    missing = sorted(fields - new - set(data))
    require(not missing, f"{where} lacks fields: {', '.join(missing)}; was it written by another version?")
    return cls(**{name: _value(hints[name], data[name], f"{where}.{name}") for name in fields & set(data)})


def _with_new_names(cls: type, data: dict[str, Any]) -> dict[str, Any]:
    """Returns `data` with the names that fields of `cls` had in earlier versions replaced by today's."""
    today = {field.metadata[WAS]: field.name for field in dataclasses.fields(cast(Any, cls)) if WAS in field.metadata}
    return {today.get(name, name) if today.get(name) not in data else name: value for name, value in data.items()}


def _value(hint: Any, value: Any, where: str) -> Any:
    """Returns `value` as the type `hint` says, or raises ValueError."""
    if dataclasses.is_dataclass(hint):
        return from_json(cast(Any, hint), value, where)
    if get_origin(hint) is types.UnionType:  # `kind | None`
        return None if value is None else _value(get_args(hint)[0], value, where)
    if get_origin(hint) is Literal:
        require(value in get_args(hint), f"{where} must be one of {get_args(hint)}, not {value!r}")
        return value
    if get_origin(hint) is tuple:
        kind = get_args(hint)[0]
        require(isinstance(value, list | tuple), f"{where} must be a list, not {value!r}")
        return tuple(_value(kind, item, where) for item in value)
    if hint is float:
        numeric = isinstance(value, int | float) and not isinstance(value, bool)
        require(numeric and math.isfinite(value), f"{where} must be a finite number, not {value!r}")
        return float(value)
    require(type(value) is hint, f"{where} must be {hint.__name__}, not {value!r}")
    return value


def differences(first: Any, second: Any, where: str = "") -> list[str]:
    """Returns one line for each field in which two configs differ: `name: first → second`."""
    lines = []
    for field in dataclasses.fields(first):
        one, other = getattr(first, field.name), getattr(second, field.name)
        name = f"{where}{field.name}"
        if dataclasses.is_dataclass(one):
            lines += differences(one, other, f"{name}.")
        elif one != other:
            lines.append(f"{name}: {one} → {other}")
    return lines
