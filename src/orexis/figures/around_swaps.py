"""The paper's sixth figure: returns and entropy over a lifetime of Non-stationary ABC, and close to a swap."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from orexis.colors import GREY
from orexis.evaluation.table import SourceTable
from orexis.figures.curves import EndLabel, binned, draw_band, episode_ticks, label_ends, width_of
from orexis.figures.palette import LEARNED as LEARNED_STYLE
from orexis.figures.palette import display_names, paper_style, style_of
from orexis.figures.swaps import Swaps, best_object, ended_at, ended_at_best
from orexis.rewards.registry import LEARNED
from orexis.statistics import percentile_interval, resample_counts

WIDTH, PANEL, ROW = 7.1, 1.22, 1.42  # inches: of the figure, height of a panel, of a row
LEFT, TOP, BOTTOM, GAP = 0.58, 0.24, 0.2, 0.42  # inches
SHARE = 0.56  # of the width of both panels that the whole lifetime has
ROWS = {"extrinsic": "extrinsic return", "intrinsic": "intrinsic return", "entropy": "entropy, nats"}
ALL, HABIT = "all episodes", "to the habitual object"
FEWEST = 0.25  # share of lifetimes that must have such an episode for its mean to be drawn


def around_swaps_figure(tables: Mapping[str, SourceTable], swaps: Swaps, zoom: int) -> Figure:
    """Returns three rows, extrinsic return, intrinsic return and entropy of the policy: over the whole lifetime on the
    left, over the last episodes before and the first after the swap at `zoom` on the right. Swaps are dashed.

    The intrinsic return is the learned reward's alone, others have another scale: of all episodes, and of those that
    end at the object that paid most before the swap, the habit.
    """
    rows = [row for row in ROWS if row != "intrinsic" or LEARNED in tables]
    height = TOP + len(rows) * ROW + BOTTOM
    with paper_style():
        figure = Figure(figsize=(WIDTH, height))
        drawn = []
        for index, row in enumerate(rows):
            bottom = 1 - (TOP + index * ROW + PANEL) / height
            whole, close = (figure.add_axes((0.1, bottom, 0.1, PANEL / height)) for _ in range(2))
            for axes, window in ((whole, None), (close, slice(zoom - swaps.last, zoom + swaps.last))):
                ends = _draw_row(axes, row, tables, swaps, window, zoom)
                _mark_swaps(axes, swaps, window)
                axes.set_xticks(_ticks(swaps, window, zoom))
            whole.set_ylabel(ROWS[row])
            drawn.append((whole, close, ends))
        labels = max(width_of(ends) for *_, ends in drawn) + 8
        wide = WIDTH - LEFT - GAP - labels / 72
        for whole, close, ends in drawn:
            box = whole.get_position()
            whole.set_position((LEFT / WIDTH, box.y0, SHARE * wide / WIDTH, box.height))
            close.set_position(((LEFT + GAP + SHARE * wide) / WIDTH, box.y0, (1 - SHARE) * wide / WIDTH, box.height))
            label_ends(close, ends, axes_points=72 * PANEL)
        drawn[0][0].set_title("whole lifetime", pad=4)
        drawn[0][1].set_title(f"around the swap at {zoom}", pad=4)
        for axes in drawn[-1][:2]:
            axes.set_xlabel("episode of the lifetime")
    return figure


def _draw_row(
    axes: Axes, row: str, tables: Mapping[str, SourceTable], swaps: Swaps, window: slice | None, zoom: int
) -> list[EndLabel]:
    """Draws one panel: the lines of a column of the tables, over all episodes or a window; returns their labels."""
    if row == "intrinsic":
        return _draw_intrinsic(axes, tables[LEARNED], swaps, window, zoom)
    ends = []
    for (source, table), name in zip(tables.items(), display_names(list(tables)), strict=True):
        style = style_of(source)
        mean = draw_band(axes, *_points(getattr(table, row), window), style, name)
        ends.append(EndLabel(float(mean[-max(1, len(mean) // 10) :].mean()), name, style.color))
    return ends


def _draw_intrinsic(axes: Axes, table: SourceTable, swaps: Swaps, window: slice | None, zoom: int) -> list[EndLabel]:
    """Draws the intrinsic return of all episodes and, dotted, of those to the object of the habit: the one that pays
    most that day, or that paid most before the swap that is zoomed in on."""
    mean = draw_band(axes, *_points(table.intrinsic, window), LEARNED_STYLE, ALL)
    before = ended_at(table, best_object(table, zoom - 1, swaps.period))
    chosen = ended_at_best(table, swaps.period) if window is None else before
    x, habit, low, high = masked_band(table.intrinsic, chosen, window)
    axes.fill_between(x, low, high, color=GREY, alpha=0.2, lw=0)
    axes.plot(x, habit, color="#444444", linestyle=(0, (1, 1)), label=HABIT)
    ends = [EndLabel(float(mean[-1]), ALL, LEARNED_STYLE.color)]
    known = habit[~np.isnan(habit)]
    return [*ends, EndLabel(float(known[-1]), HABIT, "#444444")] if len(known) else ends


def masked_band(
    values: np.ndarray, chosen: np.ndarray, window: slice | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Returns x f[P] and, over the chosen episodes bool[n, E] alone, mean and 95 % interval f[P] of values f[n, E].

    Lifetimes are drawn with replacement. NaN where fewer than `FEWEST` of them have such an episode.
    """
    x, sums = _points(np.where(chosen, values, 0.0), window)
    _, nums = _points(chosen.astype(float), window)
    known = (nums > 0).mean(axis=0) >= FEWEST
    counts = resample_counts(len(values), None, 2000, 0)
    totals = counts @ nums
    drawn = np.where(totals > 0, counts @ sums / np.maximum(totals, 1e-12), np.nan)
    mean = np.where(known, sums.sum(axis=0) / np.maximum(nums.sum(axis=0), 1e-12), np.nan)
    drawn = np.where(np.isnan(drawn), mean, drawn)  # a resample in which nobody has such an episode tells nothing
    low, high = np.where(known, percentile_interval(drawn), np.nan)
    return x, mean, low, high


def _points(values: np.ndarray, window: slice | None) -> tuple[np.ndarray, np.ndarray]:
    """Returns x f[P], episodes counted from 1, and values f[n, P]: bins of a lifetime, or a window's episodes."""
    if window is None:
        return binned(values)
    return np.arange(window.start, window.stop) + 1.0, np.asarray(values[:, window], np.float64)


def _mark_swaps(axes: Axes, swaps: Swaps, window: slice | None) -> None:
    """Draws a dashed line between the last episode before each swap and the first after, and limits the axis."""
    first, last = (1, swaps.num_episodes) if window is None else (window.start, window.stop)
    for swap in swaps.episodes:
        if first <= swap < last:
            axes.axvline(swap + 0.5, color=GREY, linestyle=(0, (2, 1.5)), linewidth=0.9, zorder=1, label="swap")
    axes.set_xlim(first, max(last, first + 1))


def _ticks(swaps: Swaps, window: slice | None, zoom: int) -> list[int]:
    """Returns where the axis of episodes is marked: round numbers, or the swap and both ends."""
    return episode_ticks(swaps.num_episodes) if window is None else [window.start, zoom, window.stop]
