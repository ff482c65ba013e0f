"""`check_task` lets good tasks pass and refuses each kind of broken one, by name of the rule."""

import dataclasses
import inspect
import random
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.config import TaskSpec
from orexis.tasks.probes import Bandit, Constant, Delayed
from orexis.tasks.registry import TASKS, make_task
from orexis.testing import TaskError, check_task
from orexis.types import record
from tests.instances import small_task


@pytest.mark.parametrize("name", TASKS)
def test_every_registered_task_passes(name: str):
    check_task(make_task(name), num_steps=12)


def test_a_small_map_passes():
    check_task(small_task(), num_steps=12)


@record
class KeyedState:
    key: jax.Array
    steps: jax.Array


@dataclasses.dataclass(frozen=True)
class KeepsAKey(Constant):
    """Has a typed key in its state: allowed, since a state may hold any arrays."""

    def reset(self, key, params, episode):
        return KeyedState(key=key, steps=jnp.zeros((), jnp.int32))

    def step(self, key, params, state, action):
        key_next, key_reward = jax.random.split(state.key)
        return KeyedState(key_next, state.steps + 1), jax.random.uniform(key_reward), jnp.array(False)


def test_a_task_that_keeps_a_key_in_its_state_passes():
    check_task(KeepsAKey(), num_steps=4)


def test_a_task_that_draws_from_its_keys_passes():
    @dataclasses.dataclass(frozen=True)
    class Noisy(Constant):
        def step(self, key, params, state, action):
            return state, jax.random.normal(key), jnp.array(False)

    check_task(Noisy(), num_steps=4)


# The broken ones. Each differs from a good probe world in one thing.


class WrongShape(Constant):
    def observe(self, params, state):
        return jnp.ones((2, 1, 1))


class IntegerObservation(Constant):
    def observe(self, params, state):
        return jnp.ones((1, 1, 1), jnp.int32)


class InfiniteObservation(Constant):
    def observe(self, params, state):
        return jnp.full((1, 1, 1), jnp.inf)


class NanReward(Constant):
    def step(self, key, params, state, action):
        return state, jnp.where(action == 0, jnp.nan, 1.0), jnp.array(False)


class IntegerReward(Constant):
    def step(self, key, params, state, action):
        return state, jnp.int32(1), jnp.array(False)


class VectorReward(Constant):
    def step(self, key, params, state, action):
        return state, jnp.ones(1), jnp.array(False)


class FloatTerminated(Constant):
    def step(self, key, params, state, action):
        return state, jnp.ones(()), jnp.zeros(())


class TwoResults(Constant):
    def step(self, key, params, state, action):
        return state, jnp.ones(())


class ChangesDtype(Delayed):
    def step(self, key, params, state, action):
        state, reward, terminated = super().step(key, params, state, action)
        return dataclasses.replace(state, steps=state.steps.astype(jnp.float32)), reward, terminated


class ChangesShape(Delayed):
    def step(self, key, params, state, action):
        state, reward, terminated = super().step(key, params, state, action)
        return dataclasses.replace(state, steps=state.steps[None]), reward, terminated


class NumpyDice(Constant):
    def step(self, key, params, state, action):
        return state, jnp.float32(np.random.default_rng().normal()), jnp.array(False)


class PythonDice(Constant):
    def step(self, key, params, state, action):
        return state, jnp.full((), random.random()), jnp.array(False)


class Untraceable(Bandit):
    def step(self, key, params, state, action):
        reward = 1.0 if action == params.best else 0.0
        return state, jnp.float32(reward), jnp.array(True)


class WithoutNames(Constant):
    def outcome(self, params, state):
        return jnp.zeros((), jnp.int32)


class AgentEverywhere(Constant):
    """Names a plane that does not show one agent."""

    @property
    def spec(self):
        return dataclasses.replace(super().spec, observation_shape=(1, 2, 2), agent_plane=1)

    def observe(self, params, state):
        return jnp.array([[[1.0, 1.0], [0.0, 1.0]]])  # plane 0 shows one cell, plane 1 two


class FaintAgent(AgentEverywhere):
    def observe(self, params, state):
        return jnp.array([[[1.0, 0.5], [0.0, 0.0]]])


BROKEN = {
    "observe must return .* not .*2, 1, 1": WrongShape(),
    "observe must return floats": IntegerObservation(),
    "observe must return finite": InfiniteObservation(),
    "reward must be finite": NanReward(),
    "reward must be a float": IntegerReward(),
    "reward must be a scalar": VectorReward(),
    "terminated must be bool": FloatTerminated(),
    r"step must return \(state, reward, terminated\)": TwoResults(),
    "step must keep the .*int32.* became .*float32": ChangesDtype(),
    r"step must keep the .*int32\[\].* became .*int32\[1\]": ChangesShape(),
    "step .*pure": NumpyDice(),
    "step is not pure": PythonDice(),
    "step cannot be traced by JAX: TracerBoolConversionError": Untraceable(),
    "needs names for its outcomes": WithoutNames(),
    "plane 1, the spec's agent_plane, must be one in one cell at most": AgentEverywhere(),
    "agent_plane, must be one in one cell at most, else zero": FaintAgent(),
}


@pytest.mark.parametrize("rule", BROKEN, ids=[type(task).__name__ for task in BROKEN.values()])
def test_a_broken_task_is_refused_by_the_rule_that_it_breaks(rule: str):
    with pytest.raises(TaskError, match=rule):
        check_task(BROKEN[rule], num_steps=8)


def test_the_line_of_the_users_own_code_is_named():
    line = inspect.getsourcelines(Untraceable.step)[1] + 1
    place = f"{__file__}:{line}: reward = 1.0 if action == params.best else 0.0"
    said = f"(choose with jnp.where, & and ~ instead of if, and, not), at {place}"
    with pytest.raises(TaskError, match=re.escape(said)):
        check_task(Untraceable())


def test_the_line_of_the_users_own_code_is_named_where_a_library_fails():
    class Misshapen(Constant):
        def observe(self, params, state):
            return jnp.ones(2) + jnp.ones(3)

    with pytest.raises(TaskError, match=rf"TypeError: .*, at {re.escape(__file__)}:\d+: return jnp\.ones\(2\)"):
        check_task(Misshapen())


@pytest.mark.parametrize("name", ["sample", "reset", "step", "observe"])
def test_a_missing_function_is_named(name: str, monkeypatch):
    class Lacking(Constant):
        pass

    monkeypatch.setattr(Lacking, name, None)
    with pytest.raises(TaskError, match=f"task.{name} is missing"):
        check_task(Lacking())


def test_a_spec_that_is_none_is_refused():
    class Unspecified(Constant):
        spec = {"num_actions": 2}  # noqa: RUF012

    with pytest.raises(TaskError, match=r"task\.spec must be an orexis\.config\.TaskSpec, not dict"):
        check_task(Unspecified())


def test_an_unhashable_task_is_refused():
    @dataclasses.dataclass
    class Thawed:
        reward: float = 1.0

        @property
        def spec(self) -> TaskSpec:
            return Constant().spec

    with pytest.raises(TaskError, match="must be hashable"):
        check_task(Thawed())


def test_a_table_of_observations_that_is_not_what_is_seen_is_refused():
    class Mislabelled(Bandit):
        def observation_table(self):
            return np.array([[[[0.0], [1.0]]], [[[1.0], [0.0]]]], np.float32)  # the two rows exchanged

        def observation_index(self, params, state):
            return state.index

    with pytest.raises(TaskError, match=r"observation_table\[0\] is not what observe returns"):
        check_task(Mislabelled(), num_steps=2)
