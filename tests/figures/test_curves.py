"""Curves show the means of the table, in the source's colour, under the source's name."""

import dataclasses
import itertools

import numpy as np
import pytest

from orexis.figures.curves import learning_curves, spread, training_curves
from orexis.figures.palette import style_of
from orexis.statistics import bootstrap_interval
from tests.figures.conftest import make_table


def lines_by_label(figure):
    return {line.get_label(): line for line in figure.axes[0].get_lines()}


def test_lines_are_the_means_of_the_episodes(tables):
    lines = lines_by_label(learning_curves(tables, None, "title"))
    for table, name in zip(tables, ("learned reward", "extrinsic (episode)", "near-optimal"), strict=True):
        np.testing.assert_allclose(lines[name].get_ydata(), table.extrinsic.mean(axis=0))
        np.testing.assert_array_equal(lines[name].get_xdata(), np.arange(1, 51))
        assert lines[name].get_color() == style_of(table.source).color


def test_bands_are_the_bootstrap_intervals(tables):
    figure = learning_curves(tables, None, "title")
    for table, band in zip(tables, figure.axes[0].collections, strict=True):
        low, high = bootstrap_interval(table.extrinsic)
        heights = band.get_paths()[0].vertices[:, 1]
        assert heights.min() == pytest.approx(low.min())
        assert heights.max() == pytest.approx(high.max())


def test_optimum_is_a_dashed_line_at_its_height(tables):
    line = lines_by_label(learning_curves(tables, 19 / 48, "title"))["optimum"]
    assert set(line.get_ydata()) == {19 / 48}
    assert line.is_dashed()


def test_labels_are_written_beside_the_lines_and_do_not_overlap(tables):
    close = [make_table(source, seed=5) for source in ("runs/a", "runs/bcd", "count", "random")]  # the same line
    for drawn in (tables, close):
        figure = learning_curves(drawn, 0.1, "what is drawn")
        texts = list(figure.axes[0].texts)
        assert len(texts) == len(drawn) + 1
        assert figure.axes[0].get_legend() is None
        figure.canvas.draw()
        boxes = sorted((text.get_window_extent() for text in texts), key=lambda box: box.y0)
        assert all(below.y1 <= above.y0 for below, above in itertools.pairwise(boxes))
        assert all(box.x1 <= figure.bbox.x1 for box in boxes)
        assert "what is drawn" in [text.get_text() for text in figure.texts]


def test_the_label_of_the_axis_has_room_beside_ticks_below_zero(tables):
    small = [dataclasses.replace(table, extrinsic=0.1 * table.extrinsic) for table in tables]
    figure = learning_curves(small, 0.1, "title")
    figure.draw_without_rendering()
    axes = figure.axes[0]
    assert any(text.get_text().startswith("\N{MINUS SIGN}0.") for text in axes.get_yticklabels())
    assert axes.yaxis.label.get_window_extent().x0 >= 0.01 * figure.bbox.width


def test_no_tables_are_refused():
    with pytest.raises(ValueError, match="no tables"):
        learning_curves([], None, "")


def test_spread_moves_only_what_is_too_close():
    # 0.5 and 0.6 want the same place: half a gap below and above their mean 0.55; 3 is far enough from both.
    np.testing.assert_allclose(spread([3.0, 0.6, 0.5], 1.0), [3.0, 1.05, 0.05])


@pytest.mark.parametrize("seed", range(5))
def test_spread_keeps_the_order_the_gap_and_the_mean(seed):
    heights = np.random.default_rng(seed).uniform(0, 4, 7)
    placed = np.array(spread(list(heights), 1.0))
    np.testing.assert_array_equal(np.argsort(placed), np.argsort(heights))
    assert np.diff(np.sort(placed)).min() > 1.0 - 1e-9
    assert placed.mean() == pytest.approx(heights.mean())


def test_spread_pushes_up_what_would_lie_too_low():
    np.testing.assert_allclose(spread([0.2, 0.1, 0.3, 5.0], 1.0, least=0.0), [1.0, 0.0, 2.0, 5.0])
    np.testing.assert_allclose(spread([0.2, 0.1, 0.3, 2.5], 1.0, least=0.0), [1.0, 0.0, 2.0, 3.0])
    np.testing.assert_allclose(spread([-1.0], 1.0, least=0.0), [0.0])


def test_spread_merges_blocks_that_meet():
    placed = spread([0.0, 0.1, 0.9, 1.0], 1.0)
    np.testing.assert_allclose(placed, [-1.0, 0.0, 1.0, 2.0])  # around their mean 0.5


PANELS = {"episode_return": "return", "policy_entropy": "entropy", "lifetime_value_rmse": "error", "other": "none"}


def metrics(num_rows, seed=0):
    rng = np.random.default_rng(seed)
    columns = {name: rng.uniform(0.5, 1.0, num_rows) for name in PANELS}
    return {"update": 10.0 * np.arange(1, num_rows + 1), **columns}


def test_training_panels_show_the_columns_and_their_running_mean():
    data = metrics(60)
    data["episode_return"][7] = np.nan  # no episode ended
    figure = training_curves({"run": data}, PANELS)
    assert len(figure.axes) == len(PANELS)
    for axes, (column, heading) in zip(figure.axes, PANELS.items(), strict=True):
        rows, running = axes.get_lines()
        assert axes.get_title(loc="left") == heading
        np.testing.assert_array_equal(rows.get_xdata(), data["update"])
        np.testing.assert_array_equal(rows.get_ydata(), data[column])
        np.testing.assert_allclose(running.get_ydata()[50], data[column][48:51].mean())  # 60 // 20 = 3 rows
    # rows 6, 7, 8 with row 7 missing
    mean = np.mean(data["episode_return"][[6, 8]])
    np.testing.assert_allclose(figure.axes[0].get_lines()[1].get_ydata()[8], mean)
    assert not figure.legends


def test_runs_are_laid_over_each_other_in_colours_of_their_own():
    runs = {f"run {seed}": metrics(20 + seed, seed) for seed in range(9)}
    del runs["run 3"]["other"]  # of an earlier version
    figure = training_curves(runs, PANELS)
    figure.canvas.draw()
    strong = [axes.get_lines()[1::2] for axes in figure.axes[:4]]
    assert [len(lines) for lines in strong] == [9, 9, 9, 8]
    looks = {(line.get_color(), line.get_linestyle()) for line in strong[0]}
    assert len(looks) == 9
    for line, data in zip(strong[0], runs.values(), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), data["update"])
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == list(runs)
    assert [line.get_color() for line in legend.get_lines()] == [line.get_color() for line in strong[0]]


def test_a_column_with_few_values_is_drawn_value_by_value():
    data = metrics(40)
    data["other"][:] = np.nan
    data["other"][[9, 19, 29]] = [0.1, 0.3, 0.2]
    (line,) = training_curves({"run": data}, {"other": "validation"}).axes[0].get_lines()
    np.testing.assert_array_equal(line.get_xdata(), [100, 200, 300])
    np.testing.assert_array_equal(line.get_ydata(), [0.1, 0.3, 0.2])
    assert line.get_marker() == "o"


def test_panels_that_are_left_over_are_not_shown():
    figure = training_curves({"run": metrics(5)}, {**PANELS, "more": "not there"})
    assert [axes.get_visible() for axes in figure.axes] == [True] * 5 + [False] * 3
    assert not figure.axes[4].get_lines()


def test_training_with_a_single_row_can_be_drawn():
    training_curves({"run": metrics(1)}, PANELS).canvas.draw()


def test_training_without_a_single_value_can_be_drawn():
    for rows in ([], [1.0]):
        empty = {name: np.full(len(rows), np.nan) for name in PANELS}
        training_curves({"run": {"update": np.array(rows), **empty}}, PANELS).canvas.draw()


def test_nothing_to_draw_is_refused():
    with pytest.raises(ValueError, match="no runs"):
        training_curves({}, PANELS)
