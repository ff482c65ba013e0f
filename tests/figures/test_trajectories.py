"""The picture of lived episodes: an arrow and a number for each step, the median lifetime of each group."""

import dataclasses

import numpy as np
import pytest
from matplotlib.patches import FancyArrowPatch

from orexis.evaluation.histories import LivedEpisode
from orexis.evaluation.walks import Room
from orexis.figures.endings import GROUPS
from orexis.figures.trajectories import LivedRow, steps_taken, trajectories_figure, typical_lifetimes
from tests.figures.conftest import make_table

ROOM = Room((5, 5), (2, 2), {"A": (0, 0), "B": (0, 4), "C": (4, 0)}, {"A": 0.2, "B": -0.5, "C": 0.1})
UP, DOWN, LEFT, RIGHT = range(4)


def episode(number: int, cells, actions, rewards, ending=None) -> LivedEpisode:
    return LivedEpisode(number, np.array(cells), np.array(actions), np.array(rewards), ending)


TO_A = episode(1, [(2, 2), (1, 2), (1, 1), (0, 1), (0, 0)], [UP, LEFT, UP, LEFT], [0.11, -0.22, 0.33, 0.44], ending="A")
TO_AND_FRO = episode(2, [(2, 2), (2, 3), (2, 2), (2, 3)], [RIGHT, LEFT, RIGHT], [0.1, 0.2, 0.3])
AT_THE_WALL = episode(3, [(2, 4), (2, 4)], [RIGHT], [-0.05])


def draw(*episodes: LivedEpisode, visited=()):
    row = LivedRow("a lifetime", ROOM, episodes, tuple(frozenset(visited) for _ in episodes))
    figure = trajectories_figure([row])
    figure.draw_without_rendering()
    return figure


def arrows(axes) -> list[FancyArrowPatch]:
    return [patch for patch in axes.patches if isinstance(patch, FancyArrowPatch)]


def words(axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def test_each_step_is_an_arrow_that_lies_between_its_cells_with_its_reward_on_it():
    axes = draw(TO_A).axes[0]
    assert len(arrows(axes)) == 4
    assert {"+.11", "−.22", "+.33", "+.44"} <= set(words(axes))
    for arrow, text in zip(arrows(axes), axes.texts[-4:], strict=True):
        box = arrow.get_path().get_extents()  # in data
        x, y = text.get_position()
        assert box.x0 <= x <= box.x1
        assert box.y0 <= y <= box.y1
    up = arrows(axes)[0].get_path().get_extents()
    assert 1.5 <= up.y0 <= up.y1 <= 2.5
    assert 2.0 <= up.x0 <= up.x1 <= 2.5  # from (2, 2) to (1, 2), to the left of the line between their middles


def test_title_tells_where_it_ended_and_what_it_was_paid():
    axes = draw(TO_A, TO_AND_FRO).axes
    assert axes[0].get_title(loc="left") == "episode 1: A, +0.66"
    assert axes[1].get_title(loc="left") == "episode 2: nowhere, +0.60"


def test_a_step_taken_twice_is_one_arrow_with_the_mean_and_the_way_back_another():
    assert steps_taken(TO_AND_FRO) == {(2, 2, RIGHT): [0.1, 0.3], (2, 3, LEFT): [0.2]}
    axes = draw(TO_AND_FRO).axes[0]
    there, back = (arrow.get_path().get_extents() for arrow in arrows(axes))
    assert not there.overlaps(back)
    assert words(axes)[-2:] == ["+.20", "+.20"]


def test_a_step_against_the_wall_stays_in_its_cell():
    (arrow,) = arrows(draw(AT_THE_WALL).axes[0])
    box = arrow.get_path().get_extents()
    assert 4.0 <= box.x0 <= box.x1 <= 5.0


def test_nothing_is_cut_off():
    figure = draw(TO_A, TO_AND_FRO, AT_THE_WALL, TO_A)
    shown = [text for axes in figure.axes for text in (*axes.texts, axes.title)]
    for text in (*shown, figure.axes[-1].yaxis.label, *figure.axes[-1].get_yticklabels()):  # the bar of colours is last
        box = text.get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.x1


def test_a_typical_lifetime_has_the_median_return_of_its_group():
    table = make_table("run", 5, 4)
    worth = np.array([[0.9, 0, 0.1], [0.8, 0, 0.1], [0.7, 0, 0.1], [0.1, 0, 0.1], [-0.5, 0, 0.1]])
    extrinsic = np.tile([[3.0], [1.0], [2.0], [0.0], [0.0]], (1, 4))
    table = dataclasses.replace(table, extrinsic=extrinsic, task_params={"rewards": worth})
    assert typical_lifetimes(table) == {GROUPS[0]: 2, GROUPS[1]: 3, GROUPS[2]: 4}
    none = dataclasses.replace(table, extrinsic=extrinsic[:3], task_params={"rewards": worth[:3]})
    assert typical_lifetimes(none) == {GROUPS[0]: 2}


def test_without_lifetimes_there_is_nothing_to_draw():
    with pytest.raises(ValueError, match="no lifetimes"):
        trajectories_figure([])
