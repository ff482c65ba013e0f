"""Figures with a panel for each task: the curves of all sources, their bands and the dashed optimum (the paper's third
figure), and under them, where asked for, what a whole lifetime returned (its ablations and comparisons)."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from orexis.evaluation.table import SourceTable
from orexis.figures.curves import (
    COLUMN_WIDTH,
    EndLabel,
    draw_curves,
    label_ends,
    label_right,
    need_samples,
    width_of,
)
from orexis.figures.palette import SourceStyle, looks_of, paper_style
from orexis.statistics import bootstrap_interval

PANEL_HEIGHT = 2.2  # inches, all that belongs to a panel
AXES_HEIGHT = 1.5  # of them, the curves
LEFT = 0.54  # inches beside the curves, for the numbers
ROW_HEIGHT = 0.125  # inches, of an interval
STRIP_MARGIN = 0.5  # inches, under the intervals: their axis


@dataclasses.dataclass(frozen=True)
class Panel:
    """One task of the figure."""

    title: str
    tables: tuple[SourceTable, ...]
    optimum: float | None = None
    note: str = ""  # what is missing or shortened, said under the title
    styles: Mapping[str, SourceStyle] = dataclasses.field(
        default_factory=dict
    )  # of sources that have none of their own
    seeds: Mapping[str, Sequence[float]] = dataclasses.field(default_factory=dict)
    """By source: what each of several training seeds comes to, the mean return of an episode."""


def evaluation_figure(panels: Sequence[Panel], intervals: bool = False) -> Figure:
    """Returns the panels in two columns, as wide as a page; one panel alone is as wide as a column.

    intervals: under the curves, the mean return of an episode over the lifetime of each source.
    """
    if not panels:
        raise ValueError("no panels to draw")
    num_columns = min(2, len(panels))
    num_rows = -(-len(panels) // num_columns)
    strip = ROW_HEIGHT * max(len(panel.tables) for panel in panels) if intervals else 0.0
    tall = PANEL_HEIGHT + (strip + STRIP_MARGIN if intervals else 0.0)
    width, height = num_columns * COLUMN_WIDTH, num_rows * tall
    with paper_style():
        figure = Figure(figsize=(width, height))
        for index, panel in enumerate(panels):
            row, column = divmod(index, num_columns)
            left, top = column * COLUMN_WIDTH, height - row * tall
            axes = figure.add_axes((0.0, 0.0, 0.1, 0.1))
            ends = draw_curves(axes, panel.tables, panel.optimum, panel.styles)
            across = COLUMN_WIDTH - LEFT - (width_of(ends) + 10) / 72
            bottom = top - PANEL_HEIGHT + 0.36
            _place(axes, left + LEFT, bottom, across, AXES_HEIGHT)
            label_ends(axes, ends, axes_points=AXES_HEIGHT * 72)
            if intervals:
                below = figure.add_axes((0.0, 0.0, 0.1, 0.1))
                size = strip * len(panel.tables) / max(len(each.tables) for each in panels)
                _place(below, left + LEFT, bottom - 0.48 - size, across, size)
                draw_intervals(below, panel)
            above = (top - 0.05) / height
            figure.text((left + 0.06) / width, above, panel.title, va="top", fontweight="bold", fontsize=8)
            if panel.note:
                figure.text(
                    (left + 0.06) / width, above - 0.145 / height, panel.note, va="top", fontsize=6.5, color="#6A6A6A"
                )
    return figure


def draw_intervals(axes: Axes, panel: Panel) -> None:
    """Draws a row for each source: the mean over lifetimes of what an episode returned, its 95 % interval, and a small
    ring for each training seed where there are several. Call when `axes` have their place.

    Intervals are whole lines: dashes would hide where they end. Labels show the source's line instead.
    """
    styles = looks_of([table.source for table in panel.tables], panel.styles)
    rows = range(len(panel.tables), 0, -1)
    labels = [EndLabel(row, style.name, style.color, style.dashes) for row, style in zip(rows, styles, strict=True)]
    for row, table, style in zip(rows, panel.tables, styles, strict=True):
        returns = table.extrinsic.mean(axis=1, dtype=np.float64)
        low, high = bootstrap_interval(returns)
        axes.plot([low, high], [row, row], color=style.color, solid_capstyle="butt")
        axes.plot([returns.mean()], [row], "o", color=style.color, markersize=3.2)
        seeds = panel.seeds.get(table.source, ())
        if len(seeds) > 1:
            axes.plot(seeds, [row] * len(seeds), "o", mfc="none", mec=style.color, markersize=3.6, mew=0.6)
    for label in labels:
        label_right(axes, label, need_samples(labels))
    axes.set_ylim(0.4, len(panel.tables) + 0.6)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(True, axis="x")
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlabel("mean over the lifetime, 95 % interval")


def _place(axes: Axes, left: float, bottom: float, width: float, height: float) -> None:
    """Puts `axes` where it belongs in its figure, in inches."""
    across, tall = cast(Figure, axes.figure).get_size_inches()
    axes.set_position((left / across, bottom / tall, width / across, height / tall))
