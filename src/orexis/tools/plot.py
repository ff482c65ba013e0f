"""`orexis plot`: the curves of runs, from their metrics.csv, as pictures."""

import os
from collections.abc import Sequence
from pathlib import Path

import matplotlib

from orexis.errors import UsageError
from orexis.figures.curves import training_curves
from orexis.figures.palette import paper_style
from orexis.figures.report import PIXELS_PER_INCH
from orexis.training.columns import HEADINGS, read_metrics
from orexis.training.folder import METRICS


def plot(run_dirs: Sequence[Path], columns: Sequence[str], stem: Path) -> list[Path]:
    """Draws `columns` of the runs over each other into `stem`.png and `stem`.svg; returns where.

    The same rows give the same bytes. Raises UsageError if a run has no rows yet.
    """
    runs = {}
    for name, run_dir in zip(short_names(run_dirs), run_dirs, strict=True):
        runs[name] = read_metrics(run_dir / METRICS)
        if not len(runs[name]["update"]):
            raise UsageError(f"{run_dir} has no rows in {METRICS} yet: wait for its first ones")
    figure = training_curves(runs, {name: HEADINGS[name] for name in columns})
    paths = [stem.with_name(f"{stem.name}.png"), stem.with_name(f"{stem.name}.svg")]
    with paper_style(), matplotlib.rc_context({"svg.hashsalt": "orexis"}):
        figure.savefig(paths[0], dpi=PIXELS_PER_INCH, metadata={"Software": None})
        figure.savefig(paths[1], metadata={"Date": None, "Creator": None})
    return paths


def short_names(run_dirs: Sequence[Path]) -> list[str]:
    """Returns what to call each run: the end of its path, as short as tells it from the others."""
    parts = [Path(os.path.abspath(run_dir)).parts for run_dir in run_dirs]
    for length in range(1, max(map(len, parts)) + 1):
        names = ["/".join(path[-length:]) for path in parts]
        if len(set(names)) == len(names):
            return names
    return [str(run_dir) for run_dir in run_dirs]
