"""The scripted agents step by step; their whole lifetimes are in tests/evaluation/test_lifetimes.py."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.agents.scripted import NearOptimalABC, RandomAgent
from orexis.tasks.abc import RandomABC
from orexis.types import Last

UP, DOWN, LEFT, RIGHT = range(4)
TASK = RandomABC()
KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def act():
    """Returns `act(state, (row, column), reward, done) -> (action, state)` of the near-optimal agent."""
    agent = NearOptimalABC(TASK.spec)
    blank = TASK.observe(TASK.sample(KEY), TASK.reset(KEY, TASK.sample(KEY), jnp.int32(0)))

    @jax.jit
    def compiled(state, observation, reward, done):
        last = Last(action=jnp.int32(0), reward=reward, done=done)
        action, _, _, state = agent.act(state, observation, last, KEY)
        return action, state

    def run(state, place, reward=0.0, done=0.0):
        observation = np.array(blank)
        observation[:, :, 0] = 0.0
        observation[(*place, 0)] = 1.0
        action, state = compiled(state, observation, jnp.float32(reward), jnp.float32(done))
        return int(action), state

    run.newborn = agent.init(KEY)
    return run


def test_it_walks_to_a_first_rows_before_columns(act):
    assert act(act.newborn, (2, 2))[0] == UP
    assert act(act.newborn, (0, 2))[0] == LEFT


def test_after_the_first_episode_it_walks_to_c(act):
    action, state = act(act.newborn, (2, 2), reward=0.7, done=1.0)
    assert action == DOWN
    assert int(state.episode) == 1
    np.testing.assert_allclose(state.seen, [0.7, 0.0])


@pytest.mark.parametrize(("paid_by_c", "towards"), [(0.2, UP), (0.9, DOWN)], ids=["A is better", "C is better"])
def test_after_the_second_episode_it_walks_to_the_better_of_the_two(act, paid_by_c: float, towards: int):
    _, state = act(act.newborn, (2, 2), reward=0.7, done=1.0)
    action, state = act(state, (2, 2), reward=paid_by_c, done=1.0)
    assert action == towards
    # … for good: what later episodes pay does not change its mind
    action, state = act(state, (2, 2), reward=-5.0, done=1.0)
    assert action == towards


def test_a_step_inside_an_episode_changes_nothing(act):
    _, state = act(act.newborn, (1, 2), reward=0.0, done=0.0)
    assert int(state.episode) == 0


def test_the_random_agent_is_uniform():
    agent = RandomAgent(TASK.spec)
    draw = jax.jit(jax.vmap(lambda key: agent.act((), jnp.zeros(TASK.spec.observation_shape), Last.nothing(), key)[0]))
    counts = np.bincount(draw(jax.random.split(KEY, 4000)), minlength=4)
    np.testing.assert_allclose(counts / 4000, np.full(4, 0.25), atol=0.03)
