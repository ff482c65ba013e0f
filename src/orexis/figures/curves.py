"""Curves: what agents collect over their lifetime, and how a training run went."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.textpath import TextPath

from orexis.colors import BLACK, BROWN, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION
from orexis.evaluation.table import SourceTable
from orexis.figures.palette import LEARNED, Dashes, SourceStyle, looks_of, paper_style
from orexis.statistics import bootstrap_interval

COLUMN_WIDTH = 3.5  # inches
MOST_POINTS = 100  # of a line: longer lifetimes are binned
LABEL_POINTS = 7.0  # size of the labels at the right end of the lines
OPTIMUM_DASHES: Dashes = (0.0, (2.0, 1.5))  # of nothing else
SAMPLE_POINTS = 15.0  # width of the piece of line before a label, where lines differ in their dashes

FROM_ZERO = ("lifetime_value_rmse", "theta_norm_p99", "theta_norm_mean", "eta_gradient_norm", "phi_gradient_norm")
"""Columns of metrics.csv whose axis begins at zero: how large they are is what matters."""
RUN_COLORS = (LEARNED.color, VERMILLION, GREEN, ORANGE, PURPLE, SKY, BROWN, BLACK)
"""Of the first run, the second, … in one figure; then the same again, dashed."""


def learning_curves(tables: Sequence[SourceTable], optimum: float | None, title: str) -> Figure:
    """Returns the mean extrinsic return of each episode, a line for each table, with 95 % bootstrap bands.

    optimum: what the best agent that knows the task collects in an episode; a thin dashed line. The lines are
    labelled at their right end, so that no legend is needed. Sized for one column of a paper.
    """
    if not tables:
        raise ValueError("no tables to draw")
    with paper_style():
        figure = Figure(figsize=(COLUMN_WIDTH, 2.45))
        left = 0.15  # room for a tick below zero and the axis's label
        axes = figure.add_axes((left, 0.155, 0.6, 0.745))  # made as wide as the labels allow, below
        ends = draw_curves(axes, tables, optimum)
        figure.text(0.015, 0.985, title, va="top", fontweight="bold", fontsize=8)
        axes.set_position((left, 0.155, 1.0 - left - (width_of(ends) + 8) / (72 * COLUMN_WIDTH), 0.745))
        label_ends(axes, ends, axes_points=0.745 * 2.45 * 72)
    return figure


@dataclasses.dataclass(frozen=True)
class EndLabel:
    """What is written beside the right end of a line."""

    height: float  # in data
    text: str
    color: str
    dashes: Dashes = "-"


def draw_curves(
    axes: Axes, tables: Sequence[SourceTable], optimum: float | None, styles: Mapping[str, SourceStyle] = {}
) -> list[EndLabel]:
    """Draws a line and a band for each table and the dashed optimum; returns the labels, still to be written.

    styles: of sources that have no look of their own. A point is the mean of so many consecutive episodes that there
    are at most `MOST_POINTS`, at their middle.
    """
    ends = []
    num_episodes = max(table.extrinsic.shape[1] for table in tables)
    for table, style in zip(tables, looks_of([table.source for table in tables], styles), strict=True):
        draw_band(axes, *binned(table.extrinsic), style, style.name)
        last = table.extrinsic[:, -max(10, num_episodes // 20) :]
        ends.append(EndLabel(float(last.mean()), style.name, style.color, style.dashes))
    if optimum is not None:
        axes.axhline(optimum, color=GREY, linestyle=OPTIMUM_DASHES, linewidth=0.9, zorder=1, label="optimum")
        ends.append(EndLabel(optimum, f"optimum {optimum:.3f}", "#6A6A6A", OPTIMUM_DASHES))
    axes.set_xlim(1, max(num_episodes, 2))
    axes.set_xticks(episode_ticks(num_episodes))
    axes.set_xlabel("episode of the lifetime")
    axes.set_ylabel("extrinsic return", labelpad=2)
    return ends


def draw_band(axes: Axes, x: np.ndarray, values: np.ndarray, style: SourceStyle, name: str) -> np.ndarray:
    """Draws the mean of f[n, P] over lifetimes at x f[P] and its 95 % bootstrap interval; returns the mean, f[P]."""
    mean = values.mean(axis=0)
    low, high = bootstrap_interval(values)
    axes.fill_between(x, low, high, color=style.color, alpha=0.09 if style.color == BLACK else 0.17, lw=0)
    axes.plot(x, mean, color=style.color, linestyle=style.dashes, label=name)
    return mean


def binned(returns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the middles f[P] of at most `MOST_POINTS` bins of episodes, counted from 1, and their means f[n, P].

    All bins are equally wide; episodes that fill no whole bin make a last, narrower one.
    """
    num_episodes = returns.shape[1]
    begins = np.arange(0, num_episodes, -(-num_episodes // MOST_POINTS))
    widths = np.diff([*begins, num_episodes])
    return begins + 0.5 * (widths + 1), np.add.reduceat(returns, begins, axis=1, dtype=np.float64) / widths


def episode_ticks(num_episodes: int) -> list[int]:
    """Returns where the axis of episodes is marked: the first one and about five round numbers."""
    step = next((step for step in (1, 2, 5, 10, 25, 50, 100, 250, 500, 1000) if num_episodes / step <= 5.5), 2500)
    return [1, *range(step if step > 1 else 2, num_episodes + 1, step)]


def width_of(labels: Sequence[EndLabel]) -> float:
    """Returns the width of the widest label, in points, with the sample of its line where they have one."""
    text = max(TextPath((0, 0), label.text, size=LABEL_POINTS).get_extents().x1 for label in labels)
    return text + SAMPLE_POINTS * need_samples(labels)


def need_samples(labels: Sequence[EndLabel]) -> bool:
    """Returns whether lines differ in more than their colour, so that a label shows a piece of its line."""
    return any(label.dashes not in ("-", OPTIMUM_DASHES) for label in labels)


def training_curves(runs: Mapping[str, Mapping[str, np.ndarray]], headings: Mapping[str, str]) -> Figure:
    """Returns a small panel for each column over the updates of the reward, the runs laid over each other.

    runs: by the name that the legend has (none for a single one), the columns of metrics.csv, f[rows] each, `update`
    among them; a missing value is NaN, a missing column no line. headings: of the panels, by column.

    The rows are drawn pale, their running mean over a twentieth of the run strong; what is known in fewer than half
    of the rows, as validations are, is drawn value by value.
    """
    if not runs or not headings:
        raise ValueError("no runs or no columns to draw")
    num_columns = min(4, len(headings))
    num_rows = -(-len(headings) // num_columns)
    with paper_style():
        legend = 0.17 * (1 + len(runs) // 4) if len(runs) > 1 else 0.0
        size = (2 * COLUMN_WIDTH, 1.65 * num_rows + legend)
        figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(w_pad=0.04, h_pad=0.03))
        panels = figure.subplots(num_rows, num_columns, squeeze=False).ravel()
        for place, (column, heading) in enumerate(headings.items()):
            axes = panels[place]
            for number, metrics in enumerate(runs.values()):
                if column in metrics:
                    _draw_run(axes, metrics["update"], np.asarray(metrics[column], np.float64), number)
            axes.set_title(heading, fontsize=7, fontweight="normal")
            axes.set_xlabel("updates of the reward" if place + num_columns >= len(headings) else "")
            axes.locator_params(axis="x", nbins=4, integer=True)
            axes.locator_params(axis="y", nbins=5)
            if column in FROM_ZERO:
                largest = [np.nanmax(metrics[column], initial=0.0) for metrics in runs.values() if column in metrics]
                axes.set_ylim(0, 1.15 * max([1e-6, *map(float, largest)]))
        for axes in panels[len(headings) :]:
            axes.set_visible(False)
        if len(runs) > 1:
            lines = [Line2D([], [], **_run_style(number)) for number in range(len(runs))]
            figure.legend(lines, list(runs), loc="outside upper center", ncols=4, frameon=False, fontsize=7)
    return figure


def _draw_run(axes: Axes, updates: np.ndarray, values: np.ndarray, number: int) -> None:
    """Draws one column of one run: its rows and their running mean, or the few values that there are."""
    style, known = _run_style(number), ~np.isnan(values)
    if known.sum() < 2 or 2 * known.sum() < len(values):
        axes.plot(updates[known], values[known], marker="o", markersize=2.5, **style)
        return
    axes.plot(updates, values, color=style["color"], alpha=0.3, linewidth=0.8)
    axes.plot(updates, _running_mean(values, max(1, len(values) // 20)), **style)


def _run_style(number: int) -> dict[str, Any]:
    """Returns colour and dashes of run `number`, from 0."""
    rounds, place = divmod(number, len(RUN_COLORS))
    return {"color": RUN_COLORS[place], "linestyle": ("-", "--", ":")[rounds % 3]}


def spread(heights: Sequence[float], gap: float, least: float = -math.inf) -> list[float]:
    """Returns `heights` moved as little as needed to lie at least `gap` apart and not below `least`, in the order they
    came in.

    Neighbours that are too close become a block, evenly spaced around the mean of where they wanted to be, or from
    `least` up; a block that runs into another is merged with it.
    """
    blocks: list[list[int]] = []  # indices into `heights`, from low to high

    def centre(block: list[int]) -> float:
        return max(sum(heights[i] for i in block) / len(block), least + gap * (len(block) - 1) / 2)

    for index in sorted(range(len(heights)), key=lambda i: heights[i]):
        blocks.append([index])
        while len(blocks) > 1:
            below, above = blocks[-2], blocks[-1]
            if centre(above) - centre(below) >= gap * (len(below) + len(above)) / 2:
                break
            blocks[-2:] = [below + above]
    placed = list(heights)
    for block in blocks:
        for rank, index in enumerate(block):
            placed[index] = centre(block) + gap * (rank - (len(block) - 1) / 2)
    return placed


def label_ends(axes: Axes, labels: Sequence[EndLabel], axes_points: float) -> None:
    """Writes each label beside the right end of its line, nudged apart by at least one line of text, none of them
    beside the numbers of the axis below.

    Call when `axes` have their place: samples of the lines are as wide as points are there.
    """
    low, high = axes.get_ylim()
    gap = 1.25 * LABEL_POINTS / axes_points * (high - low)
    heights = spread([label.height for label in labels], gap, least=low)
    samples = need_samples(labels)
    for label, height in zip(labels, heights, strict=True):
        label_right(axes, dataclasses.replace(label, height=height), samples)


def label_right(axes: Axes, label: EndLabel, sample: bool = False) -> None:
    """Writes a label beside the right edge, where asked for behind a piece of its line."""
    axes.annotate(
        label.text,
        (1.0, label.height),
        xycoords=("axes fraction", "data"),
        xytext=(4 + SAMPLE_POINTS * sample, 0),
        textcoords="offset points",
        va="center",
        color=label.color,
        fontsize=LABEL_POINTS,
        annotation_clip=False,
    )
    if sample:
        figure = cast(Figure, axes.figure)
        points = 72 * axes.get_position().width * figure.get_figwidth()
        line = Line2D(
            [1 + 4 / points, 1 + (1 + SAMPLE_POINTS) / points],
            [label.height] * 2,
            transform=axes.get_yaxis_transform(),
            color=label.color,
            linewidth=1.2,
        )
        line.set(linestyle=label.dashes)
        figure.add_artist(line)  # the figure's, since it lies outside of the axes


def _running_mean(values: np.ndarray, width: int) -> np.ndarray:
    """Returns f[rows], the mean of the last `width` values that are not NaN; NaN where there is none."""
    known = ~np.isnan(values)
    sums = np.concatenate([[0.0], np.cumsum(np.where(known, values, 0.0))])
    counts = np.concatenate([[0], np.cumsum(known)])
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(ends - width, 0)
    count = counts[ends] - counts[starts]
    return np.where(count > 0, (sums[ends] - sums[starts]) / np.maximum(count, 1), np.nan)
