"""Whole lifetimes: what evaluation runs."""

import jax
import numpy as np
import pytest

from orexis.agents.actor_critic import ActorCritic
from orexis.agents.scripted import NearOptimalABC, RandomAgent
from orexis.evaluation.lifetimes import Episodes, evaluate_lifetimes, record_rollout
from orexis.meta.engine import make_mesh
from orexis.rewards.extrinsic import Extrinsic
from orexis.rewards.learned import LearnedReward
from orexis.tasks.abc import RandomABC
from orexis.tasks.probes import Bandit, Constant
from orexis.types import Rollout, Steps
from tests.instances import AGENTS, HISTORY_NET, LENGTH, small_task


def live(
    task, agent, source=None, params=(), num_lifetimes: int = 8, num_devices: int = 1, chunk: int = 8, seed: int = 0
):
    mesh = make_mesh(jax.devices()[:num_devices])
    source = Extrinsic() if source is None else source
    results = evaluate_lifetimes(task, agent, (), source, params, seed, num_lifetimes, mesh, chunk)
    return results[:2]


@pytest.fixture(scope="module")
def near_optimal_lifetimes():
    task = RandomABC()
    return live(task, NearOptimalABC(task.spec), num_lifetimes=1024, chunk=1024)


def test_the_near_optimal_strategy_tries_a_then_c_then_takes_the_better_in_every_lifetime(near_optimal_lifetimes):
    params, episodes = near_optimal_lifetimes
    a, _, c = params.rewards.T
    np.testing.assert_array_equal(episodes.extrinsic[:, 0], a)
    np.testing.assert_array_equal(episodes.extrinsic[:, 1], c)
    np.testing.assert_array_equal(episodes.extrinsic[:, 2:], np.repeat(np.maximum(a, c)[:, None], 48, axis=1))
    np.testing.assert_array_equal(episodes.length, np.full((1024, 50), 4.0))  # 4 steps from the centre to a corner
    np.testing.assert_array_equal(episodes.outcome[:, 0], np.zeros(1024))  # A
    np.testing.assert_array_equal(episodes.outcome[:, 1], np.full(1024, 2))  # C
    np.testing.assert_array_equal(episodes.outcome[:, 2:], np.repeat(np.where(a >= c, 0, 2)[:, None], 48, axis=1))


def test_the_near_optimal_strategy_earns_0385_an_episode_on_average(near_optimal_lifetimes):
    _, episodes = near_optimal_lifetimes
    # E[A] = 0, E[C] = 1/4, E[max(A, C)] = 19/48: (0 + 1/4 + 48·19/48) / 50 = 0.385
    means = episodes.extrinsic.mean(axis=1)
    error = means.std(ddof=1) / np.sqrt(1024)
    assert error < 0.015
    assert abs(means.mean() - 0.385) < 2.6 * error  # the 99 % interval


def test_in_the_constant_world_every_episode_returns_its_length_times_the_reward():
    task = Constant(reward=0.5, length=3, episodes=7)
    _, episodes = live(task, RandomAgent(task.spec, rollout_length=4))  # rollouts straddle episodes and the end
    np.testing.assert_array_equal(episodes.length, np.full((8, 7), 3.0))
    np.testing.assert_array_equal(episodes.extrinsic, np.full((8, 7), 1.5))
    np.testing.assert_array_equal(episodes.intrinsic, np.full((8, 7), 1.5))  # paid by `Extrinsic`
    np.testing.assert_allclose(episodes.entropy, np.full((8, 7), 3 * np.log(2.0)), rtol=1e-5)
    np.testing.assert_array_equal(episodes.outcome, np.full((8, 7), -1))


@pytest.fixture(scope="module")
def learned_source():
    source = LearnedReward(small_task(6).spec, HISTORY_NET)
    return source, jax.jit(source.init)(jax.random.key(0))


@pytest.fixture(scope="module")
def lifetimes_of_an_actor_critic(learned_source):
    task = small_task(6)
    return live(task, ActorCritic(task.spec, AGENTS["sgd"]), *learned_source)


def test_the_table_of_episodes_adds_up(lifetimes_of_an_actor_critic):
    params, episodes = lifetimes_of_an_actor_critic
    assert episodes.length.min() >= 2.0  # no object is nearer
    assert episodes.length.max() <= 4.0  # the time limit
    assert set(np.unique(episodes.outcome)) == {-1, 0, 1, 2}
    reached = episodes.outcome >= 0
    paid = np.take_along_axis(params.rewards, np.maximum(episodes.outcome, 0), axis=1)
    np.testing.assert_array_equal(episodes.extrinsic, np.where(reached, paid, 0.0))
    assert (np.abs(episodes.intrinsic) < episodes.length * np.pi / 2).all()
    assert (episodes.intrinsic != 0.0).all()
    assert ((episodes.entropy > 0.0) & (episodes.entropy <= 1.001 * episodes.length * np.log(4.0))).all()


def test_lifetimes_depend_neither_on_the_chunk_nor_on_the_devices(learned_source, lifetimes_of_an_actor_critic):
    task = small_task(6)
    params, episodes = live(
        task, ActorCritic(task.spec, AGENTS["sgd"]), *learned_source, num_lifetimes=7, num_devices=2, chunk=2
    )
    expected_params, expected = jax.tree.map(lambda x: x[:7], lifetimes_of_an_actor_critic)
    np.testing.assert_array_equal(params.rewards, expected_params.rewards)
    np.testing.assert_array_equal(episodes.length, expected.length)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5), episodes, expected)


def test_sources_pay_the_same_newborn_in_the_same_task_and_make_another_agent_of_it(lifetimes_of_an_actor_critic):
    task = small_task(6)
    params, paid_by_the_task = live(task, ActorCritic(task.spec, AGENTS["sgd"]))
    expected_params, paid_by_eta = lifetimes_of_an_actor_critic
    np.testing.assert_array_equal(params.rewards, expected_params.rewards)
    untaught = paid_by_the_task.length[:, 0] <= LENGTH  # the first episode was over before the first update
    assert untaught.sum() >= 3
    for name in ("extrinsic", "length", "outcome", "entropy"):
        ours, expected = (getattr(table, name)[untaught, 0] for table in (paid_by_the_task, paid_by_eta))
        np.testing.assert_allclose(ours, expected, rtol=1e-5)
    assert np.all(paid_by_the_task.entropy[:, -1] != paid_by_eta.entropy[:, -1])


def test_seeds_give_other_lifetimes(near_optimal_lifetimes):
    task = RandomABC()
    params, _ = live(task, NearOptimalABC(task.spec), num_lifetimes=1024, chunk=1024, seed=1)
    assert np.all(params.rewards != near_optimal_lifetimes[0].rewards)


def test_every_rollout_of_a_lifetime_has_dice_of_its_own():
    task = Bandit(arms=2, episodes=12)
    _, episodes = live(task, RandomAgent(task.spec, rollout_length=1))  # one pull a rollout
    # The chance that a fair coin falls alike in episodes 1 to 11 is 2 · 2^-11, for some of 8 lifetimes 0.8 %.
    assert (episodes.extrinsic[:, 1:].std(axis=1) > 0.0).all()


def test_a_row_of_the_table_by_hand():
    rollout = Rollout(
        observation=np.zeros((5, 1, 1, 1)),
        next_observation=np.zeros((4, 1, 1, 1)),
        action=np.zeros(4, np.int32),
        reward=np.array([1.0, 2.0, 4.0, 8.0]),
        episode_goes_on=np.array([1.0, 0.0, 0.0, 1.0]),
        lifetime_goes_on=np.array([1.0, 1.0, 0.0, 0.0]),
        in_lifetime=np.array([1.0, 1.0, 1.0, 0.0]),
        value=np.zeros(5),
    )
    steps = Steps(
        episode=np.array([0, 0, 1, 2]), entropy=np.array([0.1, 0.2, 0.3, 0.4]), outcome=np.array([-1, 2, 0, 1])
    )
    table = record_rollout(Episodes.empty(3), rollout, steps, np.array([10.0, 20.0, 40.0, 80.0]))
    # Episode 0: steps 0 and 1. Episode 1: step 2. Step 3 is after the lifetime's end.
    np.testing.assert_allclose(table.extrinsic, [3.0, 4.0, 0.0])
    np.testing.assert_allclose(table.intrinsic, [30.0, 40.0, 0.0])
    np.testing.assert_allclose(table.length, [2.0, 1.0, 0.0])
    np.testing.assert_allclose(table.entropy, [0.3, 0.3, 0.0], rtol=1e-6)
    np.testing.assert_array_equal(table.outcome, [2, 0, -1])
