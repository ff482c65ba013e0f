"""`orexis train`: claims the run folder, starts JAX, hands over to the loop.

In this order: everything that can be refused is refused before JAX is imported.
"""

import contextlib
import gc
import os
import sys
import tempfile
from pathlib import Path

from orexis.config import RunConfig
from orexis.errors import OK, CommandError
from orexis.platform import prepare_jax
from orexis.platform.processes import Processes, meet
from orexis.training import signals
from orexis.training.folder import claimed
from orexis.training.logs.tensorboard import Log, logging_to


def train(
    run_dir: Path,
    config: RunConfig,
    resume: bool,
    devices: int | None = None,
    processes: Processes | None = None,
    log: Log | None = None,
) -> int:
    """Trains until `config.updates` and returns the exit code: 0, or 75 or 130 when stopped by a signal.

    processes: how to find the others, for a run of several. The run folder is the first's; the others keep their
    copy of the log in a folder that goes when they go.
    log: where else the rows of metrics.csv go, see `orexis.training.logs`.

    Raises CommandError for everything that can be said in one sentence.
    """
    if processes is None:
        with signals.listening() as stop, claimed(run_dir, config, resume):
            return _go(run_dir, config, stop, devices, None, log=log, resume=resume)
    try:
        code = _train_together(run_dir, config, resume, devices, processes, log)
    except CommandError as error:
        print(f"orexis: {error}", file=sys.stderr)
        code = error.code
    from orexis.training.distributed import leave

    leave(code)


def train_here(
    run_dir: Path,
    config: RunConfig,
    resume: bool,
    devices: int | None,
    callbacks: signals.Callbacks,
    verbose: bool,
    log: Log | None = None,
) -> None:
    """Trains as `train` does, one process, for a caller that goes on afterwards.

    Raises KeyboardInterrupt (Ctrl-C) or SystemExit (SIGTERM), once the run is saved, where `train` returns their code.
    """
    try:
        with signals.listening(signals.raise_code) as stop, claimed(run_dir, config, resume):
            code = _go(run_dir, config, stop, devices, None, callbacks, verbose, log, resume)
    finally:
        gc.unfreeze()  # the loop froze what there was
    if code != OK:
        signals.raise_code(code)


def _train_together(
    run_dir: Path, config: RunConfig, resume: bool, devices: int | None, processes: Processes, log: Log | None
) -> int:
    with contextlib.ExitStack() as stack:
        stop = stack.enter_context(signals.listening())
        if processes.index == 0:
            stack.enter_context(claimed(run_dir, config, resume))
        else:
            run_dir = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="orexis-")))
            log = None
        return _go(run_dir, config, stop, devices, processes, log=log, resume=resume)


def _go(
    run_dir: Path,
    config: RunConfig,
    stop: signals.StopRequest,
    devices: int | None,
    processes: Processes | None,
    callbacks: signals.Callbacks = signals.NOBODY,
    verbose: bool = True,
    log: Log | None = None,
    resume: bool = False,
) -> int:
    """Starts JAX and trains."""
    if processes is not None:
        meet(processes)
        # Errors alone: JAX would warn at every start that a task may die without the others, which is what is wanted.
        if os.environ.get("TF_CPP_MIN_LOG_LEVEL", "1") == "1":  # JAX's own choice, which a process inherits
            os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
    prepare_jax(devices)
    from orexis.training import distributed
    from orexis.training.loop import Run
    from orexis.training.setup import make_engine

    with logging_to(log, run_dir, callbacks) as heard:
        if processes is None:
            return Run(run_dir, config, make_engine(config), stop, heard, verbose, resume).go()
        distributed.join(processes)
        with distributed.naming_the_dead():
            code = Run(run_dir, config, make_engine(config), stop, heard, resume=resume).go()
            distributed.part()
        return code
