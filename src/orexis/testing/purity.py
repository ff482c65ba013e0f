"""Finds Python side effects: JAX runs a task's Python once, when tracing, and never again.

A counter that a function keeps, a list that it appends to or a number from `random` would be
frozen at whatever it was then. So each function is traced more than once, and the traces must be one and the same
program and leave the task, and the globals that the function names, as they were.
"""

import inspect
import linecache
import re
import sys
import traceback
from typing import Any

import jax
import numpy as np

from orexis.types import PyTree

LIBRARIES = {"jax", "jaxlib", "numpy", "orexis", *sys.stdlib_module_names}
"""Packages whose code is not the task's own."""


class TaskError(ValueError):
    """A task breaks a rule of the contract; the message names the rule."""


def trace_twice(task: object, name: str, *arguments: PyTree) -> PyTree:
    """Returns the shapes of what task.name(*arguments) returns; `arguments` may be shapes themselves.

    Raises TaskError if the function cannot be traced, acts on the world outside, remembers being traced, or
    becomes another program the second time. The first trace only warms up: what is computed once and kept, a
    cached property say, is no side effect.
    """
    function = getattr(task, name)
    _trace(function, name, arguments)
    before = _surroundings(task, function)
    first, shapes = _trace(function, name, arguments)
    after = _surroundings(task, function)
    changed = sorted(place for place in before.keys() | after.keys() if before.get(place) != after.get(place))
    if changed:
        raise TaskError(
            f"{name} changes {', '.join(changed)} while it is traced, a Python side effect that happens once, when "
            "compiling, and never again; keep what changes in the state"
        )
    second, _ = _trace(function, name, arguments)
    if first != second:
        raise TaskError(
            f"{name} is not pure: traced twice it gave two programs; is there a Python side effect in it, or a random "
            "number from outside jax.random?"
        )
    return shapes


def _trace(function: Any, name: str, arguments: tuple) -> tuple[tuple, PyTree]:
    """Returns the program that `function` becomes, as something to compare, and the shapes that it returns."""

    def fresh(*args):  # a function of its own, so that JAX cannot answer from an earlier trace
        return function(*args)

    try:
        with jax.checking_leaks():
            closed, shapes = jax.make_jaxpr(fresh, return_shape=True)(*arguments)
    except Exception as error:
        raise TaskError(f"{name} cannot be traced by JAX: {type(error).__name__}: {reason_of(error)}") from error
    effects = [str(effect) for effect in closed.effects if "Debug" not in type(effect).__name__]
    if effects:
        raise TaskError(f"{name} acts on the world outside: {', '.join(effects)}; a task must be pure functions")
    text = re.sub(r"0x[0-9a-f]+", "", str(closed))
    return (text, tuple(_print_of(constant) for constant in closed.consts)), shapes


def reason_of(error: Exception) -> str:
    """Returns the first line of what an error says, what to do, and the line of the task's own code that failed."""
    said = (str(error).strip().splitlines() or [type(error).__name__])[0].removesuffix(".")
    if isinstance(error, jax.errors.TracerBoolConversionError):
        said += " (choose with jnp.where, & and ~ instead of if, and, not)"
    own = [
        f"{frame.f_code.co_filename}:{number}: {linecache.getline(frame.f_code.co_filename, number).strip()}"
        for frame, number in traceback.walk_tb(error.__traceback__)
        if frame.f_globals.get("__name__", "").partition(".")[0] not in LIBRARIES
    ]
    return f"{said}, at {own[-1]}" if own else said


def _surroundings(task: object, function: Any) -> dict[str, Any]:
    """Returns prints of what a function could change: attributes of the task and its classes, named globals."""
    prints = {}
    kinds = [kind for kind in type(task).__mro__ if kind.__module__ != "builtins"]
    for name, value in getattr(task, "__dict__", {}).items():
        prints[f"its attribute {name!r}"] = _print_of(value)
    for kind in kinds:
        for name, value in vars(kind).items():
            if not name.startswith("__") and _is_data(value):
                prints[f"the class attribute {kind.__name__}.{name}"] = _print_of(value)
    plain = inspect.unwrap(getattr(function, "__func__", function))
    if hasattr(plain, "__code__"):
        outside = plain.__globals__
        for name in plain.__code__.co_names:
            if name in outside and _is_data(outside[name]):
                prints[f"the global {name!r}"] = _print_of(outside[name])
    return prints


_DATA = (bool, int, float, complex, str, bytes, type(None), list, tuple, dict, set, frozenset, np.ndarray, jax.Array)


def _is_data(value: object) -> bool:
    return isinstance(value, _DATA)


def _print_of(value: Any, depth: int = 4) -> Any:
    """Returns something that is equal for equal data and differs when data changed; objects count as themselves."""
    if isinstance(value, jax.core.Tracer):
        return id(value)
    if isinstance(value, np.ndarray) or (isinstance(value, jax.Array) and not _is_key(value)):
        array = np.asarray(value)
        return (array.shape, str(array.dtype), array.tobytes())
    if isinstance(value, list | tuple) and depth:
        return (type(value).__name__, *(_print_of(item, depth - 1) for item in value))
    if isinstance(value, dict) and depth:
        return tuple((repr(key), _print_of(item, depth - 1)) for key, item in value.items())
    if isinstance(value, set | frozenset) and depth:
        return tuple(sorted(map(repr, value)))
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return repr(value)
    inside = getattr(value, "__dict__", None)
    if inside and depth and not callable(value) and not inspect.ismodule(value):
        return (id(value), _print_of(dict(inside), depth - 1))
    return id(value)


def _is_key(value: jax.Array) -> bool:
    return jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key)
