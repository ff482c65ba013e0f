"""Which episodes of a long lifetime are shown."""

import itertools

import pytest

from orexis.viewer.choice import choose_episodes, in_words


def test_a_short_lifetime_is_shown_whole():
    assert choose_episodes(50, limit=50) == list(range(50))


@pytest.mark.parametrize(("num_episodes", "limit"), [(5000, 200), (1000, 200), (201, 200), (60, 7), (10, 1)])
def test_of_a_long_one_as_many_as_allowed_are_shown(num_episodes: int, limit: int):
    chosen = choose_episodes(num_episodes, limit, changes=[num_episodes // 2])
    assert chosen == sorted(set(chosen))
    assert len(chosen) == limit
    assert chosen[0] >= 0
    assert chosen[-1] < num_episodes


def test_beginning_end_and_changes_are_shown_without_gaps():
    chosen = choose_episodes(1000, 200, changes=[250, 500, 750])
    assert chosen[:50] == list(range(50))
    assert chosen[-20:] == list(range(980, 1000))
    for change in (250, 500, 750):
        assert set(range(change - 6, change + 14)) <= set(chosen)  # 30 % of 200 is 60: 20 around each change
    assert max(b - a for a, b in itertools.pairwise(chosen)) < 20


def test_they_are_told_in_words():
    assert in_words([0, 1, 2, 9, 11, 12]) == "1–3, 10, 12–13"
