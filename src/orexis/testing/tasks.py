"""`check_task`: tells what is wrong with a task before anything long is compiled with it.

In this order: the spec; every function traced, for shapes, dtypes and Python side effects (nothing is
compiled yet); then a random walk, for numbers that are not finite and tables that do not fit.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from orexis.config import TaskSpec
from orexis.tasks.base import Task
from orexis.testing.purity import TaskError, reason_of, trace_twice
from orexis.types import PyTree

METHODS = ("sample", "reset", "step", "observe")


def check_task(task: Task, num_steps: int = 64, seed: int = 0) -> None:
    """Raises TaskError, naming the rule, if `task` breaks the contract of `orexis.tasks.base.Task`.

    Checks the spec, shapes and dtypes of everything returned, that states keep their structure,
    that functions are pure (tracing one twice gives one program and changes nothing else) and can be mapped over, and
    that a random walk of `num_steps` meets nothing that is not finite.
    """
    spec = getattr(task, "spec", None)
    if not isinstance(spec, TaskSpec):
        raise TaskError(f"task.spec must be an orexis.config.TaskSpec, not {type(spec).__name__}")
    _rule(_hashable(task), "a task must be hashable, so that programs compiled for it are found again: freeze it")
    for name in METHODS:
        _rule(callable(getattr(task, name, None)), f"task.{name} is missing")
    if hasattr(task, "outcome"):
        _rule(hasattr(task, "outcomes"), "a task with outcome() needs names for its outcomes, task.outcomes")
    _check_traces(task, spec)
    _walk(task, spec, num_steps, seed)


def _check_traces(task: Any, spec: TaskSpec) -> None:
    """Checks all that can be seen without compiling: structures, shapes, dtypes, side effects, vmap."""
    key = jax.eval_shape(lambda: jax.random.key(0))
    integer = jax.ShapeDtypeStruct((), jnp.int32)
    params = trace_twice(task, "sample", key)
    state = trace_twice(task, "reset", key, params, integer)
    stepped = trace_twice(task, "step", key, params, state, integer)
    _rule(isinstance(stepped, tuple) and len(stepped) == 3, "step must return (state, reward, terminated)")
    following, reward, terminated = stepped
    _rule(
        _shapes(following) == _shapes(state),
        f"step must keep the structure, shapes and dtypes of reset's state: {_shapes(state)} "
        f"became {_shapes(following)}",
    )
    _rule(_shape(reward) == (), f"reward must be a scalar, not of shape {_shape(reward)}")
    _rule(_is_float(reward), f"reward must be a float, not {jnp.result_type(reward)}")
    _rule(_shape(terminated) == (), f"terminated must be a scalar, not of shape {_shape(terminated)}")
    _rule(jnp.result_type(terminated) == jnp.bool_, f"terminated must be bool, not {jnp.result_type(terminated)}")
    seen = trace_twice(task, "observe", params, state)
    shape = _shape(seen)
    _rule(shape == spec.observation_shape, f"observe must return {spec.observation_shape} as in the spec, not {shape}")
    _rule(_is_float(seen), f"observe must return floats, not {jnp.result_type(seen)}")
    for name in ("outcome", "observation_index"):
        if hasattr(task, name):
            index = trace_twice(task, name, params, state)
            _rule(_shape(index) == () and _is_integer(index), f"{name} must return one integer")
    if hasattr(task, "observation_table"):
        _rule(hasattr(task, "observation_index"), "a task with observation_table() needs observation_index()")
        table = np.shape(task.observation_table())
        fits = len(table) == 4 and table[1:] == spec.observation_shape
        _rule(fits, f"observation_table must have shape (S, *{spec.observation_shape}), not {table}")
    _check_vmap(task, params, state)


def _check_vmap(task: Any, params: PyTree, state: PyTree) -> None:
    """Checks that every function serves a batch of lifetimes."""
    batched = lambda tree: jax.tree.map(lambda x: jax.ShapeDtypeStruct((2, *x.shape), x.dtype), tree)  # noqa: E731
    keys = jax.eval_shape(lambda: jax.random.split(jax.random.key(0), 2))
    integers = jax.ShapeDtypeStruct((2,), jnp.int32)
    calls = {
        "sample": (keys,),
        "reset": (keys, batched(params), integers),
        "step": (keys, batched(params), batched(state), integers),
        "observe": (batched(params), batched(state)),
    }
    for name, arguments in calls.items():
        try:
            jax.eval_shape(jax.vmap(getattr(task, name)), *arguments)
        except Exception as error:
            raise TaskError(f"{name} cannot be mapped over lifetimes (jax.vmap): {reason_of(error)}") from error


def _walk(task: Any, spec: TaskSpec, num_steps: int, seed: int) -> None:
    """Checks the numbers along a random walk, and the first observation of some later episodes."""
    table = np.asarray(task.observation_table()) if hasattr(task, "observation_table") else None

    def look(params: PyTree, state: PyTree) -> tuple[jax.Array, jax.Array]:
        index = task.observation_index(params, state) if table is not None else jnp.zeros((), jnp.int32)
        return task.observe(params, state), index

    @jax.jit
    def begin(key: jax.Array, params: PyTree, episode: jax.Array):
        state = task.reset(key, params, episode)
        return state, look(params, state)

    @jax.jit
    def advance(key: jax.Array, params: PyTree, state: PyTree, action: jax.Array):
        state, reward, terminated = task.step(key, params, state, action)
        return state, reward, terminated, look(params, state)

    key = jax.random.key(seed)
    params = jax.jit(task.sample)(key)
    last = spec.episodes_per_lifetime - 1
    for episode in sorted({0, 1, last // 2, last} & set(range(last + 1)), reverse=True):
        state, seen = begin(key, params, jnp.int32(episode))
        _check_observation(seen, table, spec.agent_plane, f"at the start of episode {episode}")
    steps = 0
    for number, action in enumerate(np.random.default_rng(seed).integers(0, spec.num_actions, num_steps)):
        key_step = jax.random.fold_in(key, number)
        where = f"after action {action} in step {number} of a random walk"
        result = advance(key_step, params, state, jnp.int32(action))
        _same(result, advance(key_step, params, state, jnp.int32(action)), f"step must be pure: twice differs {where}")
        state, reward, terminated, seen = result
        _rule(bool(jnp.isfinite(reward)), f"reward must be finite, it was {reward} {where}")
        _check_observation(seen, table, spec.agent_plane, where)
        steps += 1
        if bool(terminated) or steps >= spec.time_limit:
            episode, steps = min(episode + 1, last), 0
            state, seen = begin(key_step, params, jnp.int32(episode))
            _check_observation(seen, table, spec.agent_plane, f"at the start of episode {episode}")


def _check_observation(
    seen: tuple[jax.Array, jax.Array], table: np.ndarray | None, agent_plane: int | None, where: str
) -> None:
    observation, index = np.asarray(seen[0]), int(seen[1])
    _rule(bool(np.isfinite(observation).all()), f"observe must return finite numbers, it did not {where}")
    if agent_plane is not None:
        cells = observation[..., agent_plane]
        alone = bool(np.isin(cells, (0, 1)).all()) and cells.sum() <= 1
        _rule(alone, f"plane {agent_plane}, the spec's agent_plane, must be one in one cell at most, else zero {where}")
    if table is None:
        return
    _rule(0 <= index < len(table), f"observation_index must be from 0 to {len(table) - 1}, it was {index} {where}")
    _rule(np.array_equal(table[index], observation), f"observation_table[{index}] is not what observe returns {where}")


def _hashable(task: object) -> bool:
    try:
        hash(task)
    except TypeError:
        return False
    return True


def _rule(holds: bool, message: str) -> None:
    if not holds:
        raise TaskError(message)


def _shape(x: Any) -> tuple[int, ...] | None:
    return tuple(x.shape) if hasattr(x, "shape") else None


def _is_float(x: Any) -> bool:
    return bool(jnp.issubdtype(jnp.result_type(x), jnp.floating))


def _is_integer(x: Any) -> bool:
    return bool(jnp.issubdtype(jnp.result_type(x), jnp.integer))


def _shapes(tree: PyTree) -> str:
    return str(jax.tree.map(lambda x: f"{jnp.result_type(x)}{list(jnp.shape(x))}", tree))


def _same(first: PyTree, second: PyTree, message: str) -> None:
    pairs = zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True)
    _rule(all(np.array_equal(_bits(a), _bits(b), equal_nan=True) for a, b in pairs), message)


def _bits(x: jax.Array) -> np.ndarray:
    """Returns an array as NumPy's; of a typed key, its words."""
    return np.asarray(jax.random.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x)
