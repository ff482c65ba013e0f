"""What a run writes while it goes: metrics.csv, log.txt and the progress on the console."""

import csv
import io
import os
import time
from pathlib import Path

import jax
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from orexis.meta.engine import UpdateMetrics

COLUMNS = (
    "update",
    "env_steps",
    "wall_s",
    "reward_per_step",
    "episode_return",
    "lifetime_return",
    "finished_share",
    "policy_entropy",
    "intrinsic_magnitude",
    "lifetime_value_rmse",
    "policy_loss",
    "value_loss",
    "eta_gradient_norm",
    "phi_gradient_norm",
    "theta_norm_mean",
    "theta_norm_p99",
    "recorded_value_max",
    "skipped_updates",
    "entropy_cost",
    "reward_learning_rate",
)
"""The columns of metrics.csv, explained one by one in docs/metrics.md."""


class Totals:
    """Sums and maxima of consecutive updates' metrics: a row of metrics.csv in the making.

    Kept in double precision and added one by one, so that a row that was begun before a
    checkpoint and finished after a resume is the same to the last digit.
    """

    def __init__(self, num_lifetimes: int, saved: dict | None = None):
        self.num_lifetimes = num_lifetimes
        self.count: int = saved["count"] if saved else 0
        self.sums: dict[str, float] = dict(saved["sums"]) if saved else {}
        self.maxima: dict[str, float] = dict(saved["maxima"]) if saved else {}

    def to_json(self) -> dict:
        """Returns what a checkpoint keeps."""
        return {"count": self.count, "sums": self.sums, "maxima": self.maxima}

    def add(self, metrics: UpdateMetrics) -> None:
        """Adds the metrics of one update."""
        self.count += 1
        leaves, _ = jax.tree_util.tree_flatten_with_path(metrics)
        for path, leaf in leaves:
            name, value = jax.tree_util.keystr(path, simple=True, separator="."), float(leaf)
            self.sums[name] = self.sums.get(name, 0.0) + value
            self.maxima[name] = max(self.maxima.get(name, value), value)

    def row(self) -> dict[str, float]:
        """Returns the row, but for update, env_steps and wall_s.

        A mean that has nothing to average over (no lifetime ended) is NaN, an empty cell in the file.
        """
        sums, count = self.sums, self.count

        def ratio(summed: str, over: str) -> float:
            return sums[summed] / sums[over] if sums[over] > 0 else float("nan")

        return {
            "reward_per_step": ratio("window.extrinsic", "window.steps"),
            "episode_return": ratio("window.extrinsic", "window.episodes"),
            "lifetime_return": ratio("complete_extrinsic", "complete"),
            "finished_share": sums["finished"] / (count * self.num_lifetimes),
            "policy_entropy": ratio("window.entropy", "window.steps"),
            "intrinsic_magnitude": ratio("window.intrinsic", "window.paid"),
            "lifetime_value_rmse": ratio("window.value_error", "window.value_rows") ** 0.5,
            "policy_loss": sums["window.policy_loss"] / (count * self.num_lifetimes),
            "value_loss": sums["window.value_loss"] / (count * self.num_lifetimes),
            "eta_gradient_norm": sums["eta_gradient_norm"] / count,
            "phi_gradient_norm": sums["phi_gradient_norm"] / count,
            "theta_norm_mean": sums["theta_norm_mean"] / count,
            "theta_norm_p99": self.maxima["theta_norm_p99"],
            "recorded_value_max": self.maxima["recorded_value_max"],
            "skipped_updates": sums["skipped"],
            "entropy_cost": sums["entropy_cost"] / count,
            "reward_learning_rate": sums["reward_learning_rate"] / count,
        }


class MetricsFile:
    """metrics.csv, which can be cut back to where a checkpoint left it: no row twice, no torn line."""

    def __init__(self, path: Path, offset: int):
        """Opens the file and drops everything after `offset` bytes; 0 starts anew with the header."""
        if offset and (not path.exists() or path.stat().st_size < offset):
            offset = 0  # the file was removed or cut: a new one begins, the training state is what counts
        self._file = path.open("r+b" if offset else "w+b")
        self._file.truncate(offset)
        self._file.seek(offset)
        if not offset:
            self._write(COLUMNS)

    def append(self, row: dict[str, float]) -> None:
        """Adds a row; whole numbers without a point, NaN as an empty cell."""
        self._write([_cell(row[name]) for name in COLUMNS])

    def offset(self) -> int:
        """Returns the length of the file, everything so far flushed to the disk."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()

    def close(self) -> None:
        self._file.close()

    def _write(self, cells) -> None:
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(cells)
        self._file.write(line.getvalue().encode())


def _cell(value: float) -> str:
    if value != value:
        return ""
    return str(value) if isinstance(value, int) else f"{value:.6g}"


class Reporter:
    """Progress of a run: a bar on a terminal, a line now and then elsewhere; everything said is in log.txt too."""

    def __init__(self, log: Path, total: int, done: int, console: Console | None = None):
        self.console = console or Console()
        self._log = log.open("a", encoding="utf-8")
        self._total, self._start, self._first = total, time.monotonic(), done
        self._last_line = 0.0
        self._bar: Progress | None = None
        if self.console.is_terminal:
            self._bar = Progress(
                TextColumn("[bold]{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[rate]}"),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[health]}"),
                console=self.console,
            )
            self._bar.start()
            self._task = self._bar.add_task("updates", total=total, completed=done, rate="", health="compiling")

    def start_clock(self) -> None:
        """Starts to measure the rate: call when compiling is done."""
        self._start = time.monotonic()

    def say(self, message: str) -> None:
        """Tells one thing, on the console and in the log."""
        self._log.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {message}\n")
        self._log.flush()
        self.console.print(message, highlight=False, markup=False, soft_wrap=True)

    def progress(self, update: int, row: dict[str, float]) -> None:
        """Shows where the run stands: rate, time left, lifetime return and health."""
        elapsed = time.monotonic() - self._start
        rate = (update - self._first) / elapsed if elapsed > 0 else 0.0
        health = (
            f"return {row['episode_return']:.3f}  entropy {row['policy_entropy']:.2f}  "
            f"value rmse {row['lifetime_value_rmse']:.2f}  |grad| {row['eta_gradient_norm']:.2f}  "
            f"|theta| p99 {row['theta_norm_p99']:.1f}  finished {row['finished_share']:.2f}"
        )
        if self._bar is not None:
            self._bar.update(self._task, completed=update, rate=f"{rate:.1f}/s", health=health)
        elif elapsed - self._last_line > 15 or update == self._total:
            self._last_line = elapsed
            left = (self._total - update) / rate if rate else float("nan")
            self.say(f"update {update}/{self._total}  {rate:.1f}/s  {left:.0f} s left  {health}")

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
        self._log.close()
