"""The clock: by hand, in JAX and NumPy alike, and that a network can tell the time by it."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.config import MetaConfig
from orexis.networks import clock
from tests.instances import HISTORY_NET

CLOCKED = dataclasses.replace(HISTORY_NET, sees_clock=True)


def read(ended: list[int], episodes: int) -> np.ndarray:
    return clock.features(np.array(ended, np.int32), episodes, np.float32)


def test_it_shows_the_share_and_four_waves():
    # 2 of 16 episodes: share 1/8, so the waves have turned 1/8, 1/4, 1/2 and 1 times.
    half = 0.5**0.5
    expected = [1 / 8, half, 1.0, 0.0, 0.0, half, 0.0, -1.0, 1.0]
    np.testing.assert_allclose(read([2], 16), [expected], atol=1e-6)
    np.testing.assert_array_equal(read([0], 16), [[0.0] * 5 + [1.0] * 4])


def test_after_a_lifetimes_last_episode_it_stands_still():
    later = read([10, 11, 1000, 2**31 - 1], 10)
    np.testing.assert_array_equal(later, np.repeat(later[:1], 4, axis=0))
    assert later[0, 0] == 1.0
    assert (read([9], 10) != later[:1]).any()


@pytest.mark.parametrize("episodes", [1, 7, 1000, 2**31 - 1])
def test_it_is_the_same_in_jax_and_numpy(episodes: int):
    ended = np.arange(0, min(episodes + 3, 2000), dtype=np.int32)
    ours = clock.features(ended, episodes, np.float32)
    theirs = jax.jit(lambda ended: clock.features(ended, episodes, jnp.float32))(ended)
    assert ours.shape == theirs.shape == (len(ended), clock.NUM_FEATURES)
    assert ours.dtype == theirs.dtype == np.float32
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_quarters_are_marked_and_no_two_episodes_look_alike():
    told = read(list(range(1000)), 1000)
    assert np.abs(told).max() <= 1.0
    quarter_wave = told[:, 1 + 2 * len(clock.TURNS) - 2]  # cos(2π·4·share): one at the quarters and nowhere else
    np.testing.assert_array_equal(np.flatnonzero(quarter_wave > 1 - 1e-5), [0, 250, 500, 750])
    apart = np.abs(told[:, None] - told[None]).max(axis=-1) + np.eye(1000)
    assert apart.min() > 0.01  # from one episode to the next a bare share moves by 0.001


def test_a_policy_has_none():
    complaint = "sees_clock must be off for a policy"
    with pytest.raises(ValueError, match=complaint):
        clock.check_policy(CLOCKED)
    with pytest.raises(ValueError, match=complaint):
        MetaConfig(reward=CLOCKED, learn="rl2")
    clock.check_policy(HISTORY_NET)
    MetaConfig(reward=CLOCKED)
