"""A replay brings the lifetime's own states back, and what it says a step would be paid is what the reward pays."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.rewards.base import Returns
from orexis.viewer.replay import replay
from tests.viewer.domains import DOMAINS, NUMBER, SEED, asked, extrinsic_life, learned_life, learned_source, state_at


@pytest.mark.parametrize("name", DOMAINS)
def test_what_a_step_would_be_paid_is_what_the_numpy_runtime_pays(name: str):
    life = learned_life(name)
    assert life.intrinsic is not None
    np.testing.assert_allclose(life.intrinsic, asked(name), atol=2e-5)
    assert np.abs(life.intrinsic[:, 0] - life.intrinsic[:, 1]).max() > 0.01  # actions are told apart


@pytest.mark.parametrize("name", ["random-abc", "nonstationary-abc", "empty-rooms"])
def test_the_states_are_those_that_were_lived(name: str):
    task: Any = DOMAINS[name].task
    life = learned_life(name)
    rows = [int(task.observation_index(life.params, state_at(life.arrivals, n))) for n in range(len(life.trace.action))]
    assert rows == life.trace.next_observation.tolist()


def test_the_key_and_the_boxes_stay_where_they_are_in_an_episode():
    life = learned_life("key-box")
    for episode in range(3):
        steps = np.flatnonzero(life.trace.episode == episode)
        assert (life.arrivals.boxes[steps] == life.starts.boxes[episode]).all()
    assert (life.starts.boxes[0] != life.starts.boxes[1]).any()


@pytest.mark.parametrize("name", DOMAINS)
def test_the_extrinsic_source_would_pay_what_the_task_pays(name: str):
    life = extrinsic_life(name)
    np.testing.assert_array_equal(life.intrinsic, life.extrinsic)
    assert jax.tree.all(jax.tree.map(np.array_equal, life.params, learned_life(name).params))  # the same task


def test_a_trace_of_another_lifetime_is_refused():
    life, source = learned_life("random-abc"), learned_source("random-abc")
    assert life.trace.extrinsic.any()
    with pytest.raises(ValueError, match="not that of lifetime 6"):
        replay(DOMAINS["random-abc"].task, source, SEED, NUMBER + 1, life.trace, life.params, life.outcome)


@dataclasses.dataclass(frozen=True)
class ByRollout:
    """Pays by the place of a step in its rollout: it cannot be asked step by step."""

    returns: Returns = Returns()

    def begin(self, params, key):
        return ()

    def unroll(self, params, state, rollout):
        return jnp.arange(rollout.reward.shape[0], dtype=jnp.float32), state


def test_a_source_that_cannot_be_asked_step_by_step_is_not_asked():
    life, source = extrinsic_life("random-abc"), learned_source("random-abc")
    trace = dataclasses.replace(life.trace, intrinsic=(np.arange(len(life.trace.action)) % 4).astype(np.float32))
    odd = dataclasses.replace(source, reward=ByRollout(), params=())
    found = replay(DOMAINS["random-abc"].task, odd, SEED, NUMBER, trace, life.params, life.outcome)
    assert found.intrinsic is None
    np.testing.assert_array_equal(found.extrinsic, life.extrinsic)
