"""gymnax environments as tasks: stand-ins for both generations of its API, and the real thing where it is installed."""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.tasks.adapters import GymnaxTask, from_gymnax
from orexis.tasks.base import begin_world, step_world
from orexis.testing import check_task

KEY = jax.random.key(0)


class Params(NamedTuple):
    goal: float = 3.0
    max_steps_in_episode: int = 7


class State(NamedTuple):
    place: int
    time: int


class Choices(NamedTuple):
    n: int


class Walk:
    """Looks like a gymnax 0.x environment: one step to the right or back; done in the goal or at the time limit."""

    default_params = Params()
    shape: tuple[int, ...] = (4,)

    def action_space(self, params):
        return Choices(2)

    def reset_env(self, key, params):
        return self.picture(0), State(0, 0)  # Python numbers, as gymnax has them

    def step_env(self, key, state, action, params):
        place = jnp.clip(state.place + 2 * action - 1, 0, 3)
        time = state.time + 1
        reward = (place == params.goal) * 2  # an integer, as some have it
        done = (place == params.goal) | (time >= params.max_steps_in_episode)
        return self.picture(place), State(place, time), reward, done, {}

    def picture(self, place):
        return (jnp.arange(4) == place).astype(jnp.int32).reshape(self.shape)


class SixValues(Walk):
    """Returns six values: terminated and truncated apart."""

    def step_env(self, key, state, action, params):
        observation, state, reward, _, info = super().step_env(key, state, action, params)
        return observation, state, reward, state.place == params.goal, state.time >= params.max_steps_in_episode, info


class Truncating(Walk):
    """gymnax 1.x as it is: five values, `is_truncated` beside them."""

    def step_env(self, key, state, action, params):
        observation, state, reward, _, info = super().step_env(key, state, action, params)
        return observation, state, reward, state.place == params.goal, info

    def is_truncated(self, state, params):
        return state.time >= params.max_steps_in_episode


def sample_goal(key, params):
    return params._replace(goal=jax.random.randint(key, (), 1, 4).astype(jnp.float32))


@pytest.mark.parametrize("kind", [Walk, SixValues, Truncating])
def test_either_generation_of_gymnax_is_a_task(kind):
    task = from_gymnax(kind(), sample_goal, episodes=3)
    check_task(task, num_steps=20)
    assert task.spec.num_actions == 2
    assert (task.spec.time_limit, task.spec.episodes_per_lifetime) == (7, 3)


@pytest.mark.parametrize("kind", [Walk, SixValues, Truncating])
def test_the_goal_pays_and_ends_the_episode_and_time_ends_it_too(kind):
    task = from_gymnax(kind())
    params = task.sample(KEY)
    step = jax.jit(lambda state, action: task.step(KEY, params, state, action))

    def walk(*actions):
        state, rows = task.reset(KEY, params, jnp.int32(0)), []
        for action in actions:
            state, reward, ended = step(state, jnp.int32(action))
            rows.append((float(reward), bool(ended)))
        return rows

    assert walk(1, 1, 1) == [(0.0, False), (0.0, False), (2.0, True)]
    assert walk(0, 0, 0, 0, 0, 0, 0) == 6 * [(0.0, False)] + [(0.0, True)]


def test_params_are_drawn_once_a_lifetime():
    task = from_gymnax(Walk(), sample_goal)
    goals = jax.vmap(task.sample)(jax.random.split(KEY, 300)).goal
    assert set(goals.tolist()) == {1.0, 2.0, 3.0}
    world = begin_world(task, KEY, jnp.int32(0))
    for number in range(10):
        following, _ = step_world(task, jax.random.fold_in(KEY, number), world, jnp.int32(1))
        assert following.params.goal == world.params.goal
        world = following
    assert int(world.episode) > 0


@pytest.mark.parametrize(
    ("shape", "image"), [((4,), (1, 4, 1)), ((2, 2), (2, 2, 1)), ((1, 2, 2), (1, 2, 2)), ((1, 2, 2, 1), (1, 4, 1))]
)
def test_what_is_no_image_becomes_one(shape, image):
    environment = Walk()
    environment.shape = shape
    task = from_gymnax(environment)
    assert task.spec.observation_shape == image
    seen = task.observe(task.sample(KEY), task.reset(KEY, task.sample(KEY), jnp.int32(0)))
    assert seen.shape == image
    assert seen.dtype == jnp.float32
    np.testing.assert_array_equal(np.ravel(seen), [1, 0, 0, 0])


def test_a_time_limit_of_ones_own_goes_before():
    assert from_gymnax(Walk(), time_limit=4).spec.time_limit == 4


class Continuous(Walk):
    def action_space(self, params):
        return object()


class Endless(Walk):
    default_params = dataclasses.make_dataclass("Nothing", [])()


class FourValues(Walk):
    def step_env(self, key, state, action, params):
        return super().step_env(key, state, action, params)[:4]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (object, "object is no gymnax environment: it has no step_env"),
        (Continuous, "the actions of Continuous are not discrete"),
        (Endless, "Endless has no time limit of its own"),
    ],
)
def test_what_cannot_be_a_task_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        from_gymnax(make())


def test_a_step_of_four_values_is_refused_by_check_task():
    with pytest.raises(ValueError, match="step_env must return 5 or 6 values, not 4"):
        check_task(from_gymnax(FourValues()))


def test_without_gymnax_one_is_told_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "gymnax", None)
    with pytest.raises(ValueError, match=r"pip install 'orexis\[gymnax\]'"):
        from_gymnax("CartPole-v1")


@pytest.mark.parametrize("name", ["CartPole-v1", "FourRooms-misc", "Catch-bsuite", "Breakout-MinAtar"])
def test_real_gymnax_environments_are_tasks(name):
    pytest.importorskip("gymnax")
    task = from_gymnax(name)
    assert isinstance(task, GymnaxTask)
    check_task(task, num_steps=12)
