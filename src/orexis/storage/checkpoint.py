"""Checkpoints of a training state: written whole or not at all, verified before they are believed.

Save: `checkpoints/.tmp-<pid>-<step>/` → state.safetensors, flushed and read back → manifest.json
with size and sha256 of it, sealed with its own → flush → rename to `step_XXXXXXXX` → flush → only
then prune, so that two that verify are left. Load: the newest whose every byte is as its manifest
says; a bad one is moved aside as `*.corrupt` and the one before is tried.
"""

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
from safetensors import SafetensorError, safe_open

from orexis.errors import BadDataError, UsageError
from orexis.storage.files import json_bytes, pack_arrays, swap_folder, sync_folder, write_durably
from orexis.storage.manifest import (
    FORMAT_VERSION,
    MANIFEST,
    STATE,
    Survey,
    place_of,
    promised,
    read_manifest,
    steps,
    survey,
    verify,
)
from orexis.storage.reading import DamagedError, read_bounded, seal, unpack_arrays
from orexis.types import PyTree

KEEP = 2
NEW_PARTS = (".learner.balance",)
"""What states of earlier versions lack: arrays under these names are taken from a fresh state if they are missing."""
RENAMED = {".lifetimes.rollout.arrival": ".lifetimes.rollout.next_observation"}
"""What arrays in states of earlier versions were called, and how they are called now."""
_HEADER_BYTES = 4 * 2**20  # names, shapes and offsets, at most


def save(folder: Path, step: int, state: PyTree, extra: dict[str, Any]) -> Path:
    """Writes the checkpoint of `step` and returns its folder; `extra` (JSON) goes into the manifest.

    Raises OSError if it cannot be written; what was there before stays.
    """
    if not folder.is_dir():
        folder.mkdir()
        sync_folder(folder.parent)
    remove_leftovers(folder)
    draft = folder / f".tmp-{os.getpid()}-{step}"
    draft.mkdir()
    try:
        data = pack_arrays(named_arrays(state))
        digest = write_durably(draft / STATE, data)
        manifest = {
            "format_version": FORMAT_VERSION,
            "step": step,
            "files": {STATE: {"size": len(data), "sha256": digest}},
            **extra,
        }
        write_durably(draft / MANIFEST, json_bytes(seal(manifest)))
        sync_folder(draft)
        final = place_of(folder, step)
        swap_folder(draft, final)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)  # a full disk needs the room
        raise
    _prune(folder)
    return final


def load_latest(
    folder: Path,
    template: PyTree,
    warn: Callable[[str], None],
    make_fresh: Callable[[], PyTree] | None = None,
    look: Callable[[int], Survey] | None = None,
) -> tuple[PyTree, dict[str, Any]] | None:
    """Returns the newest good state, as NumPy arrays shaped like `template`, and its manifest; None if there is none.

    make_fresh: returns the state of a new run, for what an earlier version did not save, see `NEW_PARTS`.
    look: decides which checkpoint that is, given the bytes that a state can have; by default, every whole one will do.

    Raises BadDataError if checkpoints are there but none of them is good.
    """
    remove_leftovers(folder)
    limit = _plausible_bytes(template)
    while True:
        found = survey(folder, limit=limit) if look is None else look(limit)
        for place, error in found.bad.items():
            _move_aside(place, error, warn)
        if found.refusal is not None:
            raise found.refusal
        if found.good is None:
            return None
        try:
            return read(found.good, template, make_fresh)
        except DamagedError as error:
            _move_aside(found.good, error, warn)


def _move_aside(place: Path, error: DamagedError, warn: Callable[[str], None]) -> None:
    aside = _free_name(place.with_name(f"{place.name}.corrupt"))
    place.rename(aside)
    sync_folder(place.parent)
    warn(f"checkpoint {place.name} is bad and was moved aside as {aside.name}: {error}")


def check_template(template: PyTree) -> None:
    """Raises UsageError if `template` has an array of a kind that a checkpoint cannot keep."""
    for path, leaf in jax.tree_util.tree_flatten_with_path(template)[0]:
        if not isinstance(leaf.dtype, np.dtype) or leaf.dtype.kind not in "biuf":
            raise UsageError(
                f"the state's {jax.tree_util.keystr(path)} is {leaf.dtype}, which a checkpoint cannot keep; "
                "let the task hold plain numbers (for a key, jax.random.key_data)"
            )


def read(
    place: Path, template: PyTree, make_fresh: Callable[[], PyTree] | None = None
) -> tuple[PyTree, dict[str, Any]]:
    """Returns the state in one checkpoint and its manifest.

    Raises DamagedError if anything is not as it was written, and BadDataError if it is, but was
    written by another version: that one is no damage, so it must not be moved aside.
    """
    manifest = read_manifest(place)
    size, digest = promised(place, manifest)
    data = read_bounded(place / STATE, _plausible_bytes(template))
    if len(data) != size or hashlib.sha256(data).hexdigest() != digest:
        verify(place, manifest)  # says what is wrong
        raise DamagedError(f"{place / STATE} changed while it was read")
    arrays = {RENAMED.get(name, name): array for name, array in unpack_arrays(data, place / STATE).items()}
    if make_fresh is not None and _lacks_new_parts(template, arrays):
        fresh = named_arrays(jax.device_get(make_fresh()))
        arrays = {name: array for name, array in fresh.items() if name.startswith(NEW_PARTS)} | arrays
    return _fill(template, arrays, place), manifest


def _plausible_bytes(template: PyTree) -> int:
    return _HEADER_BYTES + sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(template))


def read_part(place: Path, prefix: str, limit: int) -> dict[str, np.ndarray]:
    """Returns the arrays of one checkpoint whose names begin with `prefix`, by the rest of their names.

    Needs no template. Raises DamagedError for what is not as it was written or has more than `limit` bytes.
    """
    verify(place, read_manifest(place))
    found: dict[str, np.ndarray] = {}
    try:
        with safe_open(place / STATE, framework="numpy") as file:
            for name in file.keys():  # noqa: SIM118  a file of safetensors is no dictionary
                if name.startswith(prefix):
                    found[name.removeprefix(prefix)] = file.get_tensor(name)
                    if sum(array.nbytes for array in found.values()) > limit:
                        raise DamagedError(f"{place / STATE} has more than the {limit} bytes that are plausible")
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, DamagedError):
            raise
        raise DamagedError(f"{place / STATE} cannot be read: {error}") from error
    return found


def remove_leftovers(folder: Path) -> None:
    """Removes drafts that a crash left behind."""
    for draft in folder.glob(".tmp-*"):
        shutil.rmtree(draft, ignore_errors=True)


def _prune(folder: Path) -> None:
    """Removes the oldest checkpoints, once `KEEP` newer ones are seen to be good."""
    good = 0
    for step in reversed(steps(folder)):
        place = place_of(folder, step)
        if good == KEEP:
            doomed = folder / f".tmp-{os.getpid()}-old-{step}"
            place.rename(doomed)  # so that a crash leaves no half of a checkpoint
            shutil.rmtree(doomed, ignore_errors=True)
            continue
        try:
            verify(place, read_manifest(place))
            good += 1
        except (DamagedError, BadDataError):
            continue  # for the next load to judge


def named_arrays(state: PyTree) -> dict[str, np.ndarray]:
    """Returns the arrays of a tree by the path to each."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(state)
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}


def _lacks_new_parts(template: PyTree, arrays: dict[str, np.ndarray]) -> bool:
    paths = (jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_flatten_with_path(template)[0])
    return any(name.startswith(NEW_PARTS) and name not in arrays for name in paths)


def _fill(template: PyTree, arrays: dict[str, np.ndarray], place: Path) -> PyTree:
    """Returns `template` with the arrays in it. Raises BadDataError if they are not this run's."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(template)
    names = [jax.tree_util.keystr(path) for path, _ in leaves]
    odd = sorted(set(names) ^ set(arrays))
    if odd:
        raise BadDataError(
            f"{place} does not hold this run's state: {len(odd)} arrays differ, the first is {odd[0]}; "
            "was it written by another version?"
        )
    for name, (_, leaf) in zip(names, leaves, strict=True):
        if arrays[name].shape != leaf.shape or arrays[name].dtype != leaf.dtype:
            raise BadDataError(
                f"{place} does not hold this run's state: {name} is {arrays[name].dtype}{arrays[name].shape}, "
                f"expected {leaf.dtype}{leaf.shape}"
            )
    return jax.tree.unflatten(structure, [arrays[name] for name in names])


def _free_name(path: Path) -> Path:
    number = 1
    candidate = path
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.name.removesuffix('.corrupt')}-{number}.corrupt")
    return candidate
