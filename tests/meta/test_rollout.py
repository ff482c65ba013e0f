import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.agents.actor_critic import ActorCritic
from orexis.agents.scripted import RandomAgent
from orexis.meta.privilege import Privilege
from orexis.meta.rollout import collect, play, presample_noise, split_keys
from orexis.networks import policy
from orexis.tasks.base import begin_world
from orexis.tasks.probes import Constant, Delayed
from tests.instances import AGENTS, small_task


@functools.cache
def compiled_act(task, agent):
    """Returns the compiled (key) -> (newborn, agent after, world after, rollout, steps)."""

    def run(key):
        key_world, key_agent, key_act = jax.random.split(key, 3)
        state = agent.init(key_agent)
        world = begin_world(task, key_world, jnp.zeros((), jnp.int32))
        return (state, *collect(task, agent, state, world, key_act))

    return jax.jit(run)


def act(task, agent, key: int = 0):
    return compiled_act(task, agent)(jax.random.key(key))


def test_a_lifetime_of_four_steps_by_hand():
    task = Constant(reward=0.5, length=2, episodes=2)
    _, _, world, rollout, steps = act(task, RandomAgent(task.spec, rollout_length=6))

    # steps:                                       0    1    2    3 |  4    5   the lifetime ends on arrival 3
    np.testing.assert_array_equal(rollout.reward, [0.5, 0.5, 0.5, 0.5, 0.0, 0.0])
    np.testing.assert_array_equal(rollout.episode_goes_on, [1, 0, 1, 0, 1, 0])
    np.testing.assert_array_equal(rollout.in_lifetime, [1, 1, 1, 1, 0, 0])  # step 3 is real …
    np.testing.assert_array_equal(rollout.lifetime_goes_on, [1, 1, 1, 0, 0, 0])  # … and its arrival is the end
    np.testing.assert_array_equal(steps.episode, [0, 0, 1, 1, 2, 2])
    np.testing.assert_allclose(steps.entropy, np.full(6, np.log(2.0)), rtol=1e-6)
    assert float(world.alive) == 0.0


def test_the_reward_sees_the_state_arrived_in_and_the_policy_the_one_reset_to():
    task = Delayed(delay=1, episodes=3)  # two steps an episode: choose, then arrive
    _, _, _, rollout, _ = act(task, RandomAgent(task.spec, rollout_length=4))

    seen, arrived = (
        np.argmax(rollout.observation[:, 0, :, 0], axis=1),
        np.argmax(rollout.next_observation[:, 0, :, 0], axis=1),
    )
    np.testing.assert_array_equal(rollout.episode_goes_on, [1, 0, 1, 0])
    branch = np.where(np.asarray(rollout.action)[[0, 2]] == 0, 1, 2)
    np.testing.assert_array_equal(arrived, np.repeat(branch, 2))  # terminal states included
    np.testing.assert_array_equal(seen, [0, branch[0], 0, branch[1], 0])  # after an end: the first state again
    np.testing.assert_array_equal(rollout.reward, [0.0, branch[0] == 1, 0.0, branch[1] == 1])


def test_agent_and_world_throw_dice_of_their_own():
    noise = split_keys(jax.random.key(0), 5)
    keys = np.concatenate([jax.random.key_data(noise.acting), jax.random.key_data(noise.world)])
    assert len(np.unique(keys, axis=0)) == 6 + 5


def test_noise_drawn_ahead_leads_to_the_same_rollout():
    task, length = small_task(), 8
    agent = ActorCritic(task.spec, dataclasses.replace(AGENTS["sgd"], rollout_length=length))
    state = agent.init(jax.random.key(1))
    world = begin_world(task, jax.random.key(2), jnp.zeros((), jnp.int32))

    def by_keys(key):
        return collect(task, agent, state, world, key)[1:]

    def by_noise(key):
        return play(task, agent, state, world, presample_noise(key, length, task.spec.num_actions))[1:]

    keys = jax.random.split(jax.random.key(3), 16)
    expected, ours = (jax.jit(jax.vmap(run))(keys) for run in (by_keys, by_noise))
    assert len(np.unique(expected[1].action, axis=0)) > 8  # chance does decide
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7), ours, expected)


@pytest.fixture(scope="module")
def rollout_of_an_actor_critic():
    task = small_task()
    return act(task, ActorCritic(task.spec, dataclasses.replace(AGENTS["sgd"], rollout_length=8)))


def test_values_are_recorded_under_the_parameters_that_acted_bootstrap_included(rollout_of_an_actor_critic):
    before, after, _, rollout, steps = rollout_of_an_actor_critic
    logits, values = policy.apply(before.theta, rollout.observation)
    assert rollout.value.shape == (9,)
    np.testing.assert_allclose(rollout.value, values, rtol=1e-4, atol=1e-6)
    log_pi = np.asarray(jax.nn.log_softmax(logits))[:-1]
    np.testing.assert_allclose(steps.entropy, -np.sum(np.exp(log_pi) * log_pi, axis=1), rtol=1e-4)
    jax.tree.map(np.testing.assert_array_equal, after, before)  # acting teaches nothing


def test_outcomes_stand_where_an_episode_ended_at_an_object_and_nowhere_else(rollout_of_an_actor_critic):
    _, _, world, rollout, steps = rollout_of_an_actor_critic
    reached = np.asarray(steps.outcome)
    places = {0: (0, 0), 1: (0, 2), 2: (2, 0)}  # A, B, C on the small map
    assert (reached >= 0).any()
    for t, outcome in enumerate(reached):
        row, column = np.argwhere(np.asarray(rollout.next_observation)[t, :, :, 0] == 1.0)[0]
        at_object = {place: name for name, place in places.items()}.get((int(row), int(column)), -1)
        assert outcome == at_object
        if outcome >= 0:
            assert rollout.episode_goes_on[t] == 0.0
            assert rollout.reward[t] == world.params.rewards[outcome]
        else:
            assert rollout.reward[t] == 0.0


def test_dice_come_from_the_key_alone(rollout_of_an_actor_critic):
    task = small_task()
    agent = ActorCritic(task.spec, dataclasses.replace(AGENTS["sgd"], rollout_length=8))
    again, other = act(task, agent, key=0), act(task, agent, key=1)
    np.testing.assert_array_equal(again[3].action, rollout_of_an_actor_critic[3].action)
    assert np.any(np.asarray(other[3].action) != np.asarray(again[3].action))


def test_the_alternative_that_was_taken_is_what_happened_and_others_are_not():
    task = small_task(episodes=2)
    agent = RandomAgent(task.spec, rollout_length=12)

    def run(key):
        world = begin_world(task, jax.random.fold_in(key, 0), jnp.zeros((), jnp.int32))
        privilege = Privilege.of(task)
        return play(task, agent, (), world, split_keys(jax.random.fold_in(key, 1), 12), privilege, all_actions=True)

    _, _, rollout, steps = jax.jit(run)(jax.random.key(0))
    others, rows = steps.alternatives, np.arange(12)
    assert others.next_observation.shape == (12, task.spec.num_actions, *task.spec.observation_shape)
    for name in ("next_observation", "reward", "episode_goes_on", "lifetime_goes_on"):
        taken = np.asarray(getattr(others, name))[rows, np.asarray(rollout.action)]
        np.testing.assert_array_equal(taken, getattr(rollout, name), err_msg=name)
    after = np.asarray(others.hints)[rows, np.asarray(rollout.action)]
    np.testing.assert_allclose(after[:, :-1], rollout.hints[1:, :-1], rtol=1e-6)  # but for the policy's entropy
    assert rollout.hints.shape == (13, after.shape[1])
    assert not np.array_equal(others.next_observation[:, 0], others.next_observation[:, 1])
    assert float(rollout.lifetime_goes_on[-1]) == 0.0  # the lifetime's end was among them
