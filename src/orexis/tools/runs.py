"""`orexis runs`: which runs a folder holds and how each of them is. Needs no JAX and changes nothing.

Sizes and seals are looked at, not every byte: `orexis doctor` does that.
"""

import csv
import dataclasses
import io
import json
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from orexis.config import HARMLESS, RunConfig
from orexis.config_json import to_json
from orexis.errors import BadDataError, UsageError
from orexis.statistics import student_interval
from orexis.storage import lock, manifest
from orexis.storage.reading import DamagedError
from orexis.training.folder import CHECKPOINTS, METRICS, holds_run, read_config

DEPTH = 4
"""How far below the folder that is named runs are looked for."""
LAST_ROWS = 10
"""Of metrics.csv, whose mean return is the last return of a run: a row alone is noisy."""
_TAIL_BYTES = 2**14


@dataclasses.dataclass(frozen=True)
class RunState:
    """How a run is. What is not known is None."""

    run: str  # its folder
    task: str | None
    seed: int | None
    updates: int  # done: what a resume would go on from; of a run that trains, those of its last row
    of: int | None  # updates in all
    last_return: float | None  # of an episode, mean of the last rows
    best_validation: float | None
    best_update: int | None  # that the best was validated at
    state: Literal["running", "stopped", "finished", "damaged"]
    damage: str = ""  # what is wrong with a damaged one
    settings: str = ""  # what runs must share to differ by chance alone: the config without the seed, as JSON


def find_runs(folder: Path, depth: int = DEPTH) -> list[Path]:
    """Returns the run folders at `folder` and below, in order; what lies in a run, or is hidden, is not looked into."""
    return list(_find_runs(folder, depth))


def _find_runs(folder: Path, depth: int) -> Iterator[Path]:
    if holds_run(folder):
        yield folder
    elif depth > 0:
        try:
            names = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False))
        except OSError:
            return  # a folder that one may not enter
        for name in names:
            if not name.startswith("."):
                yield from _find_runs(folder / name, depth - 1)


def look_at(run_dir: Path) -> RunState:
    """Returns how the run in `run_dir` is."""
    running = lock.is_held(run_dir)
    damage: list[str] = []
    config: RunConfig | None = None
    newest: dict[str, Any] = {}
    rows: list[dict[str, float]] = []
    try:
        config = read_config(run_dir)
    except BadDataError as error:
        damage.append(str(error))
    try:
        newest = _newest_manifest(run_dir / CHECKPOINTS, damage)
        rows = _last_rows(run_dir / METRICS, _number(newest, "metrics_bytes") or 0, damage)
    except OSError as error:
        damage.append(f"{error.filename or run_dir} cannot be read: {error.strerror}")
    saved = int(_number(newest, "step") or 0)
    validation = newest.get("validation")
    validation = validation if isinstance(validation, dict) else {}
    ended = config is not None and _has_ended(config, saved, validation)
    best_update = _number(validation, "update")
    returns = [row["episode_return"] for row in rows if math.isfinite(row.get("episode_return", math.nan))]
    return RunState(
        run=str(run_dir),
        task=None if config is None else config.task,
        seed=None if config is None else config.seed,
        updates=max(saved, int(rows[-1]["update"])) if running and rows else saved,
        of=None if config is None else config.updates,
        last_return=sum(returns) / len(returns) if returns else None,
        best_validation=_number(validation, "score"),
        best_update=None if best_update is None else int(best_update),
        state="running" if running else "damaged" if damage else "finished" if ended else "stopped",
        damage="" if running else "; ".join(damage),
        settings="" if config is None else _settings(config),
    )


def _has_ended(config: RunConfig, saved: int, validation: dict[str, Any]) -> bool:
    """Returns whether a resume would find nothing to do: all updates made and validated, or the run has collapsed."""
    collapsed = config.stop_on_collapse and validation.get("collapsed") is not None
    return collapsed or (saved >= config.updates and not validation.get("owed"))


def _settings(config: RunConfig) -> str:
    """Returns what decides what a run learns, but for the seed, as JSON."""
    told = {name: value for name, value in to_json(config).items() if name not in (*HARMLESS, "seed")}
    return json.dumps({**told, "updates": config.updates}, sort_keys=True)


def _newest_manifest(folder: Path, damage: list[str]) -> dict[str, Any]:
    """Returns the manifest of the newest checkpoint that looks whole, {} if there is none; adds what is wrong."""
    for step in reversed(manifest.steps(folder)):
        place = manifest.place_of(folder, step)
        try:
            told = manifest.read_manifest(place)
            manifest.check_size(place, told)
            return told
        except (BadDataError, DamagedError) as error:
            if place.exists():  # else the run pruned it meanwhile
                damage.append(str(error))
    if not damage and manifest.moved_aside(folder):
        damage.append(f"{folder} holds no checkpoint but those that were found bad and moved aside")
    return {}


def _last_rows(path: Path, promised: float, damage: list[str]) -> list[dict[str, float]]:
    """Returns the last rows of metrics.csv that are whole; adds what is wrong with it."""
    size = path.stat().st_size if path.is_file() else 0
    if size < promised:
        damage.append(f"{path} has {size} bytes and had {promised:.0f} at the last checkpoint: rows are lost")
    if not size:
        return []
    with path.open("rb") as file:
        header = file.readline()[:_TAIL_BYTES]
        file.seek(max(len(header), size - _TAIL_BYTES))
        cut = file.tell() > len(header)
        lines = file.read(2 * _TAIL_BYTES).split(b"\n")[1 if cut else 0 : -1]
    try:
        names, *cells = csv.reader(io.StringIO(b"\n".join([header.rstrip(b"\n"), *lines[-LAST_ROWS:]]).decode()))
        rows = [dict(zip(names, (float(cell or "nan") for cell in row), strict=True)) for row in cells]
        if not all(math.isfinite(row["update"]) for row in rows):
            raise ValueError("an update without its number")
    except (ValueError, KeyError, csv.Error) as error:
        damage.append(f"{path} has a row that is none: {error}")
        return []
    return rows


def _number(told: dict[str, Any], name: str) -> float | None:
    """Returns the finite number that is told under `name`, or None."""
    value = told.get(name)
    return value if isinstance(value, int | float) and math.isfinite(value) else None


def summarise(runs: Sequence[RunState]) -> list[dict[str, Any]]:
    """Returns, for each group of two or more finished runs that differ in nothing but the seed, what they reached.

    Means over seeds with 95 % intervals by Student's t, as JSON.
    """
    groups: dict[str, list[RunState]] = {}
    for run in runs:
        if run.state == "finished" and run.settings:
            groups.setdefault(run.settings, []).append(run)
    return [_summary(group) for group in groups.values() if len({run.seed for run in group}) > 1]


def _summary(group: Sequence[RunState]) -> dict[str, Any]:
    told: dict[str, Any] = {
        "task": group[0].task,
        "updates": group[0].of,
        "seeds": [run.seed for run in group],
        "runs": [run.run for run in group],
    }
    for name in ("last_return", "best_validation"):
        values = [getattr(run, name) for run in group]
        if None not in values:
            low, high = student_interval(np.array(values))
            told[name] = {"mean": sum(values) / len(values), "ci95": [float(low), float(high)]}
    return told


def as_json(runs: Sequence[RunState]) -> str:
    """Returns what `orexis runs --json` prints: `runs`, a record for each, and `summary`, see `summarise`."""
    told = [dataclasses.asdict(run) for run in runs]
    for record in told:
        del record["settings"]  # what it holds is in config.json
    return json.dumps({"runs": told, "summary": summarise(runs)}, indent=2)


def as_lines(runs: Sequence[RunState]) -> list[str]:
    """Returns the table of runs as it is printed, and below it what is damaged and what several seeds reached."""
    cells = [("run", "task", "seed", "updates", "return", "best validation", "state")]
    for run in runs:
        cells.append(
            (
                run.run,
                run.task or "?",
                "?" if run.seed is None else str(run.seed),
                f"{run.updates}/{'?' if run.of is None else run.of}",
                "–" if run.last_return is None else f"{run.last_return:.4g}",
                "–" if run.best_validation is None else f"{run.best_validation:.4g} at {run.best_update}",
                run.state,
            )
        )
    widths = [max(len(row[place]) for row in cells) for place in range(len(cells[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    lines += [f"damaged: {run.run}: {run.damage}; see orexis doctor {run.run}" for run in runs if run.damage]
    return lines + [line for told in summarise(runs) for line in summary_lines(told)]


def summary_lines(told: dict[str, Any]) -> list[str]:
    """Returns what several seeds reached, as it is printed."""
    seeds = " ".join(map(str, told["seeds"]))
    lines = [f"{told['task']}, {told['updates']} updates, seeds {seeds}: mean and 95 % interval over seeds"]
    meanings = {
        "last_return": "return of an episode while training, last rows",
        "best_validation": "best validation, chosen for being high",
    }
    for name, meaning in meanings.items():
        if name in told:
            low, high = told[name]["ci95"]
            lines.append(f"  {told[name]['mean']:.4g}  ({low:.4g} to {high:.4g})  {meaning}")
    return lines


def require_runs(folders: Sequence[Path]) -> list[Path]:
    """Returns the run folders that lie in `folders`, each once. Raises UsageError for what is no folder."""
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"{folder} is no folder; name one that holds runs, or a run")
    return list(dict.fromkeys(run for folder in folders for run in find_runs(folder)))
