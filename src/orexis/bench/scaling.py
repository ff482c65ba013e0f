"""`orexis bench --scaling`: what an update costs as lifetimes, steps, window and grid grow, on Random ABC.

Each point is a process of its own; those of an axis take turns, and each turn is set against the first point's, so that
whatever else the machine does falls on all of them.
"""

import contextlib
import dataclasses
import statistics
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from orexis.bench.compare import Setting, worker
from orexis.figures.scaling import scaling_figure

BASE = Setting("random-abc")
AXES: dict[str, tuple[str, tuple[int, ...]]] = {
    "lifetimes": ("lifetimes", (16, 64, 256, 1024)),
    "T": ("steps", (2, 4, 8, 16)),
    "N": ("window", (1, 2, 5, 10)),
    "grid": ("grid", (5, 7, 9, 11)),
}
"""By the name in the figure: which field of the setting grows, and through which values."""


def bench_scaling(picture: Path, repeats: int = 3, seconds: float = 3.0) -> dict[str, Any]:
    """Returns milliseconds of an update at every point, and draws them into the file `picture`."""
    console = Console(stderr=True)
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as cache:
        for axis, (field, values) in AXES.items():
            console.print(f"{axis}: compiling and running {', '.join(map(str, values))}")
            results[axis] = _measure(field, values, Path(cache), repeats, seconds)
    few, many = results["lifetimes"][0], results["lifetimes"][-1]
    more = many["value"] - few["value"]
    drawn = {axis: ([p["value"] for p in points], [p["ms"] for p in points]) for axis, points in results.items()}
    scaling_figure(drawn).savefig(picture, dpi=200)
    return {
        "task": BASE.task,
        "axes": results,
        "cost_per_lifetime_ratio": (many["ms"] / many["value"]) / (few["ms"] / few["value"]),
        "mb_per_lifetime": (many["rss_mb"] - few["rss_mb"]) / more,
    }


def _measure(field: str, values: tuple[int, ...], cache: Path, repeats: int, seconds: float) -> list[dict[str, Any]]:
    with contextlib.ExitStack() as stack:
        workers = [
            stack.enter_context(worker("engine", Setting(**{**dataclasses.asdict(BASE), field: value}), cache))
            for value in values
        ]
        counts = [max(2, round(seconds / (each.run(2)["seconds"] / 2))) for each in workers]
        turns = [[each.run(count) for each, count in zip(workers, counts, strict=True)] for _ in range(repeats)]
    return [
        {
            "value": value,
            "ms": 1e3 * statistics.median(turn[i]["seconds"] / count for turn in turns),
            "cpu_ms": 1e3 * statistics.median(turn[i]["cpu_seconds"] / count for turn in turns),
            "rss_mb": max(turn[i]["rss_mb"] for turn in turns),
            "compile_s": each.ready["compile_s"],
        }
        for i, (value, count, each) in enumerate(zip(values, counts, workers, strict=True))
    ]


def print_scaling(result: dict[str, Any]) -> None:
    """Prints a row for each point."""
    shown = Table(title=f"one update of {result['task']}")
    for heading in ("axis", "value", "ms", "CPU ms", "peak MB", "compile s"):
        shown.add_column(heading, justify="left" if heading == "axis" else "right")
    for axis, points in result["axes"].items():
        for p in points:
            shown.add_row(
                axis,
                str(p["value"]),
                f"{p['ms']:.1f}",
                f"{p['cpu_ms']:.1f}",
                f"{p['rss_mb']:.0f}",
                f"{p['compile_s']:.1f}",
            )
    Console().print(shown)
    Console().print(
        f"cost of a lifetime, most over fewest: {result['cost_per_lifetime_ratio']:.2f}; "
        f"memory: {result['mb_per_lifetime']:.2f} MB a lifetime"
    )
