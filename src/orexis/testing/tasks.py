"""`check_task`: tells what is wrong with a task before anything long is compiled with it."""

import jax
import jax.numpy as jnp
import numpy as np

from orexis.config import TaskSpec
from orexis.tasks.base import Task


class TaskError(ValueError):
    """A task breaks a rule of the contract; the message names the rule."""


def check_task(task: Task, num_steps: int = 64, seed: int = 0) -> None:
    """Raises TaskError, naming the rule, if `task` breaks the contract of `orexis.tasks.base.Task`.

    Checks the spec, shapes and dtypes of everything returned, that states keep their structure,
    that calls are pure (twice the same gives the same bits), and that a random walk of
    `num_steps` meets nothing that is not finite.
    """
    spec = getattr(task, "spec", None)
    if not isinstance(spec, TaskSpec):
        raise TaskError(f"task.spec must be an orexis.config.TaskSpec, not {type(spec).__name__}")
    _rule(_hashable(task), "a task must be hashable, so that programs compiled for it are found again: freeze it")
    for name in ("sample", "reset", "step", "observe"):
        _rule(callable(getattr(task, name, None)), f"task.{name} is missing")
    key = jax.random.key(seed)
    episode = jnp.zeros((), jnp.int32)
    params = _call(task.sample, "sample", key)
    state = _call(task.reset, "reset", key, params, episode)
    _same(state, _call(task.reset, "reset", key, params, episode), "reset must be pure: equal calls gave other states")
    _check_observation(task, spec, params, state)
    shapes = _shapes(state)
    if hasattr(task, "outcome"):
        _rule(hasattr(task, "outcomes"), "a task with outcome() needs names for its outcomes, task.outcomes")

    actions = np.random.default_rng(seed).integers(0, spec.num_actions, num_steps)
    for step, action in enumerate(actions):
        key_step = jax.random.fold_in(key, step)
        arguments = (key_step, params, state, jnp.asarray(action, jnp.int32))
        outcome = _call(task.step, "step", *arguments)
        _rule(isinstance(outcome, tuple) and len(outcome) == 3, "step must return (state, reward, terminated)")
        _same(outcome, _call(task.step, "step", *arguments), "step must be pure: equal calls gave other results")
        state, reward, terminated = outcome
        _rule(
            _shapes(state) == shapes,
            f"step must keep the state's structure, shapes and dtypes: {shapes} became {_shapes(state)}",
        )
        _rule(jnp.shape(reward) == (), f"reward must be a scalar, not of shape {jnp.shape(reward)}")
        _rule(jnp.issubdtype(jnp.result_type(reward), jnp.floating), "reward must be a float")
        _rule(bool(jnp.isfinite(reward)), f"reward must be finite, was {reward} after action {action}")
        _rule(jnp.shape(terminated) == (), f"terminated must be a scalar, not of shape {jnp.shape(terminated)}")
        _rule(jnp.result_type(terminated) == jnp.bool_, f"terminated must be bool, not {jnp.result_type(terminated)}")
        _check_observation(task, spec, params, state)
        if bool(terminated):
            episode = episode + 1
            state = _call(task.reset, "reset", key_step, params, episode)
            _rule(_shapes(state) == shapes, "reset must return the structure, shapes and dtypes that step returns")


def _check_observation(task: Task, spec: TaskSpec, params, state) -> None:
    observation = _call(task.observe, "observe", params, state)
    shape = jnp.shape(observation)
    _rule(shape == spec.observation_shape, f"observe must return {spec.observation_shape} as in the spec, not {shape}")
    _rule(jnp.issubdtype(jnp.result_type(observation), jnp.floating), "observe must return floats")
    _rule(bool(jnp.all(jnp.isfinite(observation))), "observe must return finite numbers")


def _hashable(task: object) -> bool:
    try:
        hash(task)
    except TypeError:
        return False
    return True


def _rule(holds: bool, message: str) -> None:
    if not holds:
        raise TaskError(message)


def _call(function, name: str, *arguments):
    """Returns function(*arguments) traced as the engine will trace it."""
    try:
        return jax.jit(function)(*arguments)
    except TaskError:
        raise
    except Exception as error:
        reason = str(error).strip().splitlines()
        raise TaskError(
            f"{name} cannot be traced by JAX: {type(error).__name__}: {reason[0] if reason else ''}"
        ) from error


def _shapes(tree) -> str:
    leaves = jax.tree.map(lambda x: f"{jnp.result_type(x)}{list(jnp.shape(x))}", tree)
    return str(leaves)


def _same(first, second, message: str) -> None:
    equal = jax.tree.all(jax.tree.map(lambda a, b: bool(np.array_equal(a, b, equal_nan=True)), first, second))
    _rule(equal, message)
