"""The maps show the visits of their own lifetimes on one scale, the curves the cells seen, in the sources' colours."""

import itertools

import numpy as np
import pytest

from orexis.figures.heat_maps import PHASES, Group, heat_maps_figure, visit_map
from orexis.figures.palette import style_of
from orexis.figures.visits import count_visits, coverage
from tests.figures.conftest import assert_nothing_is_cut
from tests.figures.searches import TASK, random_search

SOURCES = ("learned", "extrinsic-ep", "count", "icm")


@pytest.fixture(scope="module")
def groups() -> list[Group]:
    searches = {name: random_search(9, 400, seed, name) for seed, name in enumerate(SOURCES)}
    return [
        Group(f"goal in {goal}", goal, {name: search.with_goal(goal) for name, search in searches.items()})
        for goal in TASK.goals
    ]


@pytest.fixture(scope="module")
def figure(groups):
    return heat_maps_figure(groups)


def maps_of(figure):
    return [axes for axes in figure.axes if axes.images]


def test_a_map_sums_to_its_steps_and_is_empty_in_walls(groups):
    for group, after in itertools.product(groups, PHASES):
        for search in group.searches.values():
            shown = visit_map(search, after)
            assert np.nansum(shown) == pytest.approx(1000.0)
            np.testing.assert_array_equal(np.isnan(shown), TASK.map.walls)
            visits = count_visits(search, after).sum(axis=0)
            np.testing.assert_allclose(shown[~TASK.map.walls], 1000 * visits / visits.sum())


def test_a_map_without_a_step_is_empty(groups):
    nobody = next(iter(groups[0].searches.values())).with_goal((0, 0))
    assert np.nansum(visit_map(nobody, after=True)) == 0


def test_every_map_shows_its_own_lifetimes_on_one_scale_with_start_goal_and_walls(groups, figure):
    cells = [(name, group, after) for name in SOURCES for group in groups for after in PHASES]
    scales = set()
    for axes, (name, group, after) in zip(maps_of(figure), cells, strict=True):
        (image,) = axes.images
        shown = visit_map(group.searches[name], after)
        np.testing.assert_allclose(np.nan_to_num(image.get_array().filled(0.0)), np.nan_to_num(shown))
        steps = count_visits(group.searches[name], after).sum(axis=1)
        assert axes.texts[0].get_text() == f"n = {(steps > 0).sum()}, {steps.sum() / (steps > 0).sum():.0f} steps"
        scales.add((image.norm.vmin, image.norm.vmax, image.cmap.name))
        start, goal = ((line.get_ydata()[0], line.get_xdata()[0]) for line in axes.lines)
        assert start == TASK.map.start
        assert goal == group.goal
        assert len(axes.patches) == TASK.map.walls.sum()
    ((_, darkest, _),) = scales
    assert darkest >= max(np.nanmax(visit_map(group.searches[name], after)) for name, group, after in cells)


def test_curves_are_the_mean_cells_seen_inside_their_bands_in_the_colours_of_the_sources(groups, figure):
    panels = [axes for axes in figure.axes if axes.get_xlabel() == "steps"]
    for axes, group in zip(panels, groups, strict=True):
        lines = [line for line in axes.lines if len(line.get_xdata()) > 1]
        for line, band, (name, search) in zip(lines, axes.collections, group.searches.items(), strict=True):
            steps = np.asarray(line.get_xdata())
            assert (steps[0], steps[-1]) == (0, 400)
            np.testing.assert_allclose(line.get_ydata(), coverage(search).mean(axis=0)[steps])
            assert line.get_color() == style_of(name).color
            outline = band.get_paths()[0].vertices
            for step, height in zip(steps, np.asarray(line.get_ydata()), strict=True):
                edge = outline[outline[:, 0] == step, 1]
                assert edge.min() - 1e-9 <= height <= edge.max() + 1e-9


def test_nothing_is_cut_and_no_text_lies_on_another(figure):
    assert_nothing_is_cut(figure)
    texts = [*figure.texts, *(text for axes in figure.axes for text in axes.texts)]
    boxes = [text.get_window_extent() for text in texts]
    assert len(boxes) == 4 + 2 * 3 + 16 + 2 * 4  # sources, rows, maps, ends of lines
    for one, other in itertools.combinations(boxes, 2):
        assert not one.overlaps(other)
