"""Tables of evaluations, kept under the hash of all that they depend on: a figure is redrawn without living again."""

import contextlib
import dataclasses
import hashlib
import importlib.metadata
import json
import os
from pathlib import Path
from typing import Any, cast

import numpy as np

import orexis
from orexis.config_json import to_json
from orexis.evaluation.sources import Setting, Source
from orexis.evaluation.table import SourceTable
from orexis.tasks.registry import TASKS

CODE = ("types.py", "config.py", "returns.py", "losses.py", "optimizers.py", "networks", "tasks", "rewards", "agents")
LIVING = ("evaluation/lifetimes.py", "meta/rollout.py", "evaluation/sources.py")
ARRAYS = ("extrinsic", "intrinsic", "length", "entropy", "outcome")


def default_folder() -> Path:
    """Returns the user's folder for tables, which need not exist yet."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "orexis" / "evaluations"


def key_of(source: Source, setting: Setting, num_lifetimes: int, seed: int) -> str | None:
    """Returns the hash of all that a table depends on; None where we cannot know: a task of the user's own.

    A learned reward is known by the bytes that `source` was made from, not by what lies in its folder now.
    """
    if setting.task_name not in TASKS:
        return None
    artefact = source.artefact
    return hash_of(
        {
            "source": source.name if artefact is None else artefact.record["sha256"],
            "network": None if artefact is None else to_json(artefact.network),
            "task": repr(setting.task),
            "agent": [setting.agent, to_json(setting.config)],
            "bonus": to_json(setting.bonus),
            "lifetime_discount": setting.lifetime_discount,
            "actions": setting.actions,
            "lifetimes": num_lifetimes,
            "seed": seed,
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
    beside = folder / f".{key}.tmp-{os.getpid()}"
    labels = {"source": table.source, "task": table.task, "seed": table.seed, "outcomes": list(table.outcomes)}
    arrays = {name: getattr(table, name) for name in ARRAYS}
    params = {f"param:{name}": values for name, values in table.task_params.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with beside.open("wb") as file:
            np.savez_compressed(file, labels=np.array(json.dumps(labels)), **cast(Any, arrays | params))
        beside.replace(folder / f"{key}.npz")
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)


def load(folder: Path, key: str, source: str) -> SourceTable | None:
    """Returns the table kept under `key`, its source now called `source`; None if there is none that can be read."""
    try:
        with np.load(folder / f"{key}.npz", allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        labels = json.loads(str(arrays.pop("labels")))
        params = {name.removeprefix("param:"): arrays.pop(name) for name in list(arrays) if name.startswith("param:")}
        labels["outcomes"] = tuple(labels["outcomes"])
        table = SourceTable(**labels, **arrays, task_params=params)
    except (OSError, ValueError, KeyError, TypeError, EOFError):
        return None
    return dataclasses.replace(table, source=source)
