"""The library's side of a task: time limits, episodes and the end of a lifetime."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.tasks.base import begin_world, step_world
from orexis.tasks.probes import Constant
from tests.instances import small_task

UP, DOWN, LEFT, RIGHT = range(4)
KEY = jax.random.key(0)
TASK = small_task(episodes=2)  # objects two steps away, time limit 4


@pytest.fixture(scope="module")
def live():
    """Returns `live(actions) -> [(world, observation, reward, ended, outcome), ...]`, in NumPy."""
    begin = jax.jit(lambda: begin_world(TASK, KEY, jnp.zeros((), jnp.int32)))

    @jax.jit
    def step(world, action):
        world, result = step_world(TASK, KEY, world, action)
        return (
            world,
            result.observation,
            result.reward,
            result.episode_ended,
            result.outcome,
        )

    def run(*actions: int):
        world, rows = begin(), []
        for action in actions:
            world, *next_observation = step(world, jnp.int32(action))
            rows.append(jax.tree.map(np.asarray, (world, *next_observation)))
        return rows

    return run


def column(rows, name: str):
    return [getattr(row[0], name).tolist() for row in rows]


def test_a_new_world_stands_at_the_start_of_the_episode_asked_for():
    world = begin_world(TASK, KEY, jnp.int32(1))
    assert (int(world.episode), int(world.steps), float(world.alive)) == (1, 0, 1.0)
    assert (int(world.last.action), float(world.last.reward), float(world.last.done)) == (0, 0.0, 0.0)


def test_reaching_an_object_ends_the_episode_and_the_next_begins_at_the_start(live):
    rows = live(UP, LEFT, DOWN)
    world = rows[1][0]
    assert column(rows, "episode") == [0, 1, 1]
    assert column(rows, "steps") == [1, 0, 1]
    assert [bool(row[3]) for row in rows] == [False, True, False]
    assert [int(row[4]) for row in rows] == [-1, 0, -1]  # A
    np.testing.assert_array_equal(world.state.position, [1, 1])  # reset
    assert rows[1][1][0, 0, 0] == 1.0  # but the arrival was observed in A's corner
    assert rows[1][2] == world.params.rewards[0]


def test_the_time_limit_ends_an_episode_like_termination_does(live):
    rows = live(UP, DOWN, UP, DOWN, UP)
    assert [bool(row[3]) for row in rows] == [False, False, False, True, False]
    assert column(rows, "steps") == [1, 2, 3, 0, 1]
    assert column(rows, "episode") == [0, 0, 0, 1, 1]
    assert int(rows[3][4]) == -1  # nothing was reached


def test_the_world_remembers_what_the_last_step_told(live):
    rows = live(UP, LEFT)
    assert (int(rows[0][0].last.action), float(rows[0][0].last.reward), float(rows[0][0].last.done)) == (UP, 0.0, 0.0)
    last = rows[1][0].last
    assert (int(last.action), float(last.done)) == (LEFT, 1.0)
    assert last.reward == rows[1][0].params.rewards[0]


def test_after_the_last_episode_a_world_is_dead_and_pays_nothing(live):
    to_a = (UP, LEFT)
    rows = live(*to_a, *to_a, *to_a)  # two episodes, and a third that is none
    assert column(rows, "alive") == [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    worth = float(rows[0][0].params.rewards[0])
    assert worth != 0.0
    np.testing.assert_allclose([row[2] for row in rows], [0.0, worth, 0.0, worth, 0.0, 0.0])


def test_the_task_is_drawn_once_a_lifetime(live):
    rows = live(UP, LEFT, UP, LEFT)
    for row in rows:
        np.testing.assert_array_equal(row[0].params.rewards, rows[0][0].params.rewards)


def test_a_task_without_outcomes_reports_none():
    task = Constant(length=1)
    _, result = step_world(task, KEY, begin_world(task, KEY, jnp.int32(0)), jnp.int32(0))
    assert int(result.outcome) == -1
    assert bool(result.episode_ended)
