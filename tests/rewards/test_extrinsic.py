"""Extrinsic-LIFE against Extrinsic-EP: the same thing where a lifetime is one episode, another where it is two."""

import dataclasses

import jax
import jax.numpy as jnp
import pytest

from orexis.agents.actor_critic import ActorCritic
from orexis.evaluation.lifetimes import evaluate_batch
from orexis.rewards.base import Returns
from orexis.rewards.extrinsic import Extrinsic
from tests.instances import AGENTS, difference, norm, small_task

LIFE = Extrinsic(Returns(discount=AGENTS["sgd"].discount, through_episodes=True))  # equal discounts


def live(source: Extrinsic, episodes: int):
    """Returns the agents of four lifetimes as they died."""
    task = small_task(episodes)
    agent = ActorCritic(task.spec, dataclasses.replace(AGENTS["sgd"], rollout_length=2))
    return jax.jit(lambda: evaluate_batch(task, agent, (), source, (), 3, jnp.arange(4)).agent)()


@pytest.mark.parametrize(("episodes", "same"), [(1, True), (2, False)])
def test_extrinsic_life_is_extrinsic_ep_only_where_a_lifetime_is_one_episode(episodes: int, same: bool):
    by_episode, by_lifetime = live(Extrinsic(), episodes), live(LIFE, episodes)
    assert norm(by_episode) > 0
    assert (norm(difference(by_episode, by_lifetime)) == 0) == same
