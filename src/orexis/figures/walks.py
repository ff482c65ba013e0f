"""What a learned reward pays for a walk to A, B or C, given what was visited before (the paper's fifth figure)."""

import dataclasses

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle

from orexis.figures.palette import paper_style

COLORS = "PuOr_r"  # purple below zero, orange above: safe for the colour blind, and not the colours of the sources
WEAKEST = 0.1  # the colours end here at the least, so that a reward that pays next to nothing looks pale


@dataclasses.dataclass(frozen=True)
class WalkSums:
    """One panel: what a walk to each object would be paid in this episode."""

    visited: tuple[str, ...]  # the objects at which the episodes before ended, in order
    sums: dict[str, float]  # by object: sum of the intrinsic rewards of the walk

    @property
    def episode(self) -> int:
        """The number of the episode, from 1."""
        return len(self.visited) + 1

    @property
    def favourite(self) -> str:
        """The object whose walk is paid most."""
        return max(self.sums, key=lambda name: self.sums[name])


@dataclasses.dataclass(frozen=True)
class WalkTable:
    """A learned reward on one task: episodes 1, 2, 3 along two orders of visiting A and C."""

    shape: tuple[int, int]  # H, W of the room
    start: tuple[int, int]  # row, column
    objects: dict[str, tuple[int, int]]  # row, column of each
    rewards: dict[str, float]  # extrinsic, of each object
    rows: tuple[tuple[WalkSums, ...], ...]  # A first (top), C first (bottom); episodes 1, 2, 3


def walks_figure(table: WalkTable) -> Figure:
    """Returns a grid of rooms, a column for each episode: arrows to the objects, coloured by what they are paid."""
    num_rows, num_columns = len(table.rows), max(len(row) for row in table.rows)
    largest = max(abs(paid) for row in table.rows for panel in row for paid in panel.sums.values())
    end = max(largest, WEAKEST)
    scale = ScalarMappable(Normalize(-end, end), COLORS)
    with paper_style():
        figure = Figure(figsize=(1.78 * num_columns + 0.95, 2.02 * num_rows + 0.1))
        grid = figure.subplots(num_rows, num_columns, squeeze=False)
        figure.subplots_adjust(left=0.015, right=0.865, bottom=0.03, top=0.94, wspace=0.1, hspace=0.2)
        for axes, panel in zip(grid.flat, (panel for row in table.rows for panel in row), strict=True):
            _draw_room(axes, table, panel)
            for name, paid in panel.sums.items():
                _draw_walk(axes, table, name, paid, scale, boldly=name == panel.favourite)
        bar = figure.colorbar(scale, cax=figure.add_axes((0.885, 0.16, 0.018, 0.68)))
        bar.set_label("sum of intrinsic rewards", labelpad=1)
        bar.outline.set_visible(False)
    return figure


def panel_title(panel: WalkSums) -> str:
    """Returns what happened before, in words: `episode 2, after A`."""
    return f"episode {panel.episode}" + (f", after {' and '.join(panel.visited)}" if panel.visited else "")


def walks_in_words(table: WalkTable) -> str:
    """Returns which object each episode pays most for, and in how many panels that is as the paper reports it.

    The paper: A in episode 1, the one of A and C not yet visited in episode 2, A again in episode 3.
    """
    panels = list({panel.visited: panel for row in table.rows for panel in row}.values())
    told = [f"{panel.favourite} in {panel_title(panel)}" for panel in panels]
    agreeing = sum(panel.favourite == _paper_favourite(panel) for panel in panels)
    shunning = sum(min(panel.sums, key=lambda name: panel.sums[name]) == "B" for panel in panels)
    return (
        f"The walk that is paid most: {'; '.join(told)}. In the paper it is A in episode 1, whichever of A and C "
        f"was not visited in episode 2, and A again in episode 3; this reward agrees in {agreeing} of {len(panels)} "
        f"cases. The walk to B is paid least in {shunning} of {len(panels)}."
    )


def _paper_favourite(panel: WalkSums) -> str:
    return "C" if panel.visited == ("A",) else "A"


def _draw_room(axes: Axes, table: WalkTable, panel: WalkSums) -> None:
    """Draws the cells, the objects with their extrinsic rewards (those visited shaded) and the agent's start."""
    height, width = table.shape
    axes.set(xlim=(-0.06, width + 0.06), ylim=(height + 0.06, -0.06), aspect="equal")
    axes.set_axis_off()
    axes.set_title(panel_title(panel), fontweight="normal", fontsize=8, pad=3)
    for row in range(height):
        for column in range(width):
            axes.add_patch(Rectangle((column, row), 1, 1, facecolor="white", edgecolor="#DADADA", linewidth=0.6))
    for name, (row, column) in table.objects.items():
        seen = name in panel.visited
        face = "#D5D5D5" if seen else "#F4F4F4"
        axes.add_patch(Rectangle((column, row), 1, 1, facecolor=face, edgecolor="#7A7A7A", linewidth=0.8))
        axes.text(column + 0.5, row + 0.42, name, ha="center", va="center", fontsize=9, fontweight="bold")
        worth = f"{table.rewards[name]:+.1f}".replace("-", "−")
        axes.text(column + 0.5, row + 0.8, worth, ha="center", va="center", fontsize=5.5, color="#555555")
    axes.plot(table.start[1] + 0.5, table.start[0] + 0.5, "o", color="black", markersize=4.5, zorder=4)


def _draw_walk(axes: Axes, table: WalkTable, name: str, paid: float, scale: ScalarMappable, *, boldly: bool) -> None:
    """Draws the arrow from the start to one object and writes the sum beside it."""
    (row, column), (row_0, column_0) = table.objects[name], table.start
    down, right = row - row_0, column - column_0
    tip = (column + 0.5 - 0.62 * _sign(right), row + 0.5 - 0.62 * _sign(down))
    tail = (column_0 + 0.5 + 0.2 * _sign(right), row_0 + 0.5 + 0.2 * _sign(down))
    axes.add_patch(
        FancyArrowPatch(
            tail, tip, arrowstyle="simple,head_width=9,head_length=8,tail_width=4.2", shrinkA=0, shrinkB=0,
            facecolor=scale.to_rgba(np.array(paid)), edgecolor="#333333", linewidth=0.6, zorder=3,
        )
    )  # fmt: skip
    beside = (column_0 + 0.5 + 1.96 * _sign(right), row_0 + 0.5 + 0.98 * _sign(down))
    axes.text(
        *beside, f"{round(paid, 2) + 0.0:+.2f}".replace("-", "−"), ha="center", va="center", fontsize=7.0,
        fontweight="bold" if boldly else "normal", zorder=5,
    )  # fmt: skip


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
