"""The ledger: by hand, in JAX and NumPy alike, and that a network can tell by it what a thing is worth."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.config import MetaConfig, TaskSpec
from orexis.networks import egocentric, history, ledger
from orexis.networks.history import NotedState
from orexis.networks.layers import LstmState
from orexis.types import Rollout
from tests.instances import HISTORY_NET

KEEPING = dataclasses.replace(HISTORY_NET, view="egocentric", keeps_ledger=True)
SPEC = TaskSpec(num_actions=4, observation_shape=(3, 3, 3), time_limit=4, episodes_per_lifetime=50, agent_plane=0)
NEW = np.zeros((2, 2), np.float32)


def step(kept: np.ndarray, on: list[float], reward: float, ended: float = 1.0) -> np.ndarray:
    return ledger.write(kept, np.array(on, np.float32), np.float32(reward), np.float32(ended))


def test_it_keeps_the_mean_of_what_ends_paid_by_what_was_stood_on():
    kept = step(step(step(NEW, [1, 0], 0.5), [0, 1], -1.0), [1, 0], 0.1)
    np.testing.assert_allclose(kept, [[(0.5 + 0.1) / 2, -1.0], [2, 1]], atol=1e-7)
    told = 2 * np.array([0.3, -1.0, 2 / 3, 1 / 2])
    np.testing.assert_allclose(ledger.read(kept), told, atol=1e-6)


def test_what_does_not_end_an_episode_or_is_stood_on_nowhere_changes_nothing():
    kept = step(NEW, [1, 0], 0.5)
    np.testing.assert_array_equal(step(kept, [1, 1], 0.9, ended=0.0), kept)
    np.testing.assert_array_equal(step(kept, [0, 0], 0.9), kept)


def test_it_forgets_in_about_twenty_ends():
    kept = NEW
    for _ in range(100):
        kept = step(kept, [1, 0], 1.0)
    assert kept[0, 0] == pytest.approx(1.0)
    for _ in range(20):
        kept = step(kept, [1, 0], 0.0)
    assert kept[0, 0] == pytest.approx(0.95**20, rel=1e-4)  # 0.36


def test_it_is_the_same_in_jax_and_numpy_and_for_many_at_once():
    rng = np.random.default_rng(0)
    on, rewards = rng.integers(0, 2, (30, 5, 2)).astype(np.float32), rng.normal(size=(30, 5)).astype(np.float32)
    ended = rng.integers(0, 2, (30, 5)).astype(np.float32)
    ours, theirs = np.zeros((5, 2, 2), np.float32), jnp.zeros((5, 2, 2))
    for row in zip(on, rewards, ended, strict=True):
        ours, theirs = ledger.write(ours, *row), ledger.write(theirs, *row)
    np.testing.assert_allclose(ours, theirs, atol=1e-6)
    np.testing.assert_allclose(ledger.read(ours), ledger.read(theirs), atol=1e-6)
    assert ours.dtype == np.float32
    one = np.zeros((2, 2), np.float32)
    for row in zip(on[:, 3], rewards[:, 3], ended[:, 3], strict=True):
        one = ledger.write(one, *row)
    np.testing.assert_allclose(one, ours[3], atol=1e-6)


def walk(cells: list[tuple[int, int]], thing: int, rewards: list[float], ends: list[float]) -> Rollout:
    """Returns a rollout along `cells` of a 3×3 map; `thing` (1 or 2) stands in (2, 2), the other one in (0, 0)."""
    images = np.zeros((len(cells), 3, 3, 3), np.float32)
    for t, cell in enumerate(cells):
        images[t, *cell, 0] = 1.0
    images[:, 2, 2, thing] = images[:, 0, 0, 3 - thing] = 1.0
    unused = np.zeros(len(cells) - 1, np.float32)
    return Rollout(
        observation=images,
        next_observation=images[1:],
        action=np.zeros(len(cells) - 1, np.int32),
        reward=np.array(rewards, np.float32),
        episode_goes_on=1.0 - np.array(ends, np.float32),
        lifetime_goes_on=unused,
        in_lifetime=unused,
        value=unused,
    )


def test_a_network_writes_down_what_it_stood_on_and_tells_its_first_layer():
    params = history.init(jax.random.key(0), SPEC, KEEPING)
    assert params["hidden"]["w"].shape == (egocentric.num_features((3, 3, 3)) + 4, HISTORY_NET.num_hidden)
    begun = history.begin(SPEC, KEEPING)
    assert isinstance(begun, NotedState)
    rollout = walk([(1, 2), (2, 2), (1, 2)], 2, [0.7, 0.3], [1, 1])  # onto thing 2, which ends it; then onto nothing
    _, state = history.unroll(params, begun, rollout, SPEC, KEEPING)
    np.testing.assert_allclose(state.ledger, [[0.0, 0.7], [0.0, 1.0]], atol=1e-6)
    inputs, noted = history.embed(params, begun, rollout, SPEC, KEEPING)
    seen = egocentric.features(rollout.observation[:-1], rollout.next_observation, 0)
    told = np.concatenate([seen, np.tile(ledger.read(np.asarray(state.ledger)), (2, 1))], axis=1)
    hidden = np.maximum(told @ np.asarray(params["hidden"]["w"]) + np.asarray(params["hidden"]["b"]), 0.0)
    np.testing.assert_allclose(inputs[:, : HISTORY_NET.num_hidden], hidden, atol=1e-5)
    assert isinstance(noted.memory, LstmState)


@pytest.mark.parametrize("sees_clock", [False, True])
@pytest.mark.parametrize("remembers", ["lstm", "none"])
def test_a_history_in_chunks_equals_the_whole(sees_clock: bool, remembers):
    config = dataclasses.replace(KEEPING, sees_clock=sees_clock, history=remembers)
    params = history.init(jax.random.key(1), SPEC, config)
    cells = [(1, 2), (2, 2), (1, 2), (1, 1), (0, 1), (0, 0), (1, 0)]
    rollout = walk(cells, 1, [0.5, 0, 0, 0.2, -0.4, 0], [1, 0, 0, 1, 1, 0])
    unroll = jax.jit(lambda state, rollout: history.unroll(params, state, rollout, SPEC, config))
    whole, whole_state = unroll(history.begin(SPEC, config), rollout)
    state, parts = history.begin(SPEC, config), []
    for start in (0, 2, 4):
        part, state = unroll(state, jax.tree.map(lambda x, start=start: x[start : start + 2], rollout))
        parts.append(part)
    np.testing.assert_allclose(np.concatenate(parts), whole, atol=1e-6)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), state, whole_state)
    assert float(np.abs(whole_state.ledger).sum()) > 0
    richer = dataclasses.replace(history.begin(SPEC, config), ledger=jnp.ones((2, 2)))
    assert np.abs(np.asarray(unroll(richer, rollout)[0]) - np.asarray(whole)).max() > 1e-3  # it matters


def test_without_things_seen_from_the_agent_there_is_no_ledger():
    with pytest.raises(ValueError, match="keeps_ledger needs the view egocentric"):
        dataclasses.replace(KEEPING, view="planes")
    alone = dataclasses.replace(SPEC, observation_shape=(3, 3, 1))
    with pytest.raises(ValueError, match="a ledger is of the things that are seen from the agent"):
        egocentric.check_view(alone, KEEPING)
    with pytest.raises(ValueError, match="view must be planes for a policy"):
        MetaConfig(reward=KEEPING, learn="rl2")
