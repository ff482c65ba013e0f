"""The panels show what their tables hold: whole lifetimes binned, a window to the episode, swaps where they are."""

import dataclasses
import itertools

import numpy as np
import pytest

from orexis.figures.around_swaps import ROWS, around_swaps_figure, masked_band
from orexis.figures.curves import binned
from orexis.figures.palette import style_of
from orexis.figures.swaps import Swaps, best_object, ended_at, ended_at_best
from tests.figures.conftest import assert_nothing_is_cut, make_table

SOURCES = ("learned", "extrinsic-ep", "extrinsic-life", "count", "icm")
SWAPS = Swaps(250, 1000)
WINDOW = slice(450, 550)


@pytest.fixture(scope="module")
def tables():
    def random_table(seed, name):
        table = make_table(name, 12, 1000, seed=seed)
        entropy = np.random.default_rng(seed).uniform(size=table.entropy.shape)
        return dataclasses.replace(table, entropy=entropy)

    return {name: random_table(seed, name) for seed, name in enumerate(SOURCES)}


@pytest.fixture(scope="module")
def figure(tables):
    return around_swaps_figure(tables, SWAPS, 500)


def lines_of(axes):
    return [line for line in axes.lines if line.get_label() != "swap"]


def assert_in_band(line, band):
    outline = band.get_paths()
    vertices = np.concatenate([path.vertices for path in outline])
    for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True):
        if not np.isnan(y):
            edge = vertices[np.isclose(vertices[:, 0], x), 1]
            assert edge.min() - 1e-9 <= y <= edge.max() + 1e-9


def test_the_lines_are_means_of_their_own_column_inside_their_bands(figure, tables):
    assert len(figure.axes) == 2 * len(ROWS)
    for index, row in enumerate(ROWS):
        whole, close = figure.axes[2 * index : 2 * index + 2]
        for axes, window in ((whole, None), (close, WINDOW)):
            sources = SOURCES if row != "intrinsic" else SOURCES[:1]
            for line, band, name in zip(lines_of(axes), axes.collections, sources, strict=row != "intrinsic"):
                values = getattr(tables[name], row)
                x, y = binned(values) if window is None else (np.arange(451, 551), values[:, window])
                np.testing.assert_allclose(line.get_xdata(), x)
                np.testing.assert_allclose(line.get_ydata(), y.mean(axis=0))
                assert line.get_color() == style_of(name).color
                assert_in_band(line, band)


def test_the_habit_is_the_best_object_of_the_day_and_near_the_swap_that_of_the_day_before(figure, tables):
    learned = tables["learned"]
    whole, close = figure.axes[2:4]
    today = ended_at_best(learned, 250)
    before = ended_at(learned, best_object(learned, 499, 250))
    _, drawn = lines_of(whole)
    sums, nums = (binned(values)[1].sum(axis=0) for values in (np.where(today, learned.intrinsic, 0.0), today * 1.0))
    np.testing.assert_allclose(drawn.get_ydata(), sums / nums)
    assert_in_band(drawn, whole.collections[1])
    _, drawn = lines_of(close)
    for episode, height in zip(range(450, 550), drawn.get_ydata(), strict=True):
        chosen = before[:, episode]
        if chosen.mean() >= 0.25:
            assert height == pytest.approx(learned.intrinsic[chosen, episode].mean())
        else:
            assert np.isnan(height)


def test_an_episode_that_few_have_is_left_out_and_one_that_few_resamples_have_gives_a_band():
    values = np.arange(16.0).reshape(8, 2)
    chosen = np.zeros((8, 2), bool)
    chosen[0, 0] = True
    chosen[:2, 1] = True
    x, mean, low, high = masked_band(values, chosen, slice(0, 2))
    assert x.tolist() == [1, 2]
    assert np.isnan([mean[0], low[0], high[0]]).all()
    assert mean[1] == (values[0, 1] + values[1, 1]) / 2
    assert low[1] == values[0, 1] < mean[1] < values[1, 1] == high[1]


def test_swaps_are_marked_between_the_episodes_before_and_after(figure):
    for index, axes in enumerate(figure.axes):
        marks = [line.get_xdata()[0] for line in axes.lines if line.get_label() == "swap"]
        assert marks == ([500.5] if index % 2 else [250.5, 500.5, 750.5])
        assert axes.get_xlim() == ((450, 550) if index % 2 else (1, 1000))


def test_a_habit_that_nobody_has_is_not_labelled(tables):
    learned = tables["learned"]
    nowhere = dataclasses.replace(learned, outcome=np.full(learned.outcome.shape, -1))
    figure = around_swaps_figure(tables | {"learned": nowhere}, SWAPS, 500)
    assert [text.get_text() for text in figure.axes[3].texts] == ["all episodes"]


def test_without_a_learned_reward_there_is_no_intrinsic_return(tables):
    figure = around_swaps_figure({name: tables[name] for name in SOURCES[1:]}, SWAPS, 500)
    assert [axes.get_ylabel() for axes in figure.axes[::2]] == ["extrinsic return", "entropy, nats"]


def test_nothing_is_cut_and_no_text_lies_on_another(figure):
    assert_nothing_is_cut(figure)
    boxes = [text.get_window_extent() for axes in figure.axes for text in axes.texts]
    assert len(boxes) == 5 + 2 + 5
    for one, other in itertools.combinations(boxes, 2):
        assert not one.overlaps(other)


def test_wide_numbers_push_no_label_off_the_page(tables):
    figure = around_swaps_figure(tables, SWAPS, 500)
    figure.axes[2].set_yticks([-0.25, 0.25, 0.75])
    assert_nothing_is_cut(figure)
