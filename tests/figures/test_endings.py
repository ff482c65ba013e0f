"""Shares of endings, counted by hand on a small table, and drawn as counted."""

import dataclasses

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from orexis.figures.endings import (
    ENDINGS,
    GROUPS,
    count_endings,
    endings_figure,
    endings_in_words,
    group_of,
    phases,
)
from orexis.figures.palette import ENDING_COLORS
from tests.figures.conftest import make_table

A, B, C, NOWHERE = 0, 1, 2, -1


def hand_made_table():
    """Returns four lifetimes of 50 episodes: two in which A is better, one equal, one in which C is better."""
    outcome = np.full((4, 50), NOWHERE)
    outcome[0, :5] = [A, B, C, NOWHERE, NOWHERE]
    outcome[1, :5] = [A, A, C, NOWHERE, B]
    outcome[0, 5:20] = A
    outcome[1, 5:20] = C
    outcome[:2, 20:40] = B  # between the phases: must not be counted
    outcome[0, 40:] = A
    outcome[1, 40:] = [A] * 8 + [C] * 2
    outcome[2, 40:] = B
    outcome[3, 40:] = C
    rewards = np.array([[0.9, -0.1, 0.1], [0.4, -0.1, 0.2], [0.3, 0.0, 0.2], [-0.5, -0.2, 0.3]], np.float32)
    return dataclasses.replace(make_table("runs/a", 4), outcome=outcome, task_params={"rewards": rewards})


def test_shares_are_those_counted_by_hand():
    found = {(row.group, row.phase): row for row in count_endings(hand_made_table())}
    early = found[GROUPS[0], "1–5"]  # ten episodes: A 3, B 2, C 2, nowhere 3
    assert early.num_lifetimes == 2
    assert [early.shares[ending] for ending in ENDINGS] == pytest.approx([0.3, 0.2, 0.2, 0.3])
    middle = found[GROUPS[0], "6–20"]  # thirty: A 15, C 15
    assert [middle.shares[ending] for ending in ENDINGS] == pytest.approx([0.5, 0.0, 0.5, 0.0])
    late = found[GROUPS[0], "41–50"]  # twenty: A 18, C 2
    assert [late.shares[ending] for ending in ENDINGS] == pytest.approx([0.9, 0.0, 0.1, 0.0])
    assert found[GROUPS[1], "41–50"].shares["B"] == 1.0
    assert found[GROUPS[2], "41–50"].shares["C"] == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_shares_sum_to_one(seed):
    for row in count_endings(make_table("random", 20, seed=seed)):
        assert sum(row.shares.values()) == pytest.approx(1.0)
        assert tuple(row.shares) == ENDINGS


def test_a_difference_of_exactly_one_fifth_counts_as_better():
    rewards = np.array([[0.3, 0, 0.1], [0.1, 0, 0.3], [0.29, 0, 0.1], [0.1, 0, 0.29]], np.float32)
    np.testing.assert_array_equal(group_of(rewards), [0, 2, 1, 1])


def test_groups_without_lifetimes_have_no_rows_and_an_empty_panel():
    table = hand_made_table()
    only = dataclasses.replace(table, outcome=table.outcome[3:], task_params={"rewards": np.array([[-0.5, 0.0, 0.3]])})
    rows = count_endings(only)
    assert {row.group for row in rows} == {GROUPS[2]}
    empty = endings_figure(rows).axes[0]
    assert not empty.patches
    assert [text.get_text() for text in empty.texts if "no such" in text.get_text()] == ["no such lifetime"]


@pytest.mark.parametrize(
    ("num_episodes", "names"), [(50, ["1–5", "6–20", "41–50"]), (4, ["1–4"]), (12, ["1–5", "6–12", "3–12"])]
)
def test_phases_cover_the_episodes_that_exist(num_episodes, names):
    assert list(phases(num_episodes)) == names


def test_tasks_without_abc_are_refused():
    table = dataclasses.replace(hand_made_table(), outcomes=("left", "right"))
    with pytest.raises(ValueError, match="not A, B, C"):
        count_endings(table)


def test_bars_are_the_shares_in_the_colours_of_the_endings():
    rows = count_endings(hand_made_table()) + count_endings(make_table("extrinsic-ep", 20))
    figure = endings_figure(rows)
    assert len(figure.axes) == 6  # two sources, three groups
    bars = {container.get_label(): container for container in figure.axes[0].containers}
    assert list(bars) == list(ENDINGS)
    drawn = [row for row in rows if row.source == "runs/a" and row.group == GROUPS[0]]
    for ending, container in bars.items():
        heights = [bar.get_height() for bar in container]
        assert heights == pytest.approx([row.shares[ending] for row in drawn])
        assert all(bar.get_facecolor() == to_rgba(ENDING_COLORS[ending]) for bar in container)
    words = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert {"learned reward", "extrinsic (episode)", *ENDINGS} <= set(words)


def test_words_tell_the_counted_shares():
    said = endings_in_words(count_endings(hand_made_table()))
    assert "90 % at A where A is better" in said
    assert "100 % at C where C is better" in said
    # B: 2 of the 20 first episodes, the equal lifetime's 10 of the 40 last ones
    assert "B was the end of 10.0 % of episodes 1–5 and 25.0 % of episodes 41–50." in said
