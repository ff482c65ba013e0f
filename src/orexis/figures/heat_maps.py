"""The paper's fourth figure: where agents of Empty Rooms are before and after they find the goal, and what they see."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from orexis.colors import BLUE, YELLOW
from orexis.figures.curves import EndLabel, draw_band, label_ends, width_of
from orexis.figures.palette import display_names, paper_style, style_of
from orexis.figures.visits import Search, count_visits, coverage

COLORS = LinearSegmentedColormap.from_list("visits", ["#FFF3D6", "#F6B96B", "#D1563C", "#7B1D54", "#1B0C33"])
"""From pale to dark, so that grey print keeps the order; no source has one of these colours."""
PHASES = {False: "before it is found", True: "after"}
A_FEW = 1.0  # visits in a thousand steps: the palest colour that is not white
WALL, INK, FAINT = "#C9C9C9", "#222222", "#6A6A6A"

WIDTH, MAP, GAP = 7.1, 0.96, 0.07  # inches: of the figure, of a map, between maps
LEFT, TOP, ROW = 0.44, 0.27, 1.14  # inches: of the rows' names, of the columns' names, of a row
BOTTOM, CURVES = 0.48, 0.42  # inches: of the colour bar, between maps and curves


@dataclasses.dataclass(frozen=True)
class Group:
    """Lifetimes with the same goal: two rows of maps and a panel of curves."""

    title: str
    goal: tuple[int, int]
    searches: Mapping[str, Search]  # by source


def visit_map(search: Search, after: bool) -> np.ndarray:
    """Returns f[H, W], visits of each cell in a thousand steps before (or `after`) the goal was found, all lifetimes
    together: they sum to 1000 unless there was no step. NaN in walls."""
    room = search.task.map
    visits = count_visits(search, after).sum(axis=0)
    shown = np.full((room.height, room.width), np.nan)
    shown[tuple(room.free_cells.T)] = 1000.0 * visits / max(1, visits.sum())
    return shown


def heat_maps_figure(groups: Sequence[Group]) -> Figure:
    """Returns two rows of maps for each group, before and after the goal was found, a column for each source, all with
    one scale of colours; beside them the cells seen over steps, with 95 % bootstrap bands."""
    sources = list(groups[0].searches)
    height = TOP + 2 * len(groups) * ROW + BOTTOM
    maps = [visit_map(search, after) for group in groups for search in group.searches.values() for after in PHASES]
    most = max(float(np.nanmax(shown, initial=0.0)) for shown in maps)
    norm = LogNorm(A_FEW, max(100.0 * A_FEW, most))
    with paper_style():
        figure = Figure(figsize=(WIDTH, height))

        def place(left: float, top: float, wide: float, high: float) -> Axes:
            return figure.add_axes((left / WIDTH, 1 - (top + high) / height, wide / WIDTH, high / height))

        for column, (source, name) in enumerate(zip(sources, display_names(sources), strict=True)):
            left = LEFT + column * (MAP + GAP)
            color = style_of(source).color
            place_of_name = ((left + MAP / 2) / WIDTH, 1 - 0.07 / height)
            figure.text(*place_of_name, name, ha="center", va="top", fontsize=6.6, fontweight="bold", color=color)
            for row, group in enumerate(groups):
                for after in PHASES:
                    axes = place(left, TOP + (2 * row + after) * ROW, MAP, MAP)
                    _draw_map(axes, group.searches[source], group.goal, after, norm)
        right = LEFT + len(sources) * (MAP + GAP)
        for row, group in enumerate(groups):
            top = TOP + 2 * row * ROW
            for after, words in PHASES.items():
                middle = 1 - (top + after * ROW + MAP / 2) / height
                figure.text(0.24 / WIDTH, middle, words, rotation=90, va="center", fontsize=7)
            middle = 1 - (top + (ROW + MAP) / 2) / height
            figure.text(0.04 / WIDTH, middle, group.title, rotation=90, va="center", fontweight="bold", fontsize=7.5)
            axes = place(right + CURVES, top, 1.0, 2 * ROW - 0.5)
            ends = _draw_coverage(axes, group.searches)
            wide = WIDTH - right - CURVES - (width_of(ends) + 8) / 72
            box = axes.get_position()
            axes.set_position((box.x0, box.y0, wide / WIDTH, box.height))
            label_ends(axes, ends, axes_points=box.height * height * 72)
        bar_axes = place(LEFT + 0.3, height - BOTTOM + 0.06, right - LEFT - GAP - 0.6, 0.09)
        bar = figure.colorbar(ScalarMappable(norm, COLORS), cax=bar_axes, orientation="horizontal", format="%g")
        bar.set_label("visits of a cell in 1000 steps (white: none); ● start, ☆ goal", labelpad=1)
        bar.outline.set_visible(False)
    return figure


def _draw_map(axes: Axes, search: Search, goal: tuple[int, int], after: bool, norm: LogNorm) -> None:
    """Draws visits, walls, start and goal, and how many lifetimes and steps the map was made of."""
    room, shown = search.task.map, visit_map(search, after)
    axes.set(xlim=(-0.5, room.width - 0.5), ylim=(room.height - 0.5, -0.5), aspect="equal", xticks=[], yticks=[])
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(True)
        spine.set_color(INK)
    axes.imshow(np.where(shown > 0, shown, np.nan), cmap=COLORS, norm=norm, interpolation="nearest")
    for row, column in np.argwhere(room.walls):
        corner = (column - 0.5, row - 0.5)
        axes.add_patch(Rectangle(corner, 1, 1, facecolor=WALL, edgecolor=FAINT, linewidth=0, hatch="/////"))
    axes.plot(room.start[1], room.start[0], "o", ms=4.6, mfc=BLUE, mec="white", mew=0.8)
    axes.plot(goal[1], goal[0], "*", ms=8, mfc=YELLOW, mec=INK, mew=0.6)
    visits = count_visits(search, after).sum(axis=1)
    lived = int((visits > 0).sum())
    words = f"n = {lived}, {visits.sum() / max(1, lived):.0f} steps" if lived else "nobody"
    axes.text(0.5, -0.03, words, transform=axes.transAxes, ha="center", va="top", fontsize=6, color=FAINT)


def _draw_coverage(axes: Axes, searches: Mapping[str, Search]) -> list[EndLabel]:
    """Draws the mean number of cells seen, a line and a band for each source, a dot where half of its agents have found
    the goal; returns the labels."""
    ends = []
    for (source, search), name in zip(searches.items(), display_names(list(searches)), strict=True):
        style, num_steps = style_of(source), search.num_steps
        steps = np.unique(np.linspace(0, num_steps, 121).astype(int))
        mean = draw_band(axes, steps, coverage(search)[:, steps], style, name)
        halfway = float(np.sort(search.found)[(len(search.found) - 1) // 2]) + 1
        if halfway <= num_steps:
            height = np.interp(halfway, steps, mean)
            axes.plot(halfway, height, "o", ms=4, color=style.color, mec="white", mew=0.7, zorder=4)
        ends.append(EndLabel(float(mean[-1]), name, style.color))
        axes.set_xlim(0, num_steps)
    num_cells = len(next(iter(searches.values())).task.map.free_cells)
    axes.set_ylim(0, num_cells)
    axes.set_xlabel("steps", labelpad=1)
    axes.set_ylabel(f"cells seen, of {num_cells}", labelpad=1)
    axes.locator_params(axis="x", nbins=3)
    return ends
