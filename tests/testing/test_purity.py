"""What `check_task` sees without compiling, on a long walk, and beside the results: Python side effects."""

import dataclasses
import functools
import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import io_callback

from orexis.config import RunConfig, TaskSpec
from orexis.errors import UsageError
from orexis.testing import TaskError, check_task
from orexis.training.setup import make_engine
from orexis.types import record


@record
class Params:
    best: jax.Array


@record
class State:
    cell: jax.Array


@dataclasses.dataclass(frozen=True)
class Good:
    """A strip of four cells; the right end pays what was drawn and ends the episode."""

    name: str = "good"

    @property
    def spec(self) -> TaskSpec:
        return TaskSpec(2, (1, 4, 1), time_limit=6, episodes_per_lifetime=5)

    def sample(self, key):
        return Params(best=jax.random.uniform(key))

    def reset(self, key, params, episode):
        return State(cell=jnp.zeros((), jnp.int32))

    def step(self, key, params, state, action):
        cell = jnp.clip(state.cell + jnp.where(action == 0, -1, 1), 0, 3)
        return State(cell=cell), jnp.where(cell == 3, params.best, 0.0), cell == 3

    def observe(self, params, state):
        return jax.nn.one_hot(state.cell, 4)[None, :, None]


def test_a_good_task_passes():
    check_task(Good())


# --- wrong shapes and dtypes -------------------------------------------------------------------------------------


class OtherShape(Good):
    def observe(self, params, state):
        return jnp.zeros((4, 1, 1))


class LongOutcome(Good):
    outcomes = ("end",)

    def outcome(self, params, state):
        return jnp.zeros(2, jnp.int32)


class ShortTable(Good):
    def observation_table(self):
        return np.zeros((4, 1, 3, 1), np.float32)

    def observation_index(self, params, state):
        return state.cell


class TableAlone(Good):
    def observation_table(self):
        return np.zeros((4, 1, 4, 1), np.float32)


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        (OtherShape, r"observe must return \(1, 4, 1\) as in the spec, not \(4, 1, 1\)"),
        (LongOutcome, "outcome must return one integer"),
        (ShortTable, r"observation_table must have shape \(S, \*\(1, 4, 1\)\), not \(4, 1, 3, 1\)"),
        (TableAlone, r"needs observation_index\(\)"),
    ],
)
def test_a_wrong_shape_or_type_is_named(kind, rule):
    with pytest.raises(TaskError, match=rule):
        check_task(kind())


def test_a_wrong_shape_is_found_before_anything_is_compiled(monkeypatch):
    monkeypatch.setattr(jax, "jit", lambda *args, **options: pytest.fail("compiled"))
    with pytest.raises(TaskError, match="observe must return"):
        check_task(OtherShape())


# --- numbers that are not finite, tables that lie ------------------------------------------------------------------


class NanReward(Good):
    def step(self, key, params, state, action):
        state, _, ended = super().step(key, params, state, action)
        return state, jnp.where(state.cell == 2, jnp.nan, 0.0), ended


class NanPicture(Good):
    def observe(self, params, state):
        return super().observe(params, state) / jnp.where(state.cell == 1, 0.0, 1.0)


class LateNan(Good):
    """Fine until the last episode of a long lifetime."""

    @property
    def spec(self) -> TaskSpec:
        return TaskSpec(2, (1, 4, 1), time_limit=6, episodes_per_lifetime=1000)

    def reset(self, key, params, episode):
        return State(cell=jnp.where(episode == 999, 9, 0))

    def observe(self, params, state):
        return jnp.where(state.cell == 9, jnp.inf, 1.0) * jnp.ones((1, 4, 1))


class WrongTable(ShortTable):
    def observation_table(self):
        return np.eye(4, dtype=np.float32)[::-1].reshape(4, 1, 4, 1)


class IndexBeyond(ShortTable):
    def observation_table(self):
        return np.eye(4, dtype=np.float32).reshape(4, 1, 4, 1)[:2]


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        (NanReward, "reward must be finite, it was nan after action"),
        (NanPicture, "observe must return finite numbers, it did not after action"),
        (LateNan, "observe must return finite numbers, it did not at the start of episode 999"),
        (WrongTable, r"observation_table\[0\] is not what observe returns"),
        (IndexBeyond, "observation_index must be from 0 to 1, it was 2"),
    ],
)
def test_a_bad_number_is_named_with_where_it_was_met(kind, rule):
    with pytest.raises(TaskError, match=rule):
        check_task(kind())


# --- Python side effects -------------------------------------------------------------------------------------------

CALLS: list[int] = []
COUNT = 0


class Remembers(Good):
    def step(self, key, params, state, action):
        object.__setattr__(self, "count", getattr(self, "count", 0) + 1)
        return super().step(key, params, state, action)


class KeepsLists(Good):
    seen: list[int] = []  # noqa: RUF012

    def observe(self, params, state):
        self.seen.append(1)
        return super().observe(params, state)


class AppendsToGlobal(Good):
    def reset(self, key, params, episode):
        CALLS.append(1)
        return super().reset(key, params, episode)


class CountsGlobally(Good):
    def sample(self, key):
        global COUNT
        COUNT += 1
        return super().sample(key)


class KeepsTracers(Good):
    def step(self, key, params, state, action):
        object.__setattr__(self, "last", state.cell)
        return super().step(key, params, state, action)


class RollsDice(Good):
    def step(self, key, params, state, action):
        state, reward, ended = super().step(key, params, state, action)
        return state, reward + random.random(), ended


class NumpyNoise(Good):
    def observe(self, params, state):
        return super().observe(params, state) + np.random.default_rng().normal(size=(1, 4, 1)).astype(np.float32)


class CallsBack(Good):
    def step(self, key, params, state, action):
        io_callback(print, None, action)
        return super().step(key, params, state, action)


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        (Remembers, "step changes its attribute 'count' while it is traced, a Python side effect"),
        (KeepsLists, "observe changes the class attribute KeepsLists.seen while it is traced"),
        (AppendsToGlobal, "reset changes the global 'CALLS' while it is traced"),
        (CountsGlobally, "sample changes the global 'COUNT' while it is traced"),
        (KeepsTracers, "step (changes its attribute 'last'|cannot be traced by JAX)"),
        (RollsDice, "step is not pure: traced twice it gave two programs"),
        (NumpyNoise, "observe is not pure: traced twice it gave two programs"),
        (CallsBack, "step acts on the world outside"),
    ],
)
def test_a_python_side_effect_is_named(kind, rule):
    with pytest.raises(TaskError, match=rule):
        check_task(kind())


class Cached(Good):
    """Remembers what never changes: no side effect."""

    @functools.cached_property
    def picture(self) -> np.ndarray:
        return np.eye(4, dtype=np.float32)

    def observe(self, params, state):
        return jax.nn.relu(jnp.asarray(self.picture)[state.cell])[None, :, None]


def test_a_cached_constant_is_no_side_effect():
    check_task(Cached())


class PrintsForDebugging(Good):
    def step(self, key, params, state, action):
        jax.debug.callback(lambda x: None, action)
        return super().step(key, params, state, action)


def test_a_debugging_callback_is_allowed():
    check_task(PrintsForDebugging(), num_steps=2)


class Unmappable(Good):
    def step(self, key, params, state, action):
        if isinstance(action, jax.core.Tracer) and "Batch" in type(action).__name__:
            raise TypeError("one lifetime only")
        return super().step(key, params, state, action)


def test_a_function_that_cannot_be_mapped_over_lifetimes_is_named():
    rule = r"step cannot be mapped over lifetimes \(jax.vmap\): one lifetime only, at .*:\d+: raise"
    with pytest.raises(TaskError, match=rule):
        check_task(Unmappable())


@pytest.mark.parametrize("name", ["OtherShape", "NanReward", "RollsDice"])
def test_training_refuses_a_broken_task_by_its_name(name):
    with pytest.raises(UsageError, match=rf"task {__name__}:{name} cannot be used: "):
        make_engine(RunConfig(task=f"{__name__}:{name}"))
