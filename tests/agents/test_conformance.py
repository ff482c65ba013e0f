"""What every agent must do. A new agent is a new row."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.agents.actor_critic import ActorCritic
from orexis.agents.q_learning import QLearning
from orexis.agents.rl2 import Rl2
from orexis.agents.scripted import NearOptimalABC, RandomAgent
from orexis.config import QLearningConfig
from orexis.rewards.base import Returns
from orexis.types import Last
from tests.instances import AGENTS, HISTORY_NET, LENGTH, POLICY_NET, random_rollout, small_task

SPEC = small_task().spec
BATCH = 3
# Each with whether it learns from rollouts.
ROWS = {
    "actor-critic, sgd": (ActorCritic(SPEC, AGENTS["sgd"]), True),
    "actor-critic, adam": (ActorCritic(SPEC, AGENTS["adam"]), True),
    "q-learning": (QLearning(SPEC, QLearningConfig(net=POLICY_NET, rollout_length=LENGTH)), True),
    "rl2": (Rl2(SPEC, HISTORY_NET, rollout_length=LENGTH), False),
    "random": (RandomAgent(SPEC, rollout_length=LENGTH), False),
    "near-optimal": (NearOptimalABC(SPEC, rollout_length=LENGTH), False),
}


@pytest.fixture(scope="module", params=ROWS)
def lived(request):
    """A batch of agents that were born, acted once and learned once, all under jit and vmap."""
    agent, learns = ROWS[request.param]
    rollouts = jax.tree.map(lambda *xs: np.stack(xs), *[random_rollout(seed, LENGTH, SPEC) for seed in range(BATCH)])

    def live(key: jax.Array, rollout):
        key_init, key_act = jax.random.split(key)
        newborn = agent.init(key_init, ())
        action, value, logits, acted = agent.act(newborn, rollout.observation[0], Last.nothing(), key_act)
        learned = agent.update(acted, rollout, rollout.reward, Returns())
        return newborn, acted, learned, action, value, logits

    results = jax.jit(jax.vmap(live))(jax.random.split(jax.random.key(0), BATCH), rollouts)
    return agent, learns, *results


def forms(tree):
    return jax.tree.structure(tree), [(x.shape, x.dtype) for x in jax.tree.leaves(tree)]


def test_acting_returns_an_action_a_value_and_logits(lived):
    _, _, _, _, _, action, value, logits = lived
    assert (action.shape, value.shape, logits.shape) == ((BATCH,), (BATCH,), (BATCH, SPEC.num_actions))
    assert action.dtype == jnp.int32
    assert value.dtype == logits.dtype == jnp.float32
    assert ((action >= 0) & (action < SPEC.num_actions)).all()
    assert np.isfinite(logits).all()
    assert np.isfinite(value).all()


def test_acting_and_learning_keep_the_states_form(lived):
    _, _, newborn, acted, learned, *_ = lived
    assert forms(acted) == forms(newborn)
    assert forms(learned) == forms(newborn)


def test_learning_changes_an_agent_that_learns_and_no_other(lived):
    _, learns, _, acted, learned, *_ = lived
    changed = [bool(np.any(a != b)) for a, b in zip(jax.tree.leaves(acted), jax.tree.leaves(learned), strict=True)]
    assert any(changed) == learns


def test_an_agent_is_found_again_by_its_hash_and_says_how_long_its_rollouts_are(lived):
    agent = lived[0]
    assert hash(agent) == hash(type(agent)(**vars(agent)))
    assert agent.rollout_length == LENGTH
