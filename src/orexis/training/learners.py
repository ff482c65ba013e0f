"""The learner of a run on its own: eta, phi, their optimisers and averages, for other runs to begin with.

A folder with `learner.safetensors` and `learner.json`, a few megabytes, read as warily as a reward: sizes are bounded,
the arrays must have the sha256 that the record tells and the record its own, and nothing in it is code.

    --begin-with RUN      RUN/learner, or the newest checkpoint of a run that has none
    --begin-with LEARNER  a folder that a run wrote, wherever it was copied
    --begin-with REWARD   a shipped name, a reward folder or a policy folder: eta alone, all else starts fresh
"""

import dataclasses
import hashlib
import os
import re
import shutil
from pathlib import Path
from typing import Any, Literal

import jax
import numpy as np

from orexis.errors import BadDataError, UsageError
from orexis.evaluation.sources import find_artefact
from orexis.meta.learner import Learner
from orexis.storage import checkpoint
from orexis.storage.files import json_bytes, pack_arrays, swap_folder, sync_folder, write_durably
from orexis.storage.reading import MAX_BYTES as MAX_REWARD_BYTES
from orexis.storage.reading import DamagedError, check_seal, identity, read_bounded, read_json, seal, unpack_arrays
from orexis.storage.stages import Stage, stages_of
from orexis.training.folder import CHECKPOINTS, LEARNER, check_beginning
from orexis.types import PyTree
from orexis.zoo.registry import shipped_names

FORMAT_VERSION = 1
ARRAYS, RECORD = "learner.safetensors", "learner.json"
MAX_BYTES = 8 * MAX_REWARD_BYTES  # eta and phi, each with two moments, and the average


@dataclasses.dataclass(frozen=True)
class Beginning:
    """What a new run starts from."""

    name: str  # as it was typed
    kind: Literal["learner", "reward", "policy"]
    sha256: str  # of the arrays
    arrays: dict[str, np.ndarray]  # by their paths in `Learner`
    stages: list[Stage]  # of its training, and before those of what that was begun with

    def about(self) -> dict[str, str]:
        """Returns what manifests and artefacts tell of it: never a path, which means nothing elsewhere."""
        return {"name": Path(self.name).name, "kind": self.kind, "sha256": self.sha256}


def write_learner(place: Path, learner: Learner, record: dict[str, Any]) -> None:
    """Writes a learner to the folder `place`, replacing what was there in one step; `record` is told beside it."""
    draft = place.with_name(f".{place.name}.tmp-{os.getpid()}")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    try:
        digest = write_durably(draft / ARRAYS, pack_arrays(checkpoint.named_arrays(learner)))
        full = {"format_version": FORMAT_VERSION, "sha256": digest, **record}
        write_durably(draft / RECORD, json_bytes(seal(full)))
        sync_folder(draft)
        swap_folder(draft, place)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)  # a full disk needs the room
        raise


def read_learner(folder: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Returns the arrays of a learner and its record, verified. Raises DamagedError.

    A run that is training replaces the folder while we read: then it is read again.
    """
    for _ in range(8):
        before = identity(folder)
        try:
            return _read(folder)
        except DamagedError:
            if identity(folder) == before:
                raise
    return _read(folder)


def _read(folder: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    path = folder / RECORD
    record = read_json(path)
    check_seal(record, path)  # first: a flipped bit is not taken for another version
    version = record.get("format_version")
    if version != FORMAT_VERSION:
        raise DamagedError(
            f"the learner in {folder} has format version {version!r}; this Orexis reads {FORMAT_VERSION}"
        )
    data = read_bounded(folder / ARRAYS, MAX_BYTES)
    if hashlib.sha256(data).hexdigest() != record.get("sha256"):
        raise DamagedError(f"{folder / ARRAYS} is damaged: its sha256 is not the one in {RECORD}")
    arrays = unpack_arrays(data, folder / ARRAYS)
    _check_finite(arrays, folder)
    return arrays, record


def read_beginning(name: str) -> Beginning:
    """Returns what `--begin-with NAME` means. Raises UsageError if it is nothing, BadDataError if it is damaged."""
    folder = Path(name)
    try:
        if name not in shipped_names():
            for place in (folder, folder / LEARNER):
                if (place / RECORD).exists() or (place / ARRAYS).exists():
                    arrays, record = read_learner(place)
                    return Beginning(name, "learner", record["sha256"], arrays, stages_of(record))
            if checkpoint.steps(folder / CHECKPOINTS):
                return _from_checkpoint(name, folder / CHECKPOINTS)
    except DamagedError as error:
        raise BadDataError(f"--begin-with {name} cannot be used: {error}") from error
    check_beginning(name)
    artefact = find_artefact(name)
    named = {
        f".eta['{layer}']['{leaf}']": array
        for layer, leaves in artefact.params.items()
        for leaf, array in leaves.items()
    }
    record = artefact.record
    return Beginning(name, artefact.kind, record["sha256"], named, stages_of(record))


def _from_checkpoint(name: str, folder: Path) -> Beginning:
    """Returns the learner in the newest good checkpoint: runs of earlier versions wrote none beside it."""
    reasons = []
    for step in reversed(checkpoint.steps(folder)):
        place = checkpoint.place_of(folder, step)
        try:
            arrays = checkpoint.read_part(place, ".learner", MAX_BYTES)
            _check_finite(arrays, place)
        except (DamagedError, BadDataError) as error:
            reasons.append(str(error))
            continue
        digest = hashlib.sha256(pack_arrays(arrays)).hexdigest()
        return Beginning(name, "learner", digest, arrays, _stages_at(checkpoint.read_manifest(place)))
    raise DamagedError("; ".join(reasons))


def _stages_at(manifest: dict[str, Any]) -> list[Stage]:
    """Returns the stages up to a checkpoint, of its manifest."""
    config = manifest.get("config")
    seed = config.get("seed") if isinstance(config, dict) else None
    return stages_of({"training": {**manifest, "updates": manifest.get("step"), "seed": seed}})


def fit(template: Learner, beginning: Beginning) -> tuple[dict[str, np.ndarray], list[str]]:
    """Returns the arrays that take the place of a fresh learner's, by path, and what is to be said about the rest.

    eta must fit. phi and its optimiser may be of another kind (with or without a privileged value): then they start
    fresh. The count of updates starts at 0, because schedules are those of the new run. Raises UsageError.
    """
    wanted = {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree_util.tree_flatten_with_path(template)[0]}
    taken: dict[str, np.ndarray] = {}
    for part in ("eta", "eta_optimizer", "eta_average"):
        ours, theirs = _part(wanted, part), _part(beginning.arrays, part)
        odd = _first_misfit(ours, theirs) if theirs or part == "eta" else None
        if odd is not None:
            raise UsageError(
                f"--begin-with {beginning.name} does not fit this run: its array {odd} is "
                f"{_shown(theirs.get(odd))}, this run's is {_shown(ours.get(odd))}"
            )
        taken |= theirs
    if not _part(taken, "eta_average"):
        taken |= {f".eta_average{name.removeprefix('.eta')}": array for name, array in _part(taken, "eta").items()}
    sentences = []
    ours, theirs = ({**_part(tree, "phi"), **_part(tree, "phi_optimizer")} for tree in (wanted, beginning.arrays))
    odd = _first_misfit(ours, theirs)
    if odd is None:
        taken |= theirs
    elif theirs:
        sentences.append(
            f"the lifetime value of {beginning.name} is of another kind ({odd} is {_shown(theirs.get(odd))}, "
            f"this run's is {_shown(ours.get(odd))}): it starts fresh"
        )
    ours, theirs = _part(wanted, "balance"), _part(beginning.arrays, "balance")
    taken |= theirs if _first_misfit(ours, theirs) is None else {}
    return taken, sentences


def merge(fresh: Learner, taken: dict[str, np.ndarray]) -> PyTree:
    """Returns `fresh`, a learner in the host's memory, with the arrays of `fit` in place of its own."""
    return jax.tree_util.tree_map_with_path(lambda path, leaf: taken.get(jax.tree_util.keystr(path), leaf), fresh)


def _part(arrays: dict[str, Any], name: str) -> dict[str, Any]:
    """Returns the arrays of one field of the learner."""
    return {path: array for path, array in arrays.items() if re.match(rf"\.{name}\b", path)}


def _first_misfit(ours: dict[str, Any], theirs: dict[str, Any]) -> str | None:
    """Returns the path of the first array that is not of our shape and type; None if all are."""
    for path in sorted({*ours, *theirs}):
        mine, other = ours.get(path), theirs.get(path)
        if mine is None or other is None or mine.shape != other.shape or mine.dtype != other.dtype:
            return path
    return None


def _shown(array: Any) -> str:
    return "absent" if array is None else f"{array.dtype}{array.shape}"


def _check_finite(arrays: dict[str, np.ndarray], folder: Path) -> None:
    for name, array in arrays.items():
        if array.dtype.kind not in "iuf" or not np.isfinite(array).all():
            raise DamagedError(f"array {name[:80]} of {folder} must be finite numbers")
