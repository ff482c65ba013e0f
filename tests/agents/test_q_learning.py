"""Q-learning: its targets, its update, its dice, and that it learns."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.agents.q_learning import QLearning, action_values, q_targets
from orexis.config import QLearningConfig, Schedule
from orexis.evaluation.lifetimes import evaluate_lifetimes
from orexis.meta.engine import make_mesh
from orexis.optimizers import Adam, scheduled
from orexis.rewards.base import Returns
from orexis.rewards.extrinsic import Extrinsic
from orexis.tasks.probes import Bandit
from orexis.types import Last
from tests.instances import POLICY_NET, random_rollout, small_task

SPEC = small_task().spec
CONFIG = QLearningConfig(net=POLICY_NET, rollout_length=3, epsilon=Schedule(0.8, 0.1, 10), trace=0.5)
REWARDS = np.array([1.0, 2.0, 3.0], np.float32)


@pytest.mark.parametrize(
    ("trace", "expected"),
    [
        (0.0, [1 + 0.5 * 10, 2.0, 3 + 0.5 * 30]),  # one step: r + d·M; the second arrival ends an episode
        (1.0, [1 + 0.5 * 2, 2.0, 3 + 0.5 * 30]),  # to the rollout's end: r + d·G
        (0.5, [1 + 0.5 * (0.5 * 10 + 0.5 * 2), 2.0, 3 + 0.5 * 30]),
    ],
)
def test_targets_by_hand(trace, expected):
    discounts, following = jnp.array([0.5, 0.0, 0.5]), jnp.array([10.0, 20.0, 30.0])
    np.testing.assert_allclose(q_targets(jnp.asarray(REWARDS), discounts, following, trace), expected)


ROLLOUT = dataclasses.replace(random_rollout(3, 3, SPEC), in_lifetime=np.array([1, 1, 0], np.float32))


def test_an_update_is_a_step_of_adam_towards_fixed_targets_inside_the_lifetime():
    agent, optimizer = QLearning(SPEC, CONFIG), Adam(CONFIG.learning_rate)

    @jax.jit
    def run(key):
        before = agent.init(key)
        following = action_values(before.theta, ROLLOUT.observation[1:]).max(axis=-1)
        targets = q_targets(REWARDS, CONFIG.discount * ROLLOUT.episode_goes_on, following, CONFIG.trace)

        def loss(theta):
            values = action_values(theta, ROLLOUT.observation[:2])[jnp.arange(2), ROLLOUT.action[:2]]
            return 0.5 * jnp.sum((values - targets[:2]) ** 2)

        expected, _ = optimizer.update(jax.grad(loss)(before.theta), optimizer.init(before.theta), before.theta)
        return agent.update(before, ROLLOUT, REWARDS, Returns()), expected

    after, expected = jax.device_get(run(jax.random.key(0)))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), after.theta, expected)
    assert after.updates == 1


def test_the_best_action_is_taken_but_for_a_share_epsilon_that_falls():
    agent, observation = QLearning(SPEC, CONFIG), ROLLOUT.observation[0]
    lived = np.array([0, 5, 100], np.int32)

    @jax.jit
    def run(key):
        newborn = agent.init(key)

        def act(updates):
            return agent.act(dataclasses.replace(newborn, updates=updates), observation, Last.nothing(), key)[1:3]

        return action_values(newborn.theta, observation), *jax.vmap(act)(lived), scheduled(CONFIG.epsilon, lived)

    values, value, logits, epsilon = jax.device_get(run(jax.random.key(0)))
    np.testing.assert_allclose(epsilon[[0, 2]], [0.8, 0.1], rtol=1e-6)
    expected = np.repeat(epsilon[:, None] / SPEC.num_actions, SPEC.num_actions, axis=1)
    expected[:, np.argmax(values)] += 1 - epsilon
    np.testing.assert_allclose(np.exp(logits), expected, rtol=1e-4)
    np.testing.assert_allclose(value, values.max(), rtol=1e-6)


def test_it_learns_which_arm_pays():
    config = QLearningConfig(net=POLICY_NET, rollout_length=2, learning_rate=0.03, epsilon=Schedule(1.0, 0.02, 8))
    task = Bandit()
    _, episodes, _ = evaluate_lifetimes(task, QLearning(task.spec, config), (), Extrinsic(), (), 0, 64, make_mesh())
    returns = np.asarray(episodes.extrinsic)
    assert returns[:, :2].mean() < 0.5  # a third by chance
    assert returns[:, -4:].mean() > 0.8


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"epsilon": Schedule(1.5, 0.1, 10)}, "epsilon must be at most 1"),
        ({"trace": 1.5}, "trace must be in"),
        ({"learning_rate": 0.0}, "learning_rate must be positive"),
    ],
)
def test_bad_settings_are_refused(change, complaint):
    with pytest.raises(ValueError, match=complaint):
        QLearningConfig(**change)
