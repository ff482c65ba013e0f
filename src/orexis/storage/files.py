"""Writing so that a crash at any moment leaves the old file or the new one, never half of one."""

import ctypes
import errno
import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save as tensors_to_bytes

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


def write_durably(path: Path, data: bytes) -> str:
    """Writes `data`, flushes it to the disk, reads it back and returns its sha256. Raises OSError if it differs."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    digest = hashlib.sha256(data).hexdigest()
    if sha256_of(path) != digest:
        raise OSError(errno.EIO, "does not read back as it was written; is the disk failing?", str(path))
    return digest


def sha256_of(path: Path) -> str:
    """Returns the sha256 of a file, read piece by piece: any size, little memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync_folder(folder: Path) -> None:
    """Flushes a folder's entries, so that a rename in it survives a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def json_bytes(data: Any) -> bytes:
    """Returns `data` as indented JSON. Raises ValueError for what JSON has no word for, such as NaN."""
    return (json.dumps(data, indent=2, allow_nan=False, ensure_ascii=False) + "\n").encode()


def write_json(path: Path, data: Any) -> None:
    """Replaces `path` by `data` as JSON, in one step; a device or a pipe is written to instead."""
    if path.exists() and not path.is_file():
        path.write_bytes(json_bytes(data))
        return
    beside = path.with_name(f".{path.name}.tmp-{os.getpid()}")
    try:
        write_durably(beside, json_bytes(data))
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def remove_drafts(folder: Path) -> None:
    """Removes what a crash left behind of `write_json` and `swap_folder`. The caller holds the folder's lock."""
    for draft in (*folder.glob(".*.tmp-*"), *folder.glob(".*.old-*")):
        if draft.is_dir() and not draft.is_symlink():
            shutil.rmtree(draft, ignore_errors=True)
        else:
            draft.unlink(missing_ok=True)


def pack_arrays(arrays: dict[str, np.ndarray]) -> bytes:
    """Returns named arrays as safetensors bytes; they are made C-contiguous, others would be scrambled."""
    return tensors_to_bytes({name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()})


def swap_folder(new: Path, place: Path) -> None:
    """Puts folder `new` at `place`, in one step where the system can exchange two names; the old one is removed."""
    old = new if place.exists() else None
    if old is None:
        new.rename(place)
    elif not _exchange(new, place):  # no atomic exchange here: the old folder is out of the way for an instant
        old = place.with_name(f".{place.name}.old-{os.getpid()}")
        place.rename(old)
        new.rename(place)
    sync_folder(place.parent)
    if old is not None:
        shutil.rmtree(old)


def _exchange(first: Path, second: Path) -> bool:
    """Swaps two names atomically (Linux renameat2); returns False where the system or file system cannot."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    return rename(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE) == 0
