"""ICM: what it pays, what it learns from, and that what it has seen surprises it less."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.agents.scripted import RandomAgent
from orexis.config import CuriosityConfig
from orexis.evaluation.lifetimes import evaluate_batch
from orexis.rewards.icm import Icm, IcmState
from tests.instances import random_rollout, small_task

TASK = small_task(episodes=300)
SPEC = TASK.spec
SMALL = CuriosityConfig(num_filters=2, num_features=4, num_hidden=8, learning_rate=3e-3)
ICM = Icm(SPEC, SMALL, scale=2.0)
SCALE = ICM.init(jax.random.key(0))


@pytest.fixture(scope="module")
def newborn() -> IcmState:
    return jax.jit(lambda key: ICM.begin(SCALE, key))(jax.random.key(0))


def test_it_pays_its_error_on_top_of_the_extrinsic_reward(newborn):
    rollout = random_rollout(0, 4, SPEC)
    errors, _ = ICM.judge(newborn.models, rollout)
    rewards, _ = ICM.unroll(SCALE, newborn, rollout)
    assert (errors > 0).all()
    np.testing.assert_allclose(rewards, rollout.reward + 2.0 * errors, rtol=1e-5)


def test_features_learn_from_the_inverse_model_alone(newborn):
    rollout = random_rollout(0, 4, SPEC)
    by_forward, by_inverse = (
        jax.grad(lambda models, which=which: jnp.sum(ICM.judge(models, rollout)[which]))(newborn.models)
        for which in (0, 1)
    )
    for name in ("conv", "features"):
        assert not np.any(by_forward[name]["w"])
        assert np.any(by_inverse[name]["w"])
    assert np.any(by_forward["forward out"]["w"])


def test_what_is_beyond_the_lifetime_is_neither_learned_nor_paid(newborn):
    rollout = random_rollout(0, 4, SPEC)
    beyond = dataclasses.replace(rollout, in_lifetime=np.zeros(4, np.float32))
    rewards, state = ICM.unroll(SCALE, newborn, beyond)
    np.testing.assert_array_equal(rewards, rollout.reward)
    jax.tree.map(np.testing.assert_array_equal, newborn.models, state.models)


def test_the_error_falls_within_a_lifetime():
    agent = RandomAgent(SPEC, rollout_length=4)
    lives = jax.jit(lambda: evaluate_batch(TASK, agent, (), ICM, SCALE, 0, jnp.arange(8)))()
    surprise = (lives.episodes.intrinsic - lives.episodes.extrinsic) / lives.episodes.length  # f[8, E]
    first, last = surprise[:, :30].mean(axis=1), surprise[:, -30:].mean(axis=1)
    assert (last < 0.5 * first).all(), (first, last)
