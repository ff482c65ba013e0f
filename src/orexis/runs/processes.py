"""Which processes make up a run: from the command line, or from Slurm. Needs no JAX."""

import dataclasses
import os
import re

from orexis.runs.errors import UsageError


@dataclasses.dataclass(frozen=True)
class Processes:
    """How this process finds the others."""

    coordinator: str | None  # HOST:PORT of the first; None: found by itself, under Slurm
    count: int
    index: int
    patience_s: int  # how long to wait for the others to arrive


def find_processes(coordinator: str | None, count: int | None, index: int | None, patience_s: int) -> Processes | None:
    """Returns what the command line or Slurm says, or None for a run of one process. Raises UsageError.

    Under Slurm only a step of several tasks counts (`srun -n P`), not a shell inside an allocation.
    """
    if patience_s < 1:
        raise UsageError(f"--join-timeout must be at least 1 second, not {patience_s}")
    given = (coordinator, count, index)
    if all(value is None for value in given):
        tasks = int(os.environ.get("SLURM_STEP_NUM_TASKS", "1"))
        return Processes(None, tasks, int(os.environ["SLURM_PROCID"]), patience_s) if tasks > 1 else None
    if coordinator is None or count is None or index is None:
        raise UsageError("--coordinator, --num-processes and --process-id belong together: give all three or none")
    if not re.fullmatch(r"(\[[0-9a-fA-F:]+\]|[^:\s]+):\d{1,5}", coordinator):
        raise UsageError(f"--coordinator must be HOST:PORT of the first process, not {coordinator!r}")
    if count < 1 or not 0 <= index < count:
        raise UsageError(f"--process-id must be between 0 and --num-processes - 1, not {index} of {count}")
    return Processes(coordinator, count, index, patience_s)
