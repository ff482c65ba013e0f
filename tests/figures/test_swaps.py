"""Windows around a swap are right to the episode, slopes are slopes, and recovery is counted from the swap on."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orexis.figures.swaps import (
    Swaps,
    best_object,
    ended_at,
    ended_at_best,
    recoveries,
    slope_changes,
    slopes,
)
from orexis.tasks.abc import NonstationaryABC
from tests.figures.conftest import make_table

PAPER = Swaps(250, 1000)
EVERYTHING = np.ones((3, 1000), bool)


def table_of(extrinsic=None, outcome=None, num=3):
    """Returns a table of Non-stationary ABC: A is best on the first day of even lifetimes, C of odd ones."""
    table = make_table("count", num, 1000)
    rewards = np.where(np.arange(num)[:, None] % 2 == 0, [1.0, -0.5, -1.0], [-1.0, -0.5, 1.0])
    columns = {"extrinsic": extrinsic, "outcome": outcome}
    given = {
        name: np.broadcast_to(values, (num, 1000)).copy() for name, values in columns.items() if values is not None
    }
    return dataclasses.replace(table, task_params={"rewards": rewards}, **given)


def test_windows_are_right_to_the_episode():
    assert NonstationaryABC().swap_every == 250
    assert NonstationaryABC().episodes == 1000
    assert list(PAPER.episodes) == [250, 500, 750]
    episodes = np.arange(1000)
    assert episodes[PAPER.before(500)].tolist() == list(range(450, 500))
    assert episodes[PAPER.long_before(500)].tolist() == list(range(350, 450))
    assert PAPER.smoothing == 10


@given(st.integers(4, 2000))
def test_windows_never_reach_behind_the_swap_before(period):
    swaps = Swaps(period, 4 * period)
    for swap in swaps.episodes:
        assert swaps.long_before(swap).start >= swap - period
        assert swaps.long_before(swap).stop == swaps.before(swap).start
        assert swaps.before(swap).stop == swap


def test_the_best_object_changes_with_every_swap():
    table = table_of()
    for episode, best in ((0, [0, 2, 0]), (249, [0, 2, 0]), (250, [2, 0, 2]), (499, [2, 0, 2]), (500, [0, 2, 0])):
        assert best_object(table, episode, 250).tolist() == best


def test_episodes_end_at_the_object_of_the_day_or_at_that_of_one_day():
    table = table_of(outcome=0)  # always A
    even = np.repeat([True, False, True, False], 250)
    np.testing.assert_array_equal(ended_at_best(table, 250), [even, ~even, even])
    np.testing.assert_array_equal(ended_at(table, best_object(table, 499, 250)).all(axis=1), [False, True, False])


def test_a_slope_is_that_of_the_line_through_the_chosen_episodes():
    line = np.tile(0.03 * np.arange(1000) - 7, (3, 1))
    chosen = EVERYTHING.copy()
    chosen[1, 200:260:2] = False
    line[1, 200:260:2] = 99.0  # not among them
    chosen[2, 200:241] = False  # nine of 50 are left
    np.testing.assert_allclose(slopes(line, chosen, PAPER.before(250)), [3.0, 3.0, np.nan], atol=1e-9)
    noisy = np.random.default_rng(0).normal(size=(3, 1000))
    expected = [100 * np.polyfit(np.arange(50), row[200:250], 1)[0] for row in noisy]
    np.testing.assert_allclose(slopes(noisy, EVERYTHING, PAPER.before(250)), expected)


@pytest.mark.parametrize(("bend", "change"), [(450, -2.0), (400, None), (500, 0.0)])
def test_a_line_that_bends_at_the_last_fifty_changes_its_slope_by_as_much(bend, change):
    episodes = np.arange(1000)
    bent = np.tile(0.01 * episodes - 0.02 * np.maximum(0, episodes - bend), (3, 1))
    found = slope_changes(bent, EVERYTHING, 500, PAPER)
    if change is None:
        assert ((found < -0.5) & (found > -2.0)).all()  # the bend lies in the hundred before
    else:
        np.testing.assert_allclose(found, change, atol=0.05)  # episode 450 itself lies on both lines


def test_recovery_is_counted_from_the_swap_to_the_first_ten_episodes_that_are_back():
    returns = np.ones((5, 1000))
    returns[:, 500:540] = -1.0  # back in episode 540: 9 of 10 are back after 49 episodes, the mean 0.8
    returns[1, 540:750] = 0.0  # never back
    returns[2, 450:500] = 0.4  # nothing to lose
    returns[3, 450:500] = 0.5
    returns[4, 500:540] = 1.0  # no loss at all
    table = table_of(returns, num=5)
    np.testing.assert_array_equal(recoveries(table, 500, PAPER), [49, 250, np.nan, 47, 10])
    np.testing.assert_array_equal(recoveries(table, 250, PAPER), [10] * 5)


def test_the_last_days_recovery_ends_with_the_lifetime():
    returns = np.ones((3, 1000))
    returns[:, 750:] = -1.0
    shorter = dataclasses.replace(table_of(returns), extrinsic=returns[:, :800])
    assert recoveries(table_of(returns), 750, PAPER).tolist() == [250] * 3
    assert recoveries(shorter, 750, PAPER).tolist() == [50] * 3
