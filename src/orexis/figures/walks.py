"""What a learned reward pays for a walk to A, B or C, given what was visited before (the paper's fifth figure)."""

from collections.abc import Collection, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle
from matplotlib.ticker import MaxNLocator

from orexis.evaluation.walks import Room, WalkSums, WalkTable
from orexis.figures.palette import paper_style

COLORS = "PuOr_r"  # purple below zero, orange above: safe for the colour blind, and not the colours of the sources
WEAKEST = 0.1  # the colours end here at the least, so that a reward that pays next to nothing looks pale


def walks_figure(table: WalkTable) -> Figure:
    """Returns a grid of rooms, a column for each episode: arrows to the objects, coloured by what they are paid."""
    num_rows, num_columns = len(table.rows), max(len(row) for row in table.rows)
    scale = reward_scale([paid for row in table.rows for panel in row for paid in panel.sums.values()])
    with paper_style():
        figure = Figure(figsize=(1.78 * num_columns + 0.95, 2.02 * num_rows + 0.1))
        grid = figure.subplots(num_rows, num_columns, squeeze=False)
        figure.subplots_adjust(left=0.015, right=0.865, bottom=0.03, top=0.94, wspace=0.1, hspace=0.2)
        for axes, panel in zip(grid.flat, (panel for row in table.rows for panel in row), strict=True):
            draw_walks(axes, table.room, panel, scale)
        draw_scale(figure, scale, (0.885, 0.16, 0.018, 0.68), "sum of intrinsic rewards")
    return figure


def reward_scale(rewards: Sequence[float] | np.ndarray) -> ScalarMappable:
    """Returns the colours of rewards: white for zero, as far below it as above."""
    end = max(float(np.max(np.abs(rewards), initial=0.0)), WEAKEST)
    return ScalarMappable(Normalize(-end, end), COLORS)


def draw_scale(figure: Figure, scale: ScalarMappable, place: tuple[float, float, float, float], label: str) -> None:
    """Draws the bar of colours at `place` (left, bottom, width, height in shares of the figure)."""
    bar = figure.colorbar(scale, cax=figure.add_axes(place), ticks=MaxNLocator(5))
    bar.set_label(label, labelpad=1)
    bar.outline.set_visible(False)


def draw_walks(axes: Axes, room: Room, panel: WalkSums, scale: ScalarMappable) -> None:
    """Draws one panel: the room, and an arrow to each object with what the walk is paid."""
    draw_room(axes, room, panel.visited)
    axes.set_title(panel_title(panel), fontweight="normal", fontsize=8, pad=3)
    for name, paid in panel.sums.items():
        _draw_walk(axes, room, name, paid, scale, boldly=name == panel.favourite)


def panel_title(panel: WalkSums) -> str:
    """Returns what happened before, in words: `episode 2, after A`."""
    return f"episode {panel.episode}" + (f", after {' and '.join(panel.visited)}" if panel.visited else "")


def walks_in_words(table: WalkTable) -> str:
    """Returns which object each episode pays most for, and in how many panels that is as the paper reports it.

    The paper: A in episode 1, the one of A and C not yet visited in episode 2, A again in episode 3.
    """
    panels = list(table.panels.values())
    told = [f"{panel.favourite} in {panel_title(panel)}" for panel in panels]
    agreeing = sum(panel.favourite == paper_favourite(panel) for panel in panels)
    shunning = sum(min(panel.sums, key=lambda name: panel.sums[name]) == "B" for panel in panels)
    return (
        f"The walk that is paid most: {'; '.join(told)}. In the paper it is A in episode 1, whichever of A and C "
        f"was not visited in episode 2, and A again in episode 3; this reward agrees in {agreeing} of {len(panels)} "
        f"cases. The walk to B is paid least in {shunning} of {len(panels)}."
    )


def paper_favourite(panel: WalkSums) -> str:
    """Returns the object whose walk the paper reports to be paid most, where A is worth more than C."""
    return "C" if panel.visited == ("A",) else "A"


def draw_room(axes: Axes, room: Room, visited: Collection[str] = ()) -> None:
    """Draws the cells, the objects with their extrinsic rewards (those visited shaded) and the agent's start."""
    height, width = room.shape
    axes.set(xlim=(-0.06, width + 0.06), ylim=(height + 0.06, -0.06), aspect="equal")
    axes.set_axis_off()
    for row in range(height):
        for column in range(width):
            axes.add_patch(Rectangle((column, row), 1, 1, facecolor="white", edgecolor="#DADADA", linewidth=0.6))
    for name, (row, column) in room.objects.items():
        face = "#D5D5D5" if name in visited else "#F4F4F4"
        axes.add_patch(Rectangle((column, row), 1, 1, facecolor=face, edgecolor="#7A7A7A", linewidth=0.8))
        axes.text(column + 0.5, row + 0.36, name, ha="center", va="center", fontsize=9, fontweight="bold")
        worth = signed(room.rewards[name], 1)
        axes.text(column + 0.5, row + 0.74, worth, ha="center", va="center", fontsize=5.5, color="#555555")
    axes.plot(room.start[1] + 0.5, room.start[0] + 0.5, "o", color="black", markersize=4.5, zorder=4)


def signed(number: float, digits: int) -> str:
    """Returns the number with its sign and so many digits, a zero without minus."""
    return f"{round(number, digits) + 0.0:+.{digits}f}".replace("-", "−")


def _draw_walk(axes: Axes, room: Room, name: str, paid: float, scale: ScalarMappable, *, boldly: bool) -> None:
    """Draws the arrow from the start to one object and writes the sum beside it."""
    (row, column), (row_0, column_0) = room.objects[name], room.start
    down, right = row - row_0, column - column_0
    tip = (column + 0.5 - 0.62 * _sign(right), row + 0.5 - 0.62 * _sign(down))
    tail = (column_0 + 0.5 + 0.2 * _sign(right), row_0 + 0.5 + 0.2 * _sign(down))
    axes.add_patch(
        FancyArrowPatch(
            tail, tip, arrowstyle="simple,head_width=9,head_length=8,tail_width=4.2", shrinkA=0, shrinkB=0,
            facecolor=scale.to_rgba(np.array(paid)), edgecolor="#333333", linewidth=0.6, zorder=3,
        )
    )  # fmt: skip
    beside = (column + 0.5 - 1.28 * _sign(right), row + 0.5)
    axes.text(
        *beside, signed(paid, 2), ha="center", va="center", fontsize=7.0,
        fontweight="bold" if boldly else "normal", zorder=5,
    )  # fmt: skip


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
