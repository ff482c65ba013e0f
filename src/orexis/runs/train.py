"""`orexis train`: claims the run folder, starts JAX, hands over to the loop.

In this order: everything that can be refused is refused before JAX is imported.
"""

import contextlib
import tempfile
from pathlib import Path

from orexis.config import RunConfig
from orexis.runs import signals
from orexis.runs.folder import claimed
from orexis.runs.platform import prepare_jax
from orexis.runs.processes import Processes


def train(
    run_dir: Path, config: RunConfig, resume: bool, devices: int | None = None, processes: Processes | None = None
) -> int:
    """Trains until `config.updates` and returns the exit code: 0, or 75 or 130 when stopped by a signal.

    processes: how to find the others, for a run of several. The run folder is the first's; the others keep their
    copy of the log in a folder that goes when they go.

    Raises CommandError for everything that can be said in one sentence.
    """
    with contextlib.ExitStack() as stack:
        stop = stack.enter_context(signals.listening())
        if processes is None or processes.index == 0:
            stack.enter_context(claimed(run_dir, config, resume))
        else:
            run_dir = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="orexis-")))
        prepare_jax(devices)
        from orexis.runs import distributed
        from orexis.runs.loop import Run, make_engine

        if processes is None:
            return Run(run_dir, config, make_engine(config), stop).go()
        with distributed.joined(processes):
            return Run(run_dir, config, make_engine(config), stop).go()
