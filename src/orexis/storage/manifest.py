"""Where the checkpoints of a run are and what the manifest of one says, without reading what it holds. Needs no JAX.

`survey` decides which of them a run goes on from, for the resume that acts on it and for the doctor that foretells it.
"""

import dataclasses
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from orexis.errors import BadDataError
from orexis.storage.files import sha256_of
from orexis.storage.reading import DamagedError, check_seal, read_json

FORMAT_VERSION = 2
READABLE = (1, 2)  # 1 is 2 without the manifest's own sha256
STATE, MANIFEST = "state.safetensors", "manifest.json"
_STEP = re.compile(r"step_(\d{8}|[1-9]\d{8,})")


@dataclasses.dataclass(frozen=True)
class Survey:
    """What a look at all checkpoints found, the newest first."""

    bad: dict[Path, DamagedError]  # those that a resume moves aside on its way to the one that it takes
    good: Path | None  # the one that it takes
    manifest: dict[str, Any]  # of that one; {} if there is none
    refusal: BadDataError | None  # why none can be taken although there are some


Accept = Callable[[dict[str, Any]], object]
"""Raises BadDataError for a manifest that is whole and cannot be gone on from."""


def accept_any(manifest: dict[str, Any]) -> None:
    """Accepts every manifest that is whole."""


def judge(place: Path, accept: Accept = accept_any, limit: int | None = None) -> dict[str, Any]:
    """Returns the manifest of a checkpoint that is as it was written, its state of at most `limit` bytes.

    Raises DamagedError if it is not, BadDataError if it is and cannot be gone on from.
    """
    manifest = read_manifest(place)
    verify(place, manifest, limit)
    accept(manifest)
    return manifest


def survey(folder: Path, accept: Accept = accept_any, limit: int | None = None) -> Survey:
    """Returns which checkpoint in `folder` a resume takes, and what is in its way, by `judge`. Changes nothing."""
    bad: dict[Path, DamagedError] = {}
    for step in reversed(steps(folder)):
        place = place_of(folder, step)
        try:
            return Survey(bad, place, judge(place, accept, limit), None)
        except DamagedError as error:
            if os.path.lexists(place):  # else a run that is training pruned it meanwhile
                bad[place] = error
        except BadDataError as error:  # no damage, so it is left where it is, and none before it is taken in its place
            return Survey(bad, None, {}, error)
    reasons = [f"{path.name}: moved aside before" for path in moved_aside(folder)]
    reasons += [f"{place.name}: {error}" for place, error in bad.items()]
    refusal = BadDataError(f"no good checkpoint is left in {folder}: {'; '.join(reasons)}") if reasons else None
    return Survey(bad, None, {}, refusal)


def read_manifest(place: Path) -> dict[str, Any]:
    """Returns the manifest of one checkpoint, its seal checked.

    Raises DamagedError if it is not as it was written, and BadDataError if it is of another version.
    """
    path = place / MANIFEST
    manifest = read_json(path)
    version = manifest.get("format_version")
    if version != 1:  # whatever comes later seals likewise, so that a flipped bit is not taken for another version
        check_seal(manifest, path)
    if version not in READABLE:
        raise BadDataError(
            f"{place} has format version {version!r}; this Orexis reads {' and '.join(map(str, READABLE))}"
        )
    if manifest.get("step") != int(place.name.removeprefix("step_")):
        raise DamagedError(f"{path} is of step {manifest.get('step')!r}")
    return manifest


def verify(place: Path, manifest: dict[str, Any], limit: int | None = None) -> None:
    """Raises DamagedError if a file of the checkpoint is not, to the byte, as the manifest says, or beyond `limit`."""
    path = place / STATE
    if limit is not None and path.is_file() and path.stat().st_size > limit:
        raise DamagedError(f"{path} has more than the {limit} bytes that are plausible")
    check_size(place, manifest)
    _, digest = promised(place, manifest)
    try:
        found = sha256_of(path)
    except OSError as error:
        raise DamagedError(f"{path} cannot be read: {error.strerror}") from error
    if found != digest:
        raise DamagedError(f"{path} is damaged: its sha256 is not the one in the manifest")


def check_size(place: Path, manifest: dict[str, Any]) -> None:
    """Raises DamagedError if a file of the checkpoint is missing or has not the size that the manifest says."""
    size, _ = promised(place, manifest)
    path = place / STATE
    if not path.is_file():
        raise DamagedError(f"{path} is missing or not a file")
    found = path.stat().st_size
    if found != size:
        raise DamagedError(f"{path} is damaged: it has {found} bytes, not {size}")


def promised(place: Path, manifest: dict[str, Any]) -> tuple[int, str]:
    """Returns the size and the sha256 that the state should have."""
    try:
        told = manifest["files"][STATE]
        return told["size"], told["sha256"]
    except (KeyError, TypeError) as error:
        raise DamagedError(f"{place / MANIFEST} does not name its files") from error


def steps(folder: Path) -> list[int]:
    """Returns the steps that have a checkpoint, in order."""
    found = (_STEP.fullmatch(path.name) for path in folder.glob("step_*"))
    return sorted(int(match[1]) for match in found if match)


def place_of(folder: Path, step: int) -> Path:
    """Returns where the checkpoint of `step` is or goes."""
    return folder / f"step_{step:08d}"


def moved_aside(folder: Path) -> list[Path]:
    """Returns the checkpoints that were found bad before."""
    return sorted(folder.glob("*.corrupt"))
