"""What a learned reward promises for going to A, B or C (the paper's fifth figure, and more): in the paper's own case,
over many draws of what the objects are worth, and at every point of the lifetimes that agents lived."""

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from orexis.evaluation.histories import Replay
from orexis.evaluation.table import SourceTable
from orexis.evaluation.walks import HISTORIES, WalkDraws, WalkTable
from orexis.figures.curves import EndLabel, label_ends
from orexis.figures.endings import GROUPS, group_of
from orexis.figures.palette import ENDING_COLORS, paper_style
from orexis.figures.walks import draw_scale, draw_walks, paper_favourite, reward_scale
from orexis.statistics import bootstrap_interval, ratio_interval

OBJECTS = ("A", "B", "C")
WIDTH, HEIGHT = 7.0, 5.9  # inches: as wide as a page
PHASES = (1, 2, 3, 4, 6, 9, 14, 21, 31, 51)  # the first episode of each group of episodes; the last: after the last
FEWEST = 5  # lifetimes or draws that a point is drawn for
SPREAD = (0.1, 0.9)  # of the draws, shown as thin lines
NUM_BINS = 8  # of worths, at most


def promises_figure(walks: WalkTable, draws: WalkDraws, table: SourceTable, replay: Replay) -> Figure:
    """Returns the figure: rooms of the paper's case (a), draws (b), histories that were lived (c)."""
    with paper_style():
        figure = Figure(figsize=(WIDTH, HEIGHT))
        _draw_case(figure, walks)
        _draw_draws(figure, draws, bottom=0.385, height=0.235)
        _draw_lives(figure, table, replay, bottom=0.075, height=0.185)
    return figure


def _head(figure: Figure, letter: str, text: str, note: str, top: float) -> None:
    figure.text(0.008, top, letter, fontweight="bold", fontsize=9, va="center")
    figure.text(0.034, top, text, fontweight="bold", fontsize=8, va="center")
    figure.text(0.992, top, note, fontsize=6.5, color="#555555", va="center", ha="right")


def _draw_case(figure: Figure, walks: WalkTable) -> None:
    """Draws a room for each history, in the order of `HISTORIES`."""
    worth = ", ".join(f"{name} {paid:g}".replace("-", "−") for name, paid in walks.room.rewards.items())
    _head(figure, "a", f"The paper's case: {worth}", "number and colour: sum of the walk's intrinsic rewards", 0.982)
    scale = reward_scale([paid for panel in walks.panels.values() for paid in panel.sums.values()])
    across, gap = 0.172, 0.0135
    for index, panel in enumerate(walks.panels.values()):
        axes = figure.add_axes((0.008 + index * (across + gap), 0.725, across, across * WIDTH / HEIGHT))
        draw_walks(axes, walks.room, panel, scale)
        title = f"episode {panel.episode}" + (f", after {', '.join(panel.visited)}" if panel.visited else "")
        axes.set_title(title, fontweight="normal", fontsize=7.5, pad=3)
        expected = paper_favourite(panel)
        told = f"paper: {expected} {'✓' if panel.favourite == expected else '✗'}"
        height, width = walks.room.shape
        axes.text(width - 0.15, height - 0.5, told, ha="right", va="center", fontsize=6.5, color="#555555")
    draw_scale(figure, scale, (0.94, 0.745, 0.011, 0.165), "")


def _draw_draws(figure: Figure, draws: WalkDraws, bottom: float, height: float) -> None:
    """Draws all histories side by side, then what is paid after a visit against what the visit has told."""
    note = "discs: means, thin lines: the middle 80 % of draws; bands: 95 % intervals"
    _head(figure, "b", f"{len(draws.worth)} draws of what A, B, C are worth", note, bottom + height + 0.05)
    first = figure.add_axes((0.072, bottom, 0.302, height))
    _draw_histories(first, draws)
    for index, (title, visited, worth, label, (mark, remark)) in enumerate(_slices(draws)):
        axes = figure.add_axes((0.405 + 0.2 * index, bottom, 0.165, height), sharey=first)
        sums = np.concatenate([draws.sums[history] for history in visited])
        ends = _draw_against(axes, np.tile(worth, len(visited)), sums)
        if remark:
            axes.axvline(mark, color="#555555", linewidth=0.8, linestyle=(0, (2, 1.5)), zorder=1)
            axes.annotate(
                remark, (mark, 1.0), (-3, 0), ("data", "axes fraction"), textcoords="offset points", fontsize=6,
                ha="right", va="top", color="#555555",
            )  # fmt: skip
        axes.set_title(title, fontweight="normal", fontsize=7.5, loc="center", pad=3)
        axes.set_xlabel(label, labelpad=1.5)
        axes.tick_params(labelleft=False)
        label_ends(axes, ends, axes_points=height * HEIGHT * 72)


def _slices(draws: WalkDraws) -> list[tuple[str, Sequence[tuple[str, ...]], np.ndarray, str, tuple[float, str]]]:
    """Returns for the episodes after a visit: title, histories, a worth f[D] that is known by then, what it is called,
    and a worth to mark with a remark ("": none)."""
    a, c = draws.worth[:, 0], draws.worth[:, 2]
    return [
        ("episode 2, after A", HISTORIES[1:2], a, "worth of A", (float(c.mean()), "C on average")),
        ("episode 2, after C", HISTORIES[2:3], c, "worth of C", (0.0, "")),
        ("episode 3, after both", HISTORIES[3:], a - c, "worth of A less C", (0.0, "equal")),
    ]


def _draw_histories(axes: Axes, draws: WalkDraws) -> None:
    """Draws the mean over the draws for each history and object, a thin line over the middle 80 % of the draws."""
    for place, visited in enumerate(HISTORIES):
        for column, name in enumerate(OBJECTS):
            paid = draws.sums[visited][:, column]
            x = place + 0.24 * (column - 1)
            axes.plot([x, x], np.quantile(paid, SPREAD), color="#555555", linewidth=0.8, zorder=2)
            draw_letter(axes, x, float(paid.mean()), name)
    names = [f"ep. {len(visited) + 1}" + (f"\nafter {''.join(visited)}" if visited else "") for visited in HISTORIES]
    axes.set_xticks(range(len(HISTORIES)), names, fontsize=6.5)
    axes.set_xlim(-0.5, len(HISTORIES) - 0.5)
    axes.set_ylabel("paid for the walk", labelpad=1)
    _mark_zero(axes)


def _draw_against(axes: Axes, worth: np.ndarray, sums: np.ndarray) -> list[EndLabel]:
    """Draws what walks to A and C are paid, f[D, 3], against a worth f[D]: means of bins with 95 % bands.

    Returns the labels of the lines, still to be written.
    """
    bins = np.array_split(np.argsort(worth), max(1, min(NUM_BINS, len(worth) // FEWEST)))  # of equal numbers of draws
    middles = [float(worth[inside].mean()) for inside in bins]
    ends = []
    for column, name in ((0, "A"), (2, "C")):
        means = [float(sums[inside, column].mean()) for inside in bins]
        bands = np.array([bootstrap_interval(sums[inside, column]) for inside in bins]).reshape(-1, 2)
        ends.append(draw_object_line(axes, middles, means, bands[:, 0], bands[:, 1], name))
    _mark_zero(axes)
    return ends


def _draw_lives(figure: Figure, table: SourceTable, replay: Replay, bottom: float, height: float) -> None:
    """Draws a panel for each of `GROUPS`."""
    note = "lines: a walk, were it taken; dots: episodes that ended there, larger where more did"
    _head(figure, "c", f"{len(table.outcome)} lifetimes that agents lived", note, bottom + height + 0.05)
    groups = group_of(table.task_params["rewards"])
    first: Axes | None = None
    for index, group in enumerate(GROUPS):
        axes = figure.add_axes((0.072 + 0.311 * index, bottom, 0.28, height), sharey=first)
        first = first or axes
        members = np.flatnonzero(groups == index)
        axes.set_title(f"{group}  (n = {len(members)})", fontweight="normal", fontsize=7.5, loc="center", pad=3)
        ends = _draw_life(axes, table, replay, members)
        label_ends(axes, ends, axes_points=height * HEIGHT * 72)
        axes.tick_params(labelleft=index == 0)
    assert first is not None
    first.set_ylabel("paid", labelpad=1)


def _draw_life(axes: Axes, table: SourceTable, replay: Replay, members: np.ndarray) -> list[EndLabel]:
    """Draws what walks would be paid in the lifetimes `members` (lines) and what episodes were paid (dots).

    Returns the labels of the lines, still to be written.
    """
    num_episodes = table.outcome.shape[1]
    axes.set_xscale("log")
    ticks = [tick for tick in (1, 2, 3, 5, 10, 20, 50) if tick <= num_episodes]
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_xlim(0.88, num_episodes)
    axes.set_xlabel("episode of the lifetime", labelpad=1.5)
    _mark_zero(axes)
    if len(members) < FEWEST:
        axes.text(0.5, 0.5, "too few lifetimes", transform=axes.transAxes, ha="center", va="center", color="#6A6A6A")
        return []
    ends = []
    for column, name in enumerate(OBJECTS):
        sums = replay.sums[members, :, column]
        low, high = bootstrap_interval(sums)
        ends.append(draw_object_line(axes, np.arange(1, num_episodes + 1), sums.mean(axis=0), low, high, name))
    for column, name in enumerate(OBJECTS):
        for point in lived_points(table, members, column):
            axes.plot([point.episode] * 2, [point.low, point.high], color="#222222", linewidth=0.8, zorder=4)
            axes.plot(
                point.episode, point.mean, "o", color=ENDING_COLORS[name], markeredgecolor="#222222",
                markeredgewidth=0.6, markersize=2.0 + 4.5 * np.sqrt(point.share), zorder=5,
            )  # fmt: skip
    return ends


@dataclasses.dataclass(frozen=True)
class LivedPoint:
    """What the episodes that ended at one object were paid, in one phase of the lifetimes."""

    episode: float  # geometric middle of the phase, from 1
    share: float  # of the phase's episodes that ended there
    mean: float  # intrinsic return
    low: float  # 95 % interval, lifetimes resampled
    high: float


def lived_points(table: SourceTable, members: np.ndarray, column: int) -> list[LivedPoint]:
    """Returns a point for each of `PHASES` in which at least `FEWEST` of the lifetimes `members` reached the object."""
    points = []
    for begin, end in itertools.pairwise(PHASES):
        there = table.outcome[members, begin - 1 : end - 1] == column
        reached = there.any(axis=1)
        if reached.sum() < FEWEST:
            continue
        paid = (table.intrinsic[members, begin - 1 : end - 1] * there)[reached].sum(axis=1, dtype=np.float64)
        times = there[reached].sum(axis=1)
        low, high = ratio_interval(paid, times)
        middle = float(np.sqrt(begin * (min(end, table.outcome.shape[1] + 1) - 1)))
        points.append(LivedPoint(middle, float(there.mean()), float(paid.sum() / times.sum()), float(low), float(high)))
    return points


def draw_object_line(
    axes: Axes, x: Sequence[float] | np.ndarray, means: Sequence[float] | np.ndarray, low: np.ndarray, high: np.ndarray,
    name: str,
) -> EndLabel:  # fmt: skip
    """Draws a line with its band in the object's colour, outlined so that it is seen in grey; returns its label."""
    color = ENDING_COLORS[name]
    axes.fill_between(x, low, high, color=color, alpha=0.4, lw=0)
    outline = [patheffects.Stroke(linewidth=2.6, foreground="#222222"), patheffects.Normal()]
    axes.plot(x, means, color=color, linewidth=1.6, path_effects=outline, zorder=3)
    return EndLabel(float(means[-1]), f"$\\bf{{{name}}}$", "#222222")


def draw_letter(axes: Axes, x: float, y: float, name: str) -> None:
    """Draws a disc in the object's colour with its letter."""
    axes.plot(x, y, "o", color=ENDING_COLORS[name], markeredgecolor="#222222", markeredgewidth=0.6, ms=7.5, zorder=3)
    axes.text(x, y, name, ha="center", va="center_baseline", fontsize=5.5, fontweight="bold", zorder=4)


def _mark_zero(axes: Axes) -> None:
    axes.axhline(0.0, color="#777777", linewidth=0.7, zorder=1)
