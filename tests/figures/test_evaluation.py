"""The panels show what their tables hold, each source in its own colour."""

import dataclasses
import itertools

import numpy as np
import pytest
from matplotlib.lines import Line2D

from orexis.figures.curves import MOST_POINTS, binned, episode_ticks
from orexis.figures.evaluation import Panel, evaluation_figure
from orexis.figures.palette import STYLES, SourceStyle, style_of
from orexis.statistics import bootstrap_interval
from tests.figures.conftest import assert_nothing_is_cut, make_table

SOURCES = ["runs/x/reward", *STYLES]


@pytest.fixture(scope="module")
def panels() -> list[Panel]:
    return [
        Panel(f"task {k}", tuple(make_table(name, 6, episodes, seed=10 * k + i) for i, name in enumerate(SOURCES)), 1.0)
        for k, episodes in enumerate((50, 200, 1000, 1234))
    ]


def test_every_panel_draws_the_binned_means_of_its_own_tables(panels):
    figure = evaluation_figure(panels)
    assert len(figure.axes) == 4
    for axes, panel in zip(figure.axes, panels, strict=True):
        *lines, optimum = axes.get_lines()
        for line, band, table in zip(lines, axes.collections, panel.tables, strict=True):
            episodes, returns = binned(table.extrinsic)
            np.testing.assert_allclose(line.get_xdata(), episodes)
            np.testing.assert_allclose(line.get_ydata(), returns.mean(axis=0))
            assert line.get_color() == style_of(table.source).color
            low, high = bootstrap_interval(returns)
            heights = band.get_paths()[0].vertices[:, 1]
            assert (heights.min(), heights.max()) == pytest.approx((low.min(), high.max()))
        assert optimum.is_dashed()
        assert set(optimum.get_ydata()) == {1.0}


def test_labels_stay_inside_the_figure_apart_from_each_other_and_off_other_panels(panels):
    figure = evaluation_figure(panels)
    figure.canvas.draw()
    for axes in figure.axes:
        boxes = sorted((text.get_window_extent() for text in axes.texts), key=lambda box: box.y0)
        assert len(boxes) == len(SOURCES) + 1
        assert all(below.y1 <= above.y0 for below, above in itertools.pairwise(boxes))
        others = [other.get_window_extent() for other in figure.axes if other is not axes]
        for box in boxes:
            assert box.x1 <= figure.bbox.x1
            assert not any(box.overlaps(other) for other in others)


def test_notes_and_titles_are_written():
    panel = Panel("Empty Rooms", (make_table("count"),), note="no learned reward yet")
    texts = [text.get_text() for text in evaluation_figure([panel]).texts]
    assert texts == ["Empty Rooms", "no learned reward yet"]


def test_bins_are_means_of_consecutive_episodes():
    returns = np.arange(2 * 250, dtype=float).reshape(2, 250)  # 3 episodes a bin, the last has one
    episodes, means = binned(returns)
    assert len(episodes) == 84
    assert (episodes[0], episodes[-1]) == (2.0, 250.0)  # the middle of 1, 2, 3; the 250th alone
    np.testing.assert_allclose(means[:, 0], [1.0, 251.0])
    np.testing.assert_allclose(means[:, -1], [249.0, 499.0])


@pytest.mark.parametrize("num_episodes", [1, 7, 50, 100, 101, 1000, 5000])
def test_there_are_never_too_many_points_and_ticks_are_episodes(num_episodes: int):
    episodes, means = binned(np.ones((1, num_episodes)))
    assert len(episodes) <= MOST_POINTS
    np.testing.assert_allclose(means, 1.0)
    ticks = episode_ticks(num_episodes)
    assert ticks == sorted(set(ticks))
    assert len(ticks) <= 7
    assert ticks[-1] <= max(num_episodes, 2)
    if num_episodes <= MOST_POINTS:
        np.testing.assert_array_equal(episodes, np.arange(1, num_episodes + 1))


def test_no_panels_are_refused():
    with pytest.raises(ValueError, match="no panels"):
        evaluation_figure([])


def test_intervals_stand_under_the_curves_with_what_each_seed_came_to():
    tables = (make_table("count", seed=1), make_table("arm", seed=2))
    styles = {"arm": SourceStyle("an arm", "#123456", (0.0, (1.0, 1.0)))}
    panel = Panel("task", tables, 1.0, styles=styles, seeds={"arm": [0.1, 0.3], "count": [0.2]})
    figure = evaluation_figure([panel, panel], intervals=True)
    assert len(figure.axes) == 4
    curves, strip = figure.axes[:2]
    assert [line.get_color() for line in curves.get_lines()[:2]] == [style_of("count").color, "#123456"]
    lines = strip.get_lines()
    for table, bar, dot in zip(tables, (lines[0], lines[2]), (lines[1], lines[3]), strict=True):
        returns = table.extrinsic.mean(axis=1)
        np.testing.assert_allclose(bar.get_xdata(), bootstrap_interval(returns))
        assert dot.get_xdata() == pytest.approx([returns.mean()])
    assert list(lines[4].get_xdata()) == [0.1, 0.3]  # of one seed alone there is no ring
    assert len(lines) == 5
    assert [text.get_text() for text in strip.texts] == ["count bonus", "an arm"]
    assert {line.get_linestyle() for line in lines} <= {"-", "None"}  # dashes would hide where an interval ends
    samples = [artist for artist in figure.artists if isinstance(artist, Line2D)]  # before the labels, of both panels
    assert len(samples) == 2 * 5  # two sources and the optimum beside the curves, the sources again below
    assert sum(line.get_color() == "#123456" and line.get_linestyle() != "-" for line in samples) == 4
    alike = evaluation_figure([dataclasses.replace(panel, styles={"arm": SourceStyle("an arm", "#123456")})], True)
    assert not alike.artists  # where colours tell all, none is needed
    figure.canvas.draw()
    assert_nothing_is_cut(figure)
    boxes = [axes.get_tightbbox() for axes in figure.axes]
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))
