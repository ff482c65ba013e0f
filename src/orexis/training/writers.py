"""What a run writes while it goes: metrics.csv, log.txt and the progress on the console."""

import contextlib
import csv
import hashlib
import io
import math
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import jax
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

from orexis.errors import printable
from orexis.meta.state import UpdateMetrics
from orexis.training.columns import NAMES

RENAMED = {"window.paid": "window.rewarded"}
"""What totals in checkpoints of earlier versions call things, and how they are called now."""


class Totals:
    """Sums and maxima of consecutive updates' metrics: a row of metrics.csv in the making.

    Kept in double precision and added one by one, so that a row that was begun before a
    checkpoint and finished after a resume is the same to the last digit. What is not finite is
    left out: updates that were skipped and lifetimes that were dropped have columns of their own.
    """

    def __init__(self, num_lifetimes: int, saved: dict | None = None):
        """Begins a row, or goes on with one that `to_json` gave. Raises ValueError if that cannot be."""
        self.num_lifetimes = num_lifetimes
        self.count: int = 0
        self.sums: dict[str, float] = {}
        self.maxima: dict[str, float] = {}
        if saved is not None:
            self.count, self.sums, self.maxima = _saved_totals(saved)

    def to_json(self) -> dict:
        """Returns what a checkpoint keeps."""
        return {"count": self.count, "sums": self.sums, "maxima": self.maxima}

    def add(self, metrics: UpdateMetrics) -> None:
        """Adds the metrics of one update."""
        self.count += 1
        leaves, _ = jax.tree_util.tree_flatten_with_path(metrics)
        for path, leaf in leaves:
            name, value = jax.tree_util.keystr(path, simple=True, separator="."), float(leaf)
            if math.isfinite(value):
                self.sums[name] = self.sums.get(name, 0.0) + value
                self.maxima[name] = max(self.maxima.get(name, value), value)

    def row(self) -> dict[str, float]:
        """Returns the row, but for update, env_steps and wall_s.

        A mean that has nothing to average over (no lifetime ended) is NaN, an empty cell in the file.
        """
        taken = self.count - self._sum("skipped")
        lived = self.count * self.num_lifetimes - self._sum("dropped")
        return {
            "reward_per_step": self._ratio("window.extrinsic", self._sum("window.steps")),
            "episode_return": self._ratio("window.extrinsic", self._sum("window.episodes")),
            "lifetime_return": self._ratio("complete_extrinsic", self._sum("complete")),
            "finished_share": self._ratio("finished", self.count * self.num_lifetimes),
            "policy_entropy": self._ratio("window.entropy", self._sum("window.steps")),
            "intrinsic_magnitude": self._ratio("window.intrinsic", self._sum("window.rewarded")),
            "lifetime_value_rmse": self._ratio("window.value_error", self._sum("window.value_rows")) ** 0.5,
            "policy_loss": self._ratio("window.policy_loss", lived),
            "value_loss": self._ratio("window.value_loss", lived),
            "eta_gradient_norm": self._ratio("eta_gradient_norm", taken),
            "phi_gradient_norm": self._ratio("phi_gradient_norm", taken),
            "theta_norm_mean": self._ratio("theta_norm_mean", self.count),
            "theta_norm_p99": self.maxima.get("theta_norm_p99", math.nan),
            "recorded_value_max": self.maxima.get("recorded_value_max", math.nan),
            "skipped_updates": self._sum("skipped"),
            "dropped_lifetimes": self._sum("dropped"),
            "entropy_cost": self._ratio("entropy_cost", self.count),
            "reward_learning_rate": self._ratio("reward_learning_rate", self.count),
        }

    def _sum(self, name: str) -> float:
        return self.sums.get(name, 0.0)

    def _ratio(self, name: str, over: float) -> float:
        return self._sum(name) / over if over > 0 else math.nan


def _saved_totals(saved: Any) -> tuple[int, dict[str, float], dict[str, float]]:
    """Returns count, sums and maxima from a checkpoint's JSON. Raises ValueError for anything else."""
    if not isinstance(saved, dict) or set(saved) != {"count", "sums", "maxima"}:
        raise ValueError("totals must have count, sums and maxima")
    if type(saved["count"]) is not int or saved["count"] < 0:
        raise ValueError(f"totals.count must be a whole number, not {saved['count']!r}")
    for name in ("sums", "maxima"):
        numbers = saved[name]
        if not isinstance(numbers, dict) or not all(type(x) is float and math.isfinite(x) for x in numbers.values()):
            raise ValueError(f"totals.{name} must be finite numbers by name")
    sums, maxima = ({RENAMED.get(key, key): x for key, x in saved[name].items()} for name in ("sums", "maxima"))
    return saved["count"], sums, maxima


class MetricsFile:
    """metrics.csv, which can be cut back to where a checkpoint left it: no row twice, no torn line."""

    def __init__(self, path: Path, offset: int, digest: str | None, warn: Callable[[str], None]):
        """Opens the file and drops everything after `offset` bytes; 0 starts anew with the header.

        A file that was cut shorter meanwhile keeps its whole lines; one of other columns, or whose first bytes do not
        have the sha256 `digest` (None: any will do), is moved aside.
        """
        header = _line(NAMES)
        kept = path.read_bytes()[:offset] if offset and path.is_file() else b""
        stranger = find_stranger(kept, offset, digest)
        if len(kept) < offset and stranger is None:
            warn(f"{path.name} was cut to {len(kept)} of {offset} bytes since the checkpoint: rows are missing")
            kept = kept[: kept.rfind(b"\n") + 1]
        if stranger is not None:
            aside = path.with_name(f"{path.stem}-until-{time.time_ns()}{path.suffix}")
            path.rename(aside)
            warn(f"{path.name} {stranger}: it is kept as {aside.name}")
            kept = b""
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        os.ftruncate(self._descriptor, len(kept))
        os.lseek(self._descriptor, len(kept), os.SEEK_SET)
        self._hash = hashlib.sha256(kept)
        if not kept:
            self._write(header)

    def append(self, row: dict[str, float]) -> None:
        """Adds a row; whole numbers without a point, NaN as an empty cell."""
        self._write(_line([_cell(row[name]) for name in NAMES]))

    def offset(self) -> int:
        """Returns the length of the file, everything so far flushed to the disk."""
        os.fsync(self._descriptor)
        return os.lseek(self._descriptor, 0, os.SEEK_CUR)

    def sha256(self) -> str:
        """Returns the sha256 of the file."""
        return self._hash.hexdigest()

    def close(self) -> None:
        os.close(self._descriptor)

    def _write(self, line: bytes) -> None:
        self._hash.update(line)
        while line:
            line = line[os.write(self._descriptor, line) :]


def _line(cells: Iterable[str]) -> bytes:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue().encode()


def find_stranger(kept: bytes, offset: int, digest: str | None) -> str | None:
    """Returns why the bytes that are there of the first `offset` of metrics.csv are not this run's; None if they are.

    What was cut shorter cannot be told by its sha256, `digest`: its columns decide.
    """
    whole = bool(kept) and len(kept) == offset
    if whole and digest is not None and hashlib.sha256(kept).hexdigest() != digest:
        return "is not the one that the checkpoint was saved with"
    if (whole or b"\n" in kept) and not kept.startswith(_line(NAMES)):
        return "has other columns than this version writes"
    return None


def _cell(value: float) -> str:
    if value != value:
        return ""
    return str(value) if isinstance(value, int) else f"{value:.6g}"


def say_health(row: dict[str, float]) -> str:
    """Returns the numbers of a row that tell how a run is, the most telling first, two spaces between them."""
    return (
        f"return {row['episode_return']:.3f}  entropy {row['policy_entropy']:.2f}  "
        f"value rmse {row['lifetime_value_rmse']:.2f}  |grad| {row['eta_gradient_norm']:.2f}  "
        f"|theta| p99 {row['theta_norm_p99']:.1f}  finished {row['finished_share']:.2f}"
    )


BAR = 12
TIME_LEFT = len("/") + len("000:00:00") + 4
"""Columns of a terminal that the bar takes; and the time left, with the slash and four spaces between the parts."""


def shorten(health: str, room: int) -> str:
    """Returns as many of the numbers that `say_health` gave as `room` columns have space for, none of them cut."""
    kept = ""
    for part in health.split("  "):
        longer = f"{kept}  {part}" if kept else part
        if len(longer) > room:
            break
        kept = longer
    return kept


class Reporter:
    """Progress of a run: a bar on a terminal, a line now and then elsewhere; everything said is in log.txt too.

    A log that cannot be written (a full disk) is no reason to stop.
    """

    def __init__(self, log: Path, total: int, done: int, console: Console | None = None):
        self.console = console or Console()
        self._log = log
        self._total, self._start, self._first = total, time.monotonic(), done
        self._last_line = 0.0
        self._bar: Progress | None = None
        if self.console.is_terminal:
            self._bar = Progress(
                BarColumn(bar_width=BAR),
                MofNCompleteColumn(),
                TextColumn("{task.fields[rate]}", markup=False, table_column=Column(no_wrap=True)),
                TimeRemainingColumn(),
                TextColumn("{task.fields[health]}", markup=False, table_column=Column(no_wrap=True)),
                console=self.console,
            )
            self._bar.start()
            self._task = self._bar.add_task("updates", total=total, completed=done, rate="", health="compiling")

    def start_clock(self) -> None:
        """Starts to measure the rate: call when compiling is done."""
        self._start = time.monotonic()

    def log(self, message: str) -> None:
        """Tells one thing, on the console and in the log."""
        message = printable(message)
        with contextlib.suppress(OSError), self._log.open("a", encoding="utf-8", errors="backslashreplace") as log:
            log.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {message}\n")
        try:
            self.console.print(message, highlight=False, markup=False, soft_wrap=True)
        except (OSError, SystemExit):  # whoever listened has gone (rich leaves then); the training has not
            self.console.quiet = True

    def progress(self, update: int, row: dict[str, float]) -> None:
        """Shows where the run stands: rate, time left, lifetime return and health."""
        elapsed = time.monotonic() - self._start
        rate = (update - self._first) / elapsed if elapsed > 0 else 0.0
        health = say_health(row)
        if self._bar is not None:
            shown = f"{rate:.1f}/s"
            taken = BAR + 2 * len(str(self._total)) + len(shown) + TIME_LEFT
            room = self.console.width - taken
            self._bar.update(self._task, completed=update, rate=shown, health=shorten(health, room))
        elif elapsed - self._last_line > 15 or update == self._total:
            self._last_line = elapsed
            left = (self._total - update) / rate if rate else float("nan")
            self.log(f"update {update}/{self._total}  {rate:.1f}/s  {left:.0f} s left  {health}")

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
