"""Checkpoints of a training state: written whole or not at all, verified before they are believed.

Save: `checkpoints/.tmp-<pid>-<step>/` → state.safetensors, flushed and read back → manifest.json
with the sha256 of it → flush → rename to `step_XXXXXXXX` → flush → only then prune to two.
Load: the newest whose every byte is as its manifest says; a bad one is moved aside as
`*.corrupt` and the one before is tried.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors

from orexis.runs.errors import BadDataError
from orexis.runs.files import json_bytes, pack_arrays, swap_folder, sync_folder, write_durably
from orexis.types import PyTree
from orexis.zoo.artefact import DamagedError, read_bounded, read_json

FORMAT_VERSION = 1
KEEP = 2
MAX_BYTES = 16 * 2**30
_STEP = re.compile(r"step_(\d{8})")


def save(folder: Path, step: int, state: PyTree, extra: dict[str, Any]) -> Path:
    """Writes the checkpoint of `step` and returns its folder; `extra` (JSON) goes into the manifest."""
    folder.mkdir(exist_ok=True)
    remove_leftovers(folder)
    draft = folder / f".tmp-{os.getpid()}-{step}"
    draft.mkdir()
    data = pack_arrays(_named_arrays(state))
    digest = write_durably(draft / "state.safetensors", data)
    manifest = {
        "format_version": FORMAT_VERSION,
        "step": step,
        "files": {"state.safetensors": {"size": len(data), "sha256": digest}},
        **extra,
    }
    write_durably(draft / "manifest.json", json_bytes(manifest))
    sync_folder(draft)
    final = folder / f"step_{step:08d}"
    swap_folder(draft, final)
    for old in steps(folder)[:-KEEP]:
        shutil.rmtree(folder / f"step_{old:08d}")
    return final


def load_latest(folder: Path, template: PyTree, warn: Callable[[str], None]) -> tuple[PyTree, dict[str, Any]] | None:
    """Returns the newest good state, as NumPy arrays shaped like `template`, and its manifest; None if there is none.

    Raises BadDataError if checkpoints are there but none of them is good.
    """
    remove_leftovers(folder)
    reasons = [f"{path.name}: moved aside before" for path in sorted(folder.glob("*.corrupt"))]
    for step in reversed(steps(folder)):
        place = folder / f"step_{step:08d}"
        try:
            return read(place, template)
        except DamagedError as error:
            aside = _free_name(place.with_name(f"{place.name}.corrupt"))
            place.rename(aside)
            reasons.append(f"{place.name}: {error}")
            warn(f"checkpoint {place.name} is bad and was moved aside as {aside.name}: {error}")
    if reasons:
        raise BadDataError(f"no good checkpoint is left in {folder}: {'; '.join(reasons)}")
    return None


def read(place: Path, template: PyTree) -> tuple[PyTree, dict[str, Any]]:
    """Returns the state in one checkpoint and its manifest.

    Raises DamagedError if anything is not as it should be, and BadDataError for another format
    version: that one is no damage, so it must not be moved aside.
    """
    manifest = read_json(place / "manifest.json")
    if manifest.get("format_version") != FORMAT_VERSION:
        version = manifest.get("format_version")
        raise BadDataError(f"{place} has format version {version!r}; this Orexis reads {FORMAT_VERSION}")
    data = read_bounded(place / "state.safetensors", MAX_BYTES)
    try:
        promised = manifest["files"]["state.safetensors"]["sha256"]
    except (KeyError, TypeError) as error:
        raise DamagedError(f"{place / 'manifest.json'} does not name its files") from error
    if hashlib.sha256(data).hexdigest() != promised:
        raise DamagedError(f"{place / 'state.safetensors'} is damaged: its sha256 is not the one in the manifest")
    try:
        arrays = load_tensors(data)
    except SafetensorError as error:
        raise DamagedError(f"{place / 'state.safetensors'} cannot be read: {error}") from error
    return _fill(template, arrays, place), manifest


def steps(folder: Path) -> list[int]:
    """Returns the steps that have a checkpoint, in order."""
    found = (_STEP.fullmatch(path.name) for path in folder.glob("step_*"))
    return sorted(int(match[1]) for match in found if match)


def remove_leftovers(folder: Path) -> None:
    """Removes drafts that a crash left behind."""
    for draft in folder.glob(".tmp-*"):
        shutil.rmtree(draft, ignore_errors=True)


def _named_arrays(state: PyTree) -> dict[str, np.ndarray]:
    leaves, _ = jax.tree_util.tree_flatten_with_path(state)
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}


def _fill(template: PyTree, arrays: dict[str, np.ndarray], place: Path) -> PyTree:
    leaves, structure = jax.tree_util.tree_flatten_with_path(template)
    names = [jax.tree_util.keystr(path) for path, _ in leaves]
    if set(names) != set(arrays):
        odd = sorted(set(names) ^ set(arrays))
        raise DamagedError(f"{place} does not hold this run's state: {len(odd)} arrays differ, first {odd[0]}")
    for name, (_, leaf) in zip(names, leaves, strict=True):
        if arrays[name].shape != leaf.shape or arrays[name].dtype != leaf.dtype:
            raise DamagedError(
                f"{place}: {name} is {arrays[name].dtype}{arrays[name].shape}, expected {leaf.dtype}{leaf.shape}"
            )
    return jax.tree.unflatten(structure, [arrays[name] for name in names])


def _free_name(path: Path) -> Path:
    number = 1
    candidate = path
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.name.removesuffix('.corrupt')}-{number}.corrupt")
    return candidate
