import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.config import MetaConfig
from orexis.meta.lifetime import begin_lifetime, lifetime_key, window_key
from orexis.meta.parts import make_parts
from orexis.networks import policy
from orexis.tasks.probes import Bandit
from tests.instances import AGENTS, HISTORY_NET, LENGTH, small_parts

SEED = 3


@pytest.fixture(scope="module")
def newborns():
    """Lifetimes of slots 0..7, all of generation 0, at the start of episode 0."""
    return jax.jit(make_newborns)(jnp.arange(8, dtype=jnp.int32), jnp.zeros(8, jnp.int32), jnp.zeros(8, jnp.int32))


def make_newborns(slots: jax.Array, generations: jax.Array, episodes: jax.Array):
    parts = small_parts()
    eta = parts.reward.init(jax.random.key(0))
    return jax.vmap(lambda *numbers: begin_lifetime(parts, eta, SEED, *numbers))(slots, generations, episodes)


def row(tree, index: int):
    return jax.tree.map(lambda x: np.asarray(x[index]), tree)


def test_a_lifetime_does_not_depend_on_the_batch_that_it_is_born_in(newborns):
    slots = jnp.arange(4, dtype=jnp.int32)
    four = jax.jit(make_newborns)(slots, 0 * slots, 0 * slots)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7), row(four, 3), row(newborns, 3))


def test_slots_have_different_tasks_thetas_and_dice(newborns):
    assert len(np.unique(newborns.world.params.rewards[:, 0])) == 8
    assert len(np.unique(newborns.agent.theta["hidden"]["w"][:, 0, 0])) == 8
    assert len(np.unique(newborns.rollout.action, axis=0)) > 1


def test_generations_of_a_slot_have_different_tasks_and_thetas(newborns):
    slots = jnp.full(8, 3, jnp.int32)
    later = jax.jit(make_newborns)(slots, jnp.arange(8, dtype=jnp.int32), 0 * slots)
    assert len(np.unique(later.world.params.rewards[:, 0])) == 8
    assert len(np.unique(later.agent.theta["hidden"]["w"][:, 0, 0])) == 8
    jax.tree.map(np.testing.assert_array_equal, row(later, 0), row(newborns, 3))


def test_a_newborn_has_lived_no_window_and_its_recurrent_states_are_zero(newborns):
    np.testing.assert_array_equal(newborns.slot, np.arange(8))
    np.testing.assert_array_equal(newborns.generation, np.zeros(8))
    np.testing.assert_array_equal(newborns.age, np.zeros(8))
    for state in jax.tree.leaves((newborns.reward_state, newborns.value_state)):
        np.testing.assert_array_equal(state, np.zeros(state.shape))


def test_the_first_rollout_was_acted_with_the_fresh_theta(newborns):
    assert newborns.rollout.action.shape == (8, LENGTH)
    newborn = row(newborns, 5)
    np.testing.assert_allclose(
        newborn.rollout.value, policy.apply(newborn.agent.theta, newborn.rollout.observation)[1], rtol=1e-4, atol=1e-6
    )
    # … in the task's first state: the agent stands in the middle of the 3×3 map
    assert newborn.rollout.observation[0, 1, 1, 0] == 1.0


def test_the_first_rollout_counts_in_what_the_lifetime_has_earned(newborns):
    np.testing.assert_allclose(newborns.extrinsic, np.sum(newborns.rollout.reward, axis=1), rtol=1e-6)
    ended = np.sum(np.asarray(newborns.rollout.episode_goes_on) == 0.0, axis=1)
    assert ended.any()
    np.testing.assert_array_equal(newborns.episodes, ended)
    np.testing.assert_array_equal(newborns.world.episode, ended)


def test_episodes_that_only_the_dead_world_goes_through_are_not_counted():
    config = MetaConfig(agent=AGENTS["sgd"], reward=HISTORY_NET)
    parts = make_parts(Bandit(episodes=2), config, "dense")

    @jax.jit
    def born_at(episode: jax.Array):
        eta = parts.reward.init(jax.random.key(0))
        return begin_lifetime(parts, eta, SEED, jnp.int32(0), jnp.int32(0), episode)

    # A pull of the bandit is an episode, a rollout has three: the second, and two that are none.
    lifetime = born_at(jnp.int32(1))
    np.testing.assert_array_equal(lifetime.rollout.in_lifetime, [1.0, 0.0, 0.0])
    assert int(lifetime.episodes) == 1


def test_keys_of_windows_differ_from_each_other_and_from_those_of_the_birth(newborns):
    newborn = jax.tree.map(lambda x: x[0], newborns)
    key = lifetime_key(SEED, newborn.slot, newborn.generation)
    birth = [jax.random.key_data(jax.random.fold_in(key, stream)) for stream in range(3)]
    lifetimes = [dataclasses.replace(newborn, age=jnp.int32(age)) for age in range(3)]
    windows = [jax.random.key_data(window_key(SEED, lifetime)) for lifetime in lifetimes]
    assert len({tuple(np.asarray(data).tolist()) for data in (*birth, *windows)}) == 6


def test_keys_differ_between_seeds_slots_and_generations():
    keys = [
        tuple(np.asarray(jax.random.key_data(lifetime_key(seed, slot, generation))).tolist())
        for seed in (0, 1)
        for slot in (0, 1, 2)
        for generation in (0, 1, 2)
    ]
    assert len(set(keys)) == len(keys)
