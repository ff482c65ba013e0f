"""What validations say: which was the best, when a run has collapsed, and that a checkpoint keeps it."""

import math

import pytest

from orexis.training.choosing.best import Best, Score


def score(value: float, error: float = 0.0, steps: int = 10) -> Score:
    return Score(episode_return=value, last_tenth=value + 0.1, error=error, env_steps=steps)


def after(*values: float, error: float = 0.0) -> Best:
    """Returns what validations at updates 10, 20, ... with these scores leave."""
    best = Best()
    for number, value in enumerate(values, start=1):
        best.add(10 * number, score(value, error))
    return best


def test_the_best_is_the_highest_and_of_equals_the_first():
    best = Best()
    assert [best.add(update, score(value)) for update, value in ((1, 0.1), (2, 0.3), (3, 0.3), (4, 0.2))] == [
        *(True, True, False, False)
    ]
    assert (best.score, best.update, best.first, best.env_steps) == (0.3, 2, 0.1, 40)


def test_a_score_that_is_not_finite_is_none():
    best = after(0.1)
    assert not best.add(20, score(math.nan))
    assert not best.add(30, score(math.inf))
    assert (best.score, best.update, best.env_steps, best.low_in_a_row) == (0.1, 10, 30, 0)


@pytest.mark.parametrize(
    ("values", "error", "collapsed"),
    [
        # first 0, best 1: the floor is 0.75.
        ((0.0, 1.0, 0.74, 0.74), 0.0, 40),
        ((0.0, 1.0, 0.76, 0.76), 0.0, None),
        ((0.0, 1.0, 0.74, 0.76, 0.74), 0.0, None),  # not in a row
        ((0.0, 1.0, 0.74, 1.1, 0.8), 0.0, None),  # back again, and better
        # first and best 1: a tenth of it, 0.9.
        ((1.0, 0.89, 0.89), 0.0, 30),
        ((1.0, 0.91, 0.91), 0.0, None),
        # the same with an error of 0.1: 0.8.
        ((1.0, 0.89, 0.89), 0.1, None),
        ((1.0, 0.79, 0.79), 0.1, 30),
        # negative returns: first −1, best −0.2, the floor is −0.4.
        ((-1.0, -0.2, -0.41, -0.41), 0.0, 40),
        ((-1.0, -0.2, -0.39, -0.39), 0.0, None),
    ],
)
def test_a_collapse_is_clear_and_twice_in_a_row(values, error: float, collapsed: int | None):
    assert after(*values, error=error).collapsed == collapsed


def test_what_was_noted_survives_a_checkpoint():
    best = after(0.0, 1.0, 0.5, 0.4)
    assert Best.from_json(best.to_json()) == best
    assert Best.from_json(Best().to_json()) == Best() == Best.from_json(None)


@pytest.mark.parametrize(
    "change",
    [
        *({"score": math.nan}, {"score": None}, {"owed": 1}, {"env_steps": -1}, {"env_steps": None}, {"update": 2.0}),
        *({"first": None}, {"low_in_a_row": True}, {"surplus": 1}),
    ],
)
def test_what_makes_no_sense_is_refused(change: dict):
    with pytest.raises(ValueError, match="validation"):
        Best.from_json({**after(0.0, 1.0).to_json(), **change})


def test_a_row_holds_the_validation_that_was_made_in_it():
    best = after(0.5)
    assert best.row() == {"validation_return": 0.5, "validation_last_tenth": 0.6}
    best.begin_row()
    assert all(math.isnan(value) for value in best.row().values())
    assert best.score == 0.5
