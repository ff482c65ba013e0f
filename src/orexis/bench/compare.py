"""`orexis bench`: the engine and the naive reference in one run, alternating, each in its own process.

Both run the paper's recipe, so that they compute the same; the engine runs the tuned one beside it. They never run at
the same time, and they take turns several times, so that whatever else the machine does falls on all of them; what
counts is the ratio, not the rate.
"""

import contextlib
import dataclasses
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from orexis.errors import CommandError


@dataclasses.dataclass(frozen=True)
class Setting:
    """What is measured: a task with the settings of a recipe, or with some of them changed."""

    task: str
    recipe: str = "paper"  # of a task that the paper does not have: the tuned one without what the reference lacks
    lifetimes: int = 64
    steps: int | None = None  # T
    window: int | None = None  # N
    grid: int | None = None  # rows and columns of an ABC World


@dataclasses.dataclass
class Worker:
    """A benchmark process that has compiled and waits."""

    process: subprocess.Popen[str]
    ready: dict[str, Any]

    def run(self, num_updates: int) -> dict[str, Any]:
        """Returns the timing of `num_updates` updates."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{num_updates}\n")
        self.process.stdin.flush()
        return _read(self.process)


@contextlib.contextmanager
def worker(side: str, setting: Setting, cache: Path) -> Iterator[Worker]:
    """Starts one side of the benchmark and stops it at the end. Compiled programs go to and come from `cache`."""
    told = json.dumps(dataclasses.asdict(setting))
    command = [sys.executable, "-m", "orexis.bench.worker", side, told, str(cache)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Worker(process, _read(process))
        finally:
            process.kill()


def _read(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline()
    if not line:
        said = [line for line in process.stderr.read().splitlines() if line.strip() and not line.startswith("    @")]
        raise CommandError(f"a benchmark process ended early: {said[-1] if said else 'no message'}", 1)
    return json.loads(line)


def bench(task: str, num_lifetimes: int = 64, repeats: int = 5, seconds: float = 4.0) -> dict[str, Any]:
    """Returns the measured figures of engine and reference on `task`, and prints them.

    Each turn lasts about `seconds`. `compile_s` is the engine's first compile into an empty cache, `compile_warm_s` a
    second process's with the cache filled. `trace_s` comes before either: Python becoming a program. Neither that nor
    lowering, the first part of compiling, can be cached.
    """
    console, setting = Console(stderr=True), Setting(task, lifetimes=num_lifetimes)
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        console.print(f"compiling the engine and the naive reference for {task}, {num_lifetimes} lifetimes")
        tuned_setting = dataclasses.replace(setting, recipe="tuned")
        with worker("engine", setting, cache) as engine:
            with worker("naive", setting, cache) as naive, worker("engine", tuned_setting, cache) as tuned:
                turns = _alternate((engine, naive, tuned), repeats, seconds)
                tuned_compile_s = tuned.ready["compile_s"]
            with worker("engine", setting, cache) as again:
                warm = again.ready["compile_s"]
            result = _summary(task, num_lifetimes, engine, naive, turns)
            result |= {"compile_warm_s": warm, "tuned_compile_s": tuned_compile_s}
    _show(result)
    return result


def _alternate(sides: Sequence[Worker], repeats: int, seconds: float) -> list[list[dict[str, Any]]]:
    """Returns `repeats` times the timings of all `sides`, which take turns."""
    counts = [max(2, round(seconds / (side.run(2)["seconds"] / 2))) for side in sides]
    return [
        [side.run(count) | {"updates": count} for side, count in zip(sides, counts, strict=True)]
        for _ in range(repeats)
    ]


def _summary(task: str, num_lifetimes: int, engine: Worker, naive: Worker, turns: list) -> dict[str, Any]:
    rates = [[side["updates"] / side["seconds"] for side in turn] for turn in turns]
    ratios = [fast / slow for fast, slow, _ in rates]
    median = statistics.median
    cpu = median(turn[0]["cpu_seconds"] / turn[0]["updates"] for turn in turns)
    flops = engine.ready["matmul_flops"]
    achieved = flops / (1.0 / median(rate[0] for rate in rates))
    return {
        "task": task,
        "lifetimes": num_lifetimes,
        "engine_updates_per_s": median(rate[0] for rate in rates),
        "naive_updates_per_s": median(rate[1] for rate in rates),
        "ratio": median(ratios),
        "ratio_spread": [min(ratios), max(ratios)],
        "tuned_updates_per_s": median(rate[2] for rate in rates),
        "tuned_over_engine": median(rate[2] / rate[0] for rate in rates),
        "trace_s": engine.ready["trace_s"],
        "compile_s": engine.ready["compile_s"],
        "naive_compile_s": naive.ready["compile_s"],
        "peak_rss_mb": max(turn[0]["rss_mb"] for turn in turns),
        "naive_peak_rss_mb": max(turn[1]["rss_mb"] for turn in turns),
        "engine_cpu_s_per_update": cpu,
        "matmul_gflop_per_device_and_update": flops / 1e9,
        "gflops_per_device": achieved / 1e9,
        "matmul_peak_gflops": engine.ready["peak"] / 1e9,
        "share_of_peak": achieved / engine.ready["peak"],
        "repeats": len(turns),
    }


def _show(result: dict[str, Any]) -> None:
    table = Table(title=f"{result['task']}, {result['lifetimes']} lifetimes")
    table.add_column("figure")
    table.add_column("value", justify="right")
    low, high = result["ratio_spread"]
    rows = {
        "engine, updates/s": f"{result['engine_updates_per_s']:.2f}",
        "naive, updates/s": f"{result['naive_updates_per_s']:.2f}",
        "ratio (lowest to highest)": f"{result['ratio']:.2f} ({low:.2f} to {high:.2f})",
        "engine with the tuned recipe, updates/s": f"{result['tuned_updates_per_s']:.2f}",
        "trace, s": f"{result['trace_s']:.1f}",
        "compile cold / warm, s": f"{result['compile_s']:.1f} / {result['compile_warm_s']:.1f}",
        "peak memory engine / naive, MB": f"{result['peak_rss_mb']:.0f} / {result['naive_peak_rss_mb']:.0f}",
        "matmul GFLOP/s a device": f"{result['gflops_per_device']:.1f} of {result['matmul_peak_gflops']:.0f}",
        "share of the matmul peak": f"{100 * result['share_of_peak']:.0f} %",
    }
    for name, value in rows.items():
        table.add_row(name, value)
    Console().print(table)
