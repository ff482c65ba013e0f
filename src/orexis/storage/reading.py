"""Reading what may be damaged or hostile: sizes are bounded before anything is read, and no code runs.

A record is *sealed* with the sha256 of all that it says, so that a flipped bit in it is noticed. Needs no JAX.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors

MAX_BYTES = 64 * 2**20  # a reward has well under a megabyte
MAX_JSON_BYTES = 4 * 2**20
SEAL = "record_sha256"


class DamagedError(ValueError):
    """A file is damaged, hostile or of another version; the message says which file and why."""


def read_bounded(path: Path, limit: int = MAX_BYTES) -> bytes:
    """Returns a file's bytes. Raises DamagedError if it is missing, not a plain file, or larger than `limit`."""
    if not path.is_file():
        raise DamagedError(f"{path} is missing or not a file")
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise DamagedError(f"{path} cannot be read: {error.strerror}") from error
    if len(data) > limit:
        raise DamagedError(f"{path} has more than the {limit} bytes that are plausible")
    return data


def read_json(path: Path) -> dict[str, Any]:
    """Returns the object in a JSON file. Raises DamagedError for anything else."""
    try:
        data = json.loads(read_bounded(path, MAX_JSON_BYTES))
    except DamagedError:
        raise
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{path} is not valid JSON: {error}") from error
    if not isinstance(data, dict):
        raise DamagedError(f"{path} must hold an object, not {type(data).__name__}")
    return data


def unpack_arrays(data: bytes, path: Path) -> dict[str, np.ndarray]:
    """Returns the named arrays in safetensors bytes, read from `path`. Raises DamagedError for anything else."""
    try:
        return load_tensors(data)
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise DamagedError(f"{path} cannot be read: {error}") from error


def seal(record: dict[str, Any]) -> dict[str, Any]:
    """Returns `record` with the sha256 of all that it says, so that a flipped bit in it is noticed."""
    return {**record, SEAL: _digest(record)}


def check_seal(record: dict[str, Any], path: Path) -> None:
    """Raises DamagedError if a record, read from `path`, does not say what it said when it was sealed."""
    if record.get(SEAL) != _digest(record):
        raise DamagedError(f"{path} is damaged: its sha256 is not the one that it ends with")


def _digest(record: dict[str, Any]) -> str:
    said = {name: value for name, value in record.items() if name != SEAL}
    try:
        text = json.dumps(said, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    except RecursionError as error:
        raise DamagedError("a record is nested too deeply") from error
    return hashlib.sha256(text.encode()).hexdigest()


def identity(folder: Path) -> tuple[int, int] | None:
    """Returns what tells a folder apart from another that took its place; None if there is none."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
