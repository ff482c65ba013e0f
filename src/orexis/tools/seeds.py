"""`orexis train --seeds`: runs that differ in their seed alone, one after the other, and what they reached."""

import gc
import sys
from collections.abc import Sequence
from pathlib import Path

from orexis.config import RunConfig
from orexis.errors import OK, BadDataError, UsageError
from orexis.tools.runs import as_lines, look_at
from orexis.training import signals
from orexis.training.folder import check_use
from orexis.training.logs.tensorboard import Log
from orexis.training.train import train

_FAREWELL = b"orexis: stopped between two runs; the same command with --resume goes on\n"


def train_seeds(
    runs: Sequence[tuple[Path, RunConfig]], resume: bool, devices: int | None = None, log: Log | None = None
) -> int:
    """Trains each run in its folder and returns the exit code of the group, its table printed.

    A signal saves the run that trains and ends the group with the signal's code; resumed, the group skips what is
    finished. A run that ends in NaN or infinity, or whose checkpoints are all bad, is told and the others go on: then
    the code is 3. Raises CommandError for what would stop every run, before the first where that can be.
    """
    for run_dir, config in runs:
        try:
            check_use(run_dir, config, resume)
        except OSError as error:  # a name too long, a folder above that one may not enter
            raise UsageError(f"--run-dir {run_dir} cannot be used: {error.strerror}") from error
    code = OK
    with signals.listening(farewell=_FAREWELL):  # between two runs; each of them listens for itself
        for number, (run_dir, config) in enumerate(runs, start=1):
            which = f"seed {config.seed}, {number} of {len(runs)}, in {run_dir}"
            if resume and _is_done(run_dir, config):
                print(f"{which}: finished before", flush=True)
                continue
            print(which, flush=True)
            try:
                ended = train(run_dir, config, resume, devices, log=log)
            except BadDataError as error:
                print(f"orexis: seed {config.seed}: {error}", file=sys.stderr, flush=True)
                code = error.code
                continue
            finally:
                gc.unfreeze()  # the loop froze what there was
            if ended != OK:
                print(f"stopped in seed {config.seed}: the same command with --resume goes on with it and the rest")
                return ended
        print("\n".join(as_lines([look_at(run_dir) for run_dir, _ in runs])), flush=True)
    return code


def _is_done(run_dir: Path, config: RunConfig) -> bool:
    """Returns whether there is nothing left to do for a run, by a look at its folder: JAX need not be started."""
    if not run_dir.is_dir():
        return False
    found = look_at(run_dir)
    return found.state == "finished" and found.updates >= config.updates
