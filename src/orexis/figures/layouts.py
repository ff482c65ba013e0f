"""The rooms that agents live in (the paper's second figure), drawn from sketches of states."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch, Rectangle

from orexis.colors import BLUE, ORANGE, SKY, VERMILLION, YELLOW
from orexis.figures.palette import paper_style

FLOOR, GRID, WALL, INK = "#FFFFFF", "#DDDDDD", "#4A4A4A", "#222222"
BOXES = {"A": SKY, "B": VERMILLION, "C": YELLOW}


def layouts_figure(panels: Mapping[str, tuple[np.ndarray, str]]) -> Figure:
    """Returns a row of rooms, a panel for each title: its sketch str[H, W] and a line about it.

    Signs as in `Task.sketch`: `#` wall, `.` floor, `@` agent, `&` agent with the key, `K` key, `*` hidden goal.
    """
    with paper_style():
        figure = Figure(figsize=(2.35 * len(panels) + 0.1, 2.78))
        grid = figure.subplots(1, len(panels), squeeze=False)[0]
        figure.subplots_adjust(left=0.01, right=0.99, bottom=0.1, top=0.915, wspace=0.06)
        for axes, (title, (signs, remark)) in zip(grid, panels.items(), strict=True):
            _draw_room(axes, signs)
            axes.set_title(title, loc="center", pad=4, fontsize=9)
            axes.text(0.5, -0.03, remark, transform=axes.transAxes, ha="center", va="top", fontsize=7, color="#444444")
    return figure


def _draw_room(axes: Axes, signs: np.ndarray) -> None:
    """Draws every cell of a sketch."""
    height, width = signs.shape
    axes.set(xlim=(-0.05, width + 0.05), ylim=(height + 0.05, -0.05), aspect="equal")
    axes.set_axis_off()
    for (row, column), sign in np.ndenumerate(signs):
        face = WALL if sign == "#" else FLOOR
        edge = WALL if sign == "#" else GRID
        axes.add_patch(Rectangle((column, row), 1, 1, facecolor=face, edgecolor=edge, linewidth=0.6))
        if sign not in "#.":
            _draw_thing(axes, str(sign), column + 0.5, row + 0.5, 9.0 / max(height, width))
    axes.add_patch(Rectangle((0, 0), width, height, fill=False, edgecolor=WALL, linewidth=1.2, zorder=3))


def _draw_thing(axes: Axes, sign: str, x: float, y: float, size: float) -> None:
    """Draws what stands in a cell, its middle at (x, y); `size` scales letters."""
    if sign in "@&":
        axes.add_patch(Circle((x, y), 0.31, facecolor=BLUE, edgecolor="none", zorder=4))
        if sign == "&":
            _draw_key(axes, x, y, "white", 0.7)
    elif sign == "*":
        axes.add_patch(
            Rectangle(
                (x - 0.4, y - 0.4), 0.8, 0.8, facecolor=YELLOW, edgecolor=INK, linewidth=0.8, linestyle=(0, (2, 1.5))
            )
        )
    elif sign == "K":
        _draw_key(axes, x, y, ORANGE, 1.0)
    else:
        shape = FancyBboxPatch(
            (x - 0.3, y - 0.3), 0.6, 0.6, boxstyle="round,pad=0.08", facecolor=BOXES.get(sign, GRID), edgecolor="none"
        )
        axes.add_patch(shape)
        axes.text(x, y + 0.02, sign, ha="center", va="center", fontsize=9 * size, fontweight="bold", color=INK)


def _draw_key(axes: Axes, x: float, y: float, color: str, scale: float) -> None:
    """Draws a key that lies on its side: bow, shaft and two teeth."""
    width = 1.6 * scale
    axes.add_patch(Circle((x - 0.2 * scale, y), 0.16 * scale, fill=False, edgecolor=color, linewidth=width, zorder=5))
    axes.plot([x - 0.04 * scale, x + 0.36 * scale], [y, y], color=color, linewidth=width, zorder=5)
    for tooth in (0.2, 0.33):
        axes.plot([x + tooth * scale] * 2, [y, y + 0.17 * scale], color=color, linewidth=width, zorder=5)
