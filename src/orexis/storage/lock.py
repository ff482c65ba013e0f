"""One process a run folder: a lock that the system frees, however the process ends."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from orexis.errors import UsageError

NAME = ".lock"


@contextlib.contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Holds the run folder's lock. Raises UsageError, naming the other process, if it is taken."""
    try:
        opened = (folder / NAME).open("a+")
    except OSError as error:
        raise UsageError(f"{folder / NAME} cannot be opened: {error.strerror}; remove it") from error
    with opened as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"{folder} is in use by process {owner(folder) or 'unknown'}; wait for it or choose another --run-dir"
            ) from None
        except OSError as error:  # a network file system without locks, for example
            raise UsageError(f"{folder} cannot be locked: {error.strerror}; choose another --run-dir") from error
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def owner(folder: Path) -> int | None:
    """Returns the process that holds the folder's lock or held it last; None if nobody did."""
    try:
        return int((folder / NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def is_held(folder: Path) -> bool:
    """Returns whether a process holds the folder's lock. Leaves no trace: a folder without a lock file stays so."""
    if not (folder / NAME).is_file():  # to open a pipe would be to wait for its other end
        return False
    try:
        with (folder / NAME).open("r") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
