"""Where episodes of ABC World end: at A, B, C or nowhere, by phase of the lifetime and by task.

What a reward has captured shows here: that B is shunned, that A and C are both tried, and that
the better of the two is where the agents go in the end.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from orexis.evaluation.table import SourceTable
from orexis.figures.palette import ENDING_COLORS, display_names, paper_style

CLEARLY = 0.2  # a difference of rewards from which one object counts as the better one
GROUPS = ("A better by 0.2 or more", "A and C about equal", "C better by 0.2 or more")
NOWHERE = "nowhere"
ENDINGS = ("A", "B", "C", NOWHERE)


@dataclasses.dataclass(frozen=True)
class EndingRow:
    """The shares of the endings in one phase of the lifetimes of one group of tasks."""

    source: str  # as typed
    group: str  # one of GROUPS
    phase: str  # such as "1–5", the episodes it covers
    num_lifetimes: int
    shares: dict[str, float]  # by ENDINGS; they sum to 1


def phases(num_episodes: int) -> dict[str, slice]:
    """Returns the phases of a lifetime by name: the first 5 episodes, 6 to 20, the last ten.

    The last ten are episodes of their own only in lifetimes of 30 and more; empty phases are left out.
    """
    bounds = [(0, min(5, num_episodes)), (5, min(20, num_episodes)), (max(0, num_episodes - 10), num_episodes)]
    return {f"{start + 1}–{end}": slice(start, end) for start, end in bounds if end > start}


def group_of(rewards: np.ndarray) -> np.ndarray:
    """Returns i[n], the index into GROUPS of each lifetime, from the rewards f[n, 3] of A, B, C.

    A or C is better where it pays at least 0.2 more than the other (a hair less, so that rounding does not decide).
    """
    ahead = rewards[:, 0].astype(np.float64) - rewards[:, 2]
    threshold = CLEARLY - 1e-6
    return np.select([ahead >= threshold, ahead <= -threshold], [0, 2], default=1)


def count_endings(table: SourceTable) -> list[EndingRow]:
    """Returns a row for each group of lifetimes and phase, groups without lifetimes left out.

    Raises ValueError if the table is of a task without A, B, C and their rewards.
    """
    if table.outcomes != ("A", "B", "C") or "rewards" not in table.task_params:
        raise ValueError(f"the endings of {table.task} are not A, B, C with a reward each")
    groups = group_of(table.task_params["rewards"])
    rows = []
    for index, group in enumerate(GROUPS):
        outcome = table.outcome[groups == index]  # i[lifetimes of this group, E]
        if not len(outcome):
            continue
        for phase, episodes in phases(table.outcome.shape[1]).items():
            found = outcome[:, episodes]
            shares = [float(np.mean(found == ending)) for ending in (0, 1, 2, -1)]
            rows.append(EndingRow(table.source, group, phase, len(outcome), dict(zip(ENDINGS, shares, strict=True))))
    return rows


def endings_in_words(rows: Sequence[EndingRow]) -> str:
    """Returns what the rows of one source say: how often late episodes ended at the better object, and any at B."""
    first, last = rows[0].phase, rows[-1].phase
    found = []
    for group, better in ((GROUPS[0], "A"), (GROUPS[2], "C")):
        for row in rows:
            if row.group == group and row.phase == last:
                found.append(f"{100 * row.shares[better]:.0f} % at {better} where {group.replace(' ', ' is ', 1)}")
    late = f"Of episodes {last}, {' and '.join(found)}. " if found else ""
    at_b = [f"{100 * _overall(rows, phase, 'B'):.1f} % of episodes {phase}" for phase in dict.fromkeys((first, last))]
    return f"{late}B was the end of {' and '.join(at_b)}."


def endings_figure(rows: Sequence[EndingRow]) -> Figure:
    """Returns stacked bars: a row of panels for each source, a panel for each group, a bar for each phase."""
    sources = list(dict.fromkeys(row.source for row in rows))
    if not sources:
        raise ValueError("no rows to draw")
    with paper_style():
        height = 0.42 + 1.4 * len(sources)
        figure = Figure(figsize=(7.0, height))
        grid = figure.subplots(len(sources), len(GROUPS), sharex=True, sharey=True, squeeze=False)
        figure.subplots_adjust(
            left=0.085, right=0.9, bottom=0.38 / height, top=1 - 0.36 / height, hspace=0.34, wspace=0.08
        )
        for panels, source, name in zip(grid, sources, display_names(sources), strict=True):
            for axes, group in zip(panels, GROUPS, strict=True):
                here = [row for row in rows if row.source == source and row.group == group]
                _draw_bars(axes, here)
            panels[0].set_ylabel("share of episodes")
            panels[0].annotate(
                name, (0, 1), (0, 3), "axes fraction", textcoords="offset points", fontweight="bold", va="bottom"
            )
            _name_colors(panels[-1])
        for axes, group in zip(grid[0], GROUPS, strict=True):
            count = next((row.num_lifetimes for row in rows if row.group == group), 0)
            box = axes.get_position()
            heading = f"{group}  (n = {count})"
            figure.text((box.x0 + box.x1) / 2, 1 - 0.03 / height, heading, ha="center", va="top")
        for axes in grid[-1]:
            axes.set_xlabel("episodes of the lifetime")
    return figure


def _draw_bars(axes: Axes, rows: Sequence[EndingRow]) -> None:
    """Draws a stacked bar for each phase, the share written where there is room for it."""
    axes.set_ylim(0, 1)
    axes.set_yticks([0, 0.5, 1], ["0", "50 %", "100 %"])
    axes.grid(False)
    if not rows:
        axes.text(0.5, 0.5, "no such lifetime", transform=axes.transAxes, ha="center", va="center", color="#6A6A6A")
        return
    bottom = np.zeros(len(rows))
    for ending in ENDINGS:
        heights = np.array([row.shares[ending] for row in rows])
        bars = axes.bar(
            range(len(rows)), heights, bottom=bottom, width=0.74, color=ENDING_COLORS[ending], edgecolor="white",
            linewidth=0.6, label=ending,
        )  # fmt: skip
        for bar, share in zip(bars, heights, strict=True):
            if share >= 0.085:
                x, y = bar.get_x() + bar.get_width() / 2, bar.get_y() + bar.get_height() / 2
                axes.text(x, y, f"{100 * share:.0f}", ha="center", va="center", fontsize=6.5)
        bottom += heights
    axes.set_xticks(range(len(rows)), [row.phase for row in rows])


def _name_colors(axes: Axes) -> None:
    """Writes A, B, C, nowhere beside the panel, stacked like the bars, each with its colour."""
    for place, ending in enumerate(ENDINGS):
        y = 0.14 + 0.24 * place
        axes.plot([1.06], [y], "s", color=ENDING_COLORS[ending], markersize=5, transform=axes.transAxes, clip_on=False)
        axes.text(1.1, y, ending, transform=axes.transAxes, va="center", fontsize=7)


def _overall(rows: Sequence[EndingRow], phase: str, ending: str) -> float:
    """Returns the share of an ending in one phase, all groups together."""
    here = [row for row in rows if row.phase == phase]
    return sum(row.shares[ending] * row.num_lifetimes for row in here) / sum(row.num_lifetimes for row in here)
