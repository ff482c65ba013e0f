"""Visits add up to steps, cells seen are counted once, and straight is straight: by hand and on random lifetimes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orexis.evaluation.lifetimes import Trace
from orexis.figures.visits import count_visits, coverage, first_visits, search_of, seen_within, straight_shares
from tests.figures.searches import NUM_CELLS, TASK, make_search, number_of, random_search

START, NEXT, DOOR = number_of(2, 2), number_of(2, 3), number_of(2, 5)
FAR, NEAR = TASK.goals


@given(st.integers(0, 10_000), st.integers(1, 60))
def test_visits_before_and_after_the_goal_was_found_are_all_steps_that_were_lived(seed, num_steps):
    search = random_search(num_steps=num_steps + 2, seed=seed)
    before, after = count_visits(search, after=False), count_visits(search, after=True)
    lived = search.cell >= 0
    np.testing.assert_array_equal((before + after).sum(axis=1), lived.sum(axis=1))
    steps_before = [row[: found + 1].sum() for row, found in zip(lived, search.found, strict=True)]
    np.testing.assert_array_equal(before.sum(axis=1), steps_before)


def test_visits_by_hand():
    cell = [[NEXT, START, NEXT, DOOR, NEXT], [DOOR, DOOR, NEXT, -1, -1]]
    search = make_search(cell, found=[2, 5], goals=[FAR, NEAR])
    before, after = count_visits(search, after=False), count_visits(search, after=True)
    assert before[0, [START, NEXT, DOOR]].tolist() == [1, 2, 0]  # the step that finds it is among those before
    assert after[0, [START, NEXT, DOOR]].tolist() == [0, 1, 1]
    assert before[1, [START, NEXT, DOOR]].tolist() == [0, 1, 2]
    assert after[1].sum() == 0


@given(st.integers(0, 10_000))
def test_a_cell_is_seen_from_its_first_visit_on_and_counted_once(seed):
    search = random_search(num_steps=25, seed=seed)
    seen = coverage(search)
    for row, cells in zip(seen, search.cell, strict=True):
        expected = [len({START, *(cell for cell in cells[:step] if cell >= 0)}) for step in range(26)]
        assert row.tolist() == expected
    assert (first_visits(search)[:, START] == -1).all()
    within = np.arange(len(seen))
    np.testing.assert_array_equal(seen_within(search, within), [seen[i, i] for i in within])


def test_a_trace_tells_when_the_goal_was_found():
    episode = np.array([[0, 0, 0, 1, 1], [0, 0, 0, 0, 0], [0, 1, -1, -1, -1]])
    paid = np.array([[0, 0, 1, 0, 1], [0, 0, 0, 0, 0], [0, 1, 0, 0, 0]], float)
    cell = np.where(episode >= 0, NEXT, -1)
    trace = Trace(episode, cell, cell, paid, paid, paid)
    table = random_search(3).table
    assert search_of(TASK, table, trace, 5).found.tolist() == [2, 5, 1]
    assert search_of(TASK, table, trace, 2).found.tolist() == [2, 2, 1]
    assert search_of(TASK, table, trace, 2).num_steps == 2


def test_an_episode_went_straight_if_it_took_at_most_half_as_much_again_as_the_shortest_path():
    lengths = [
        [-100, 50, 18, 19, -100, 12],  # found in the second; of four later ones two within 18 = 1.5 · 12
        [3, 6, 7, 5, -40, -0.0],  # found in the first; 6 and 5 within 6 = 1.5 · 4, 40 steps were cut short
        [-100, -100, -100, -100, -100, -100],
        [-100, -100, -100, -100, -100, 4],
    ]
    search = make_search(np.zeros((4, 9), int), [0] * 4, [FAR, NEAR, FAR, NEAR], lengths)
    assert search.away.tolist() == [12, 4, 12, 4]
    np.testing.assert_allclose(straight_shares(search), [2 / 4, 2 / 3, np.nan, np.nan])


def test_lifetimes_are_chosen_by_their_goal():
    search = random_search(7)
    far = search.with_goal(FAR)
    assert (far.goal == FAR).all()
    assert len(far.goal) == len(far.cell) == len(far.found) == len(far.table.length) == 4
    np.testing.assert_array_equal(far.cell, search.cell[::2])
    np.testing.assert_array_equal(far.table.length, search.table.length[::2])
    assert count_visits(far, after=False).shape == (4, NUM_CELLS)


def test_a_goal_that_nobody_has_leaves_nothing():
    assert len(random_search(4).with_goal((0, 0)).cell) == 0
    assert straight_shares(random_search(4).with_goal((0, 0))).shape == (0,)


@pytest.mark.parametrize("column", ["extrinsic", "outcome", "length"])
def test_a_table_keeps_the_chosen_lifetimes_in_every_column(column):
    table = random_search(5).table
    chosen = np.array([True, False, True, True, False])
    np.testing.assert_array_equal(getattr(table.select(chosen), column), getattr(table, column)[chosen])
    np.testing.assert_array_equal(table.select(chosen).task_params["goal"], table.task_params["goal"][chosen])
