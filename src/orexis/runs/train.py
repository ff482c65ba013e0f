"""`orexis train`: claims the run folder, starts JAX, hands over to the loop.

In this order: everything that can be refused is refused before JAX is imported.
"""

from pathlib import Path

from orexis.config import RunConfig
from orexis.runs import signals
from orexis.runs.folder import claimed
from orexis.runs.platform import prepare_jax


def train(run_dir: Path, config: RunConfig, resume: bool, devices: int | None = None) -> int:
    """Trains until `config.updates` and returns the exit code: 0, or 75 or 130 when stopped by a signal.

    Raises CommandError for everything that can be said in one sentence.
    """
    with signals.listening() as stop, claimed(run_dir, config, resume):
        prepare_jax(devices)
        from orexis.runs.loop import Run, make_engine

        return Run(run_dir, config, make_engine(config), stop).go()
