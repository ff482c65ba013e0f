"""One process a run folder: a lock that the system frees, however the process ends."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from orexis.runs.errors import UsageError


@contextlib.contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Holds the run folder's lock. Raises UsageError, naming the other process, if it is taken."""
    with (folder / ".lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            owner = file.read().strip() or "unknown"
            raise UsageError(
                f"{folder} is in use by process {owner}; wait for it or choose another --run-dir"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
