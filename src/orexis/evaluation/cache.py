"""Tables and traces of evaluations, kept under the hash of all that they depend on: a figure is redrawn without living
again."""

import contextlib
import dataclasses
import hashlib
import importlib.metadata
import json
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any, cast

import numpy as np

import orexis
from orexis.config_json import to_json
from orexis.evaluation.lifetimes import Trace
from orexis.evaluation.sources import Setting, Source
from orexis.evaluation.table import SourceTable
from orexis.tasks.registry import TASKS

CODE = ("types.py", "config.py", "returns.py", "losses.py", "optimizers.py", "networks", "tasks", "rewards", "agents")
LIVING = ("evaluation/lifetimes.py", "meta/rollout.py", "evaluation/sources.py")
ARRAYS = ("extrinsic", "intrinsic", "length", "entropy", "outcome")
TRACE_COLUMNS = tuple(field.name for field in dataclasses.fields(Trace))
BESIDE_TABLE = "-trace"  # follows the key in a trace's name
UNREADABLE = (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error)
"""What reading a damaged file may raise."""


def default_folder() -> Path:
    """Returns the user's folder for tables, which need not exist yet."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "orexis" / "evaluations"


def key_of(source: Source, setting: Setting, num_lifetimes: int, seed: int, num_steps: int | None = None) -> str | None:
    """Returns the hash of all that a table depends on; None where we cannot know: a task of the user's own.

    What was learned is known by the bytes that `source` was made from, not by what lies in its folder now.
    """
    if setting.task_name not in TASKS:
        return None
    artefact = source.artefact
    return hash_of(
        {
            "source": source.name if artefact is None else artefact.record["sha256"],
            "network": None if artefact is None else to_json(artefact.network),
            "trained_on": None if artefact is None else artefact.spec.episodes_per_lifetime,
            "task": repr(setting.task),
            "agent": [setting.agent, to_json(setting.config)],
            "policy": None if isinstance(source.learned, tuple) else repr(source.agent),
            "bonus": to_json(setting.bonus),
            "lifetime_discount": setting.lifetime_discount,
            "actions": setting.actions,
            "lifetimes": num_lifetimes,
            "seed": seed,
            "steps": num_steps,
            "code": code_version(),
            "jax": importlib.metadata.version("jax"),
        }
    )


def hash_of(content: Any) -> str:
    """Returns the sha256 of plain values, in whatever order they come."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def code_version() -> str:
    """Returns the sha256 of the code that a lifetime runs: any change of it makes old tables strangers."""
    root = Path(orexis.__file__).parent
    files = sorted(file for part in (*CODE, *LIVING) for file in _python_files(root / part))
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def _python_files(part: Path) -> list[Path]:
    return list(part.rglob("*.py")) if part.is_dir() else [part]


def save(folder: Path, key: str, table: SourceTable) -> None:
    """Keeps `table` in `folder` under `key`; a disk that is full or read-only costs the next run its time, no more."""
    labels = {"source": table.source, "task": table.task, "seed": table.seed, "outcomes": list(table.outcomes)}
    arrays = {name: getattr(table, name) for name in ARRAYS}
    params = {f"param:{name}": values for name, values in table.task_params.items()}
    _write_arrays(folder, key, {"labels": np.array(json.dumps(labels)), **arrays, **params})


def load(folder: Path, key: str, source: str) -> SourceTable | None:
    """Returns the table kept under `key`, its source now called `source`; None if there is none that can be read."""
    try:
        arrays = _read_arrays(folder, key)
        labels = json.loads(str(arrays.pop("labels")))
        params = {name.removeprefix("param:"): arrays.pop(name) for name in list(arrays) if name.startswith("param:")}
        labels["outcomes"] = tuple(labels["outcomes"])
        table = SourceTable(**labels, **arrays, task_params=params)
    except UNREADABLE:
        return None
    return dataclasses.replace(table, source=source)


def save_trace(folder: Path, key: str, trace: Trace) -> None:
    """Keeps `trace` in `folder` beside the table that has `key`, like `save`."""
    _write_arrays(folder, key + BESIDE_TABLE, {name: getattr(trace, name) for name in TRACE_COLUMNS})


def load_trace(folder: Path, key: str, num_lifetimes: int) -> Trace | None:
    """Returns the trace kept for `key`; None if there is none whose columns are numbers [num_lifetimes, steps]."""
    try:
        arrays = _read_arrays(folder, key + BESIDE_TABLE)
        trace = Trace(**arrays)
    except UNREADABLE:
        return None
    shapes = {values.shape for values in arrays.values()}
    numbers = all(values.dtype.kind in "if" for values in arrays.values())
    fits = len(shapes) == 1 and len(shape := shapes.pop()) == 2 and shape[0] == num_lifetimes
    return trace if fits and numbers else None


def _write_arrays(folder: Path, key: str, arrays: dict[str, np.ndarray]) -> None:
    """Writes `arrays` into `folder`, beside the place first; nobody is told if it cannot be done."""
    beside = folder / f".{key}.tmp-{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with beside.open("wb") as file:
            np.savez_compressed(file, **cast(Any, arrays))
        beside.replace(folder / f"{key}.npz")
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)


def _read_arrays(folder: Path, key: str) -> dict[str, Any]:
    """Returns the arrays kept under `key`; objects, which could run code, are not read. Raises one of `UNREADABLE`."""
    with (folder / f"{key}.npz").open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}
