"""The fifth figure: each panel shows the numbers of its own histories, draws and lifetimes."""

import dataclasses

import numpy as np
import pytest

from orexis.evaluation.histories import Replay
from orexis.evaluation.walks import HISTORIES, WalkDraws
from orexis.figures.promises import lived_points, promises_figure
from tests.figures.conftest import make_table
from tests.figures.test_walks import AS_IN_THE_PAPER

NUM_LIVES = 30


@pytest.fixture(scope="module")
def draws() -> WalkDraws:
    """Sums that tell history, draw and object apart: 10·history + object, and the worth of A added."""
    worth = np.random.default_rng(0).uniform((-1, -0.5, 0), (1, 0, 0.5), (160, 3))
    sums = {
        visited: 10.0 * index + np.arange(3.0) + worth[:, [0]] * np.array([1, 0, -1])
        for index, visited in enumerate(HISTORIES)
    }
    return WalkDraws(worth, sums)


@pytest.fixture(scope="module")
def table():
    """Lifetimes 0 to 9 have a better A, 10 to 19 neither, 20 to 29 a better C."""
    ahead = np.repeat([0.5, 0.0, -0.5], 10)
    worth = np.stack([0.3 + ahead, np.full(NUM_LIVES, -0.1), np.full(NUM_LIVES, 0.3)], axis=1)
    return dataclasses.replace(make_table("run", NUM_LIVES, 50, seed=5), task_params={"rewards": worth})


@pytest.fixture(scope="module")
def lived() -> Replay:
    """Sums that tell lifetime, episode and object apart."""
    lifetimes, episodes, objects = np.meshgrid(np.arange(NUM_LIVES), np.arange(50), np.arange(3), indexing="ij")
    return Replay(100.0 * objects + lifetimes + 0.1 * episodes, np.zeros((NUM_LIVES, 50)))


@pytest.fixture(scope="module")
def figure(draws, table, lived):
    figure = promises_figure(AS_IN_THE_PAPER, draws, table, lived)
    figure.draw_without_rendering()
    return figure


def panel(figure, title: str):
    (found,) = [axes for axes in figure.axes if title in (axes.get_title(), axes.get_title(loc="left"))]
    return found


def curves(axes) -> list[np.ndarray]:
    """Returns y of the lines of more than two points, in order."""
    return [np.asarray(line.get_ydata()) for line in axes.lines if len(line.get_ydata()) > 2]


def test_rooms_show_the_sums_of_their_histories_and_whether_the_paper_agrees(figure):
    for title, visited, said in (
        ("episode 1", (), "paper: A ✓"),
        ("episode 2, after A", ("A",), "paper: C ✓"),
        ("episode 3, after C, A", ("C", "A"), "paper: A ✓"),
    ):
        axes = next(each for each in figure.axes if each.get_title(loc="left") == title)
        words = [text.get_text() for text in axes.texts]
        for paid in AS_IN_THE_PAPER.panels[visited].sums.values():
            assert f"{paid:+.2f}".replace("-", "−") in words
        assert said in words


def test_discs_are_means_over_draws_and_thin_lines_their_middle(figure, draws):
    axes = figure.axes[6]  # after five rooms and the bar of colours
    discs = [line for line in axes.lines if line.get_marker() == "o"]
    expected = [draws.sums[visited][:, column].mean() for visited in HISTORIES for column in range(3)]
    np.testing.assert_allclose([line.get_ydata()[0] for line in discs], expected)
    spreads = [line.get_ydata() for line in axes.lines if len(line.get_ydata()) == 2][:15]
    for (low, high), disc in zip(spreads, expected, strict=True):
        assert low <= disc <= high
    np.testing.assert_allclose(spreads[3], np.quantile(draws.sums[("A",)][:, 0], [0.1, 0.9]))


def test_curves_of_b_are_of_the_histories_that_their_titles_name(figure, draws):
    # A is paid 10·history + worth of A, C 10·history + 2 − worth of A
    for title, base in (("episode 2, after A", 10.0), ("episode 2, after C", 20.0), ("episode 3, after both", 35.0)):
        axes = next(each for each in figure.axes if each.get_title(loc="center") == title)
        to_a, to_c = curves(axes)[:2]
        assert np.mean(to_a) == pytest.approx(base + draws.worth[:, 0].mean(), abs=0.02)
        assert np.mean(to_c) == pytest.approx(base + 2 - draws.worth[:, 0].mean(), abs=0.02)
    axes = next(each for each in figure.axes if each.get_title(loc="center") == "episode 2, after A")
    assert (np.diff(curves(axes)[0]) > 0).all()  # against the worth of A
    bins = np.sort(draws.worth[:, 0]).reshape(8, 20).mean(axis=1)
    np.testing.assert_allclose(curves(axes)[0], 10 + bins)
    for band, line in zip(axes.collections, curves(axes), strict=False):
        box = band.get_datalim(axes.transData)
        assert box.y0 <= line.min()
        assert line.max() <= box.y1


@pytest.mark.parametrize(
    ("title", "members"),
    [
        ("A better by 0.2 or more  (n = 10)", slice(0, 10)),
        ("A and C about equal  (n = 10)", slice(10, 20)),
        ("C better by 0.2 or more  (n = 10)", slice(20, 30)),
    ],
)
def test_curves_of_c_are_means_over_the_lifetimes_of_their_group(figure, table, lived, title, members):
    axes = panel(figure, title)
    for column, line in enumerate(curves(axes)):
        np.testing.assert_allclose(line, lived.sums[members, :, column].mean(axis=0))
    dots = [float(line.get_ydata()[0]) for line in axes.lines if line.get_marker() == "o"]
    points = [point.mean for k in range(3) for point in lived_points(table, np.arange(30)[members], k)]
    assert dots == points


def test_a_dot_is_what_the_episodes_that_ended_there_were_paid():
    table = make_table("run", 6, 50)
    outcome, intrinsic = np.full((6, 50), -1), np.zeros((6, 50))
    outcome[:5, 3] = 0  # episode 4 of five lifetimes ended at A, episode 5 of one of them too
    outcome[0, 4] = 0
    intrinsic[:5, 3], intrinsic[0, 4], intrinsic[5] = 1.0, 7.0, 99.0
    outcome[:4, 0] = 0  # too few
    table = dataclasses.replace(table, outcome=outcome, intrinsic=intrinsic)
    (point,) = lived_points(table, np.arange(6), 0)
    assert point.mean == pytest.approx((5 * 1.0 + 7.0) / 6)
    assert point.low <= point.mean <= point.high
    assert point.share == pytest.approx(6 / 12)  # of episodes 4 and 5
    assert 4 < point.episode < 5
    assert lived_points(table, np.arange(6), 2) == []


def test_no_text_is_cut_off_and_headings_do_not_meet(figure):
    for text in figure.texts:
        box = text.get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.x1
    for left, right in zip(figure.texts[1::3], figure.texts[2::3], strict=True):
        assert not left.get_window_extent().overlaps(right.get_window_extent())


def test_few_lifetimes_and_draws_are_drawn_all_the_same(draws, table, lived):
    few = WalkDraws(draws.worth[:6], {visited: sums[:6] for visited, sums in draws.sums.items()})
    worth = {"rewards": table.task_params["rewards"][:3]}
    short = dataclasses.replace(table, outcome=table.outcome[:3], intrinsic=table.intrinsic[:3], task_params=worth)
    figure = promises_figure(AS_IN_THE_PAPER, few, short, Replay(lived.sums[:3], lived.paid[:3]))
    assert "too few lifetimes" in [text.get_text() for axes in figure.axes for text in axes.texts]
