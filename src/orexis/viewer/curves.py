"""Training curves as the page reads them: each run's metrics.csv, what its columns mean and where they are healthy."""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from orexis.colors import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION
from orexis.tasks.registry import TITLES
from orexis.training.columns import COLUMNS, HEALTHY_ON, Column
from orexis.training.health import FIRST, limits

MAX_ROWS = 600  # of a run; more are merged, a screen has no room for them
COLORS = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILLION)


@dataclasses.dataclass(frozen=True)
class RunCurves:
    """What one run logged."""

    name: str
    task: str
    num_actions: int | None  # of the task; None: not known
    columns: dict[str, np.ndarray]  # f[rows], NaN for an empty cell


def training_data(runs: Sequence[RunCurves]) -> dict[str, Any]:
    """Returns the page's record of the training of some runs, as JSON."""
    told = [column for column in COLUMNS if column.name != "update" and any(column.name in r.columns for r in runs)]
    on_its_task = all(run.task == HEALTHY_ON for run in runs)
    return {
        "healthy_on": TITLES[HEALTHY_ON],
        "columns": [
            {
                "name": column.name,
                "meaning": column.meaning,
                "healthy": column.healthy,
                "band": column.band if on_its_task else None,
            }
            for column in told
        ],
        "runs": [_run(run, COLORS[number % len(COLORS)]) for number, run in enumerate(runs)],
    }


def _run(run: RunCurves, color: str) -> dict[str, Any]:
    num_rows = len(run.columns["update"])
    edges = np.linspace(0, num_rows, min(num_rows, MAX_ROWS) + 1).astype(int)
    columns = {
        column.name: [_cell(merge(column, run.columns[column.name][a:b])) for a, b in itertools.pairwise(edges)]
        for column in COLUMNS
        if column.name in run.columns
    }
    known = all(name in run.columns for name in FIRST)
    first = {name: _first_finite(run.columns[name]) for name in FIRST} if known else {}
    borders = limits(first, run.num_actions) if known else {}
    return {
        "name": run.name,
        "task": run.task,
        "color": color,
        "columns": columns,
        "limits": {name: [_cell(low), _cell(high)] for name, (low, high) in borders.items()},
    }


def merge(column: Column, values: np.ndarray) -> float:
    """Returns what neighbouring rows of a column are together, NaN if all are."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return math.nan
    merged = {"mean": finite.mean(), "max": finite.max(), "sum": finite.sum(), "last": finite[-1]}
    return float(merged[column.merged])


def _first_finite(values: np.ndarray) -> float:
    finite = values[np.isfinite(values)]
    return float(finite[0]) if len(finite) else math.nan


def _cell(value: float) -> float | int | None:
    if not math.isfinite(value):
        return None
    short = float(f"{value:.5g}") if abs(value) < 1e5 else round(value)
    return int(short) if float(short).is_integer() else short
