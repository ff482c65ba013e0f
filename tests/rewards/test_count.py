"""The count bonus: by hand, against a plain dictionary, and whether it explores."""

import collections
import dataclasses

import jax
import numpy as np
import pytest

from orexis.agents.actor_critic import ActorCritic
from orexis.evaluation.lifetimes import evaluate_lifetimes
from orexis.meta.engine import make_mesh
from orexis.presets import preset
from orexis.rewards.count import Count, hash_observations
from orexis.rewards.extrinsic import Extrinsic
from orexis.statistics import bootstrap_interval
from orexis.tasks.empty_rooms import EmptyRooms
from orexis.tasks.key_box import KeyBox
from tests.instances import random_rollout, small_task

TASK = small_task()
TABLE = TASK.observation_table()


def rollout_through(states: list[int], in_lifetime: list[float] | None = None):
    """Returns a rollout that arrives in the rows `states` of the table and is paid nothing."""
    plain = random_rollout(0, len(states), TASK.spec)
    lived = np.ones(len(states)) if in_lifetime is None else in_lifetime
    return dataclasses.replace(
        plain,
        next_observation=TABLE[np.array(states)],
        reward=np.zeros(len(states), np.float32),
        in_lifetime=np.asarray(lived, np.float32),
    )


def pay(source: Count, *rollouts) -> np.ndarray:
    key = jax.random.key(0)
    scale = source.init(key)
    state, paid = source.begin(scale, key), []
    for rollout in rollouts:
        rewards, state = source.unroll(scale, state, rollout)
        paid.append(rewards)
    return np.concatenate(paid)


def test_the_nth_arrival_in_a_state_pays_scale_over_root_n():
    paid = pay(Count(TASK, scale=6.0), rollout_through([2, 3, 2, 2]), rollout_through([2, 0, 3, 2]))
    # state 2 at its 1st, 2nd, 3rd, 4th, 5th time; state 3 at its 1st and 2nd; state 0 at its first
    root = np.sqrt
    np.testing.assert_allclose(
        paid, [6.0, 6.0, 6 / root(2), 6 / root(3), 3.0, 6.0, 6 / root(2), 6 / root(5)], rtol=1e-6
    )


def test_the_bonus_comes_on_top_of_the_extrinsic_reward():
    rollout = dataclasses.replace(rollout_through([1, 1]), reward=np.array([0.25, -1.0], np.float32))
    np.testing.assert_allclose(pay(Count(TASK, scale=1.0), rollout), [1.25, -1.0 + 0.5**0.5], rtol=1e-6)


def test_what_is_beyond_the_lifetime_is_neither_counted_nor_paid():
    rollout = rollout_through([1, 1, 1], in_lifetime=[1.0, 0.0, 0.0])
    np.testing.assert_allclose(pay(Count(TASK, scale=1.0), rollout, rollout), [1, 0, 0, 0.5**0.5, 0, 0], rtol=1e-6)


def test_hashed_counts_are_those_of_a_dictionary_where_states_are_few():
    task = KeyBox()
    keys = jax.random.split(jax.random.key(0), 40)
    params = task.sample(keys[0])
    seen = np.asarray(jax.vmap(lambda key: task.observe(params, task.reset(key, params, 0)))(keys))  # f32[40, H, W, C]
    order = np.random.default_rng(0).integers(0, 40, 200)
    plain = random_rollout(0, 200, task.spec)
    rollout = dataclasses.replace(plain, next_observation=seen[order], reward=np.zeros(200, np.float32))
    counts: collections.Counter = collections.Counter()
    expected = []
    for number in order:
        counts[number] += 1
        expected.append(counts[number] ** -0.5)
    np.testing.assert_allclose(pay(Count(task, scale=1.0), rollout), expected, rtol=1e-6)


def test_hashes_spread_over_the_buckets():
    task = KeyBox()
    keys = jax.random.split(jax.random.key(1), 4096)
    params = task.sample(keys[0])
    seen = jax.jit(jax.vmap(lambda key: task.observe(params, task.reset(key, params, 0))))(keys)
    hashes = np.asarray(hash_observations(seen))
    assert hashes.min() >= 0
    distinct = len(np.unique(np.asarray(seen).reshape(4096, -1), axis=0))
    assert len(np.unique(hashes)) >= distinct - 1  # 4096² / 2 pairs in 2^31: 0.004 collisions are expected
    filled = np.bincount(hashes % 64, minlength=64)
    assert filled.min() > 30  # 64 ± 8
    assert filled.max() < 100


@pytest.mark.slow
def test_counting_explores_more_of_the_empty_rooms_than_the_extrinsic_reward_does():
    # A young agent wanders anyway, so it takes many lifetimes and a bonus that is not small, see
    # docs/reference/evaluation.md.
    task = EmptyRooms(episodes=40)
    agent = ActorCritic(task.spec, preset("empty-rooms").agent)

    def cells_seen(source) -> np.ndarray:
        """Returns i[n], the different cells that each lifetime arrives in within its first 3000 steps."""
        mesh = make_mesh(jax.devices()[:2])
        params = source.init(jax.random.key(0))
        _, _, trace = evaluate_lifetimes(task, agent, (), source, params, 2026, 64, mesh, chunk=8, traced=True)
        return np.array([len(set(row) - {-1}) for row in trace.next_observation[:, :3000]])

    by_count, by_reward = cells_seen(Count(task, 0.3)), cells_seen(Extrinsic())
    low, _ = bootstrap_interval(by_count - by_reward)
    assert low > 0.0, (by_count, by_reward)
