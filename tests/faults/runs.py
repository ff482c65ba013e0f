"""Runs that are trained by processes of their own, to be disturbed, and what became of them."""

import dataclasses
import signal
from pathlib import Path

from orexis.config import RunConfig
from orexis.errors import INTERRUPTED, OK, PREEMPTED
from orexis.storage import checkpoint
from tests.faults import children
from tests.training.tiny import digest_of, rows_of

CODES = {signal.SIGKILL: -signal.SIGKILL, signal.SIGTERM: PREEMPTED, signal.SIGINT: INTERRUPTED}
"""With what a training ends that such a signal met."""
NEVER = 1_000_000_000  # updates
ARRAYS = {"reward": "reward/reward.safetensors", "policy": "policy/policy.safetensors"}


@dataclasses.dataclass(frozen=True)
class Trainer:
    """Starts processes that train one run, up to any update."""

    config: RunConfig
    program: Path | None = None  # compiled before; None: each process compiles for itself

    def start(self, run_dir: Path, updates: int):
        return children.start(*self._work(run_dir, updates))

    def finish(self, run_dir: Path, updates: int) -> None:
        assert children.run(*self._work(run_dir, updates)) == OK

    def _work(self, run_dir: Path, updates: int) -> tuple:
        if self.program is None:
            return children.train_tiny, run_dir, updates, self.config.meta.learn
        return children.train_frozen, self.program, run_dir, dataclasses.replace(self.config, updates=updates)


def frozen(config: RunConfig, folder: Path) -> Trainer:
    assert children.run(children.freeze_run, config, folder / "program") == 0
    return Trainer(config, folder / "program")


def newest(run_dir: Path) -> int:
    return max(checkpoint.steps(run_dir / "checkpoints"), default=0)


def rows_written(run_dir: Path) -> list[int]:
    """Returns the updates that have a whole row in metrics.csv."""
    lines = (run_dir / "metrics.csv").read_bytes().decode().split("\n")[:-1]
    return [int(line.split(",")[0]) for line in lines[1:]]


def assert_same_run(run_dir: Path, straight: Path, end: int) -> None:
    assert digest_of(run_dir, end) == digest_of(straight, end)
    assert rows_of(run_dir) == rows_of(straight)
    arrays = next(name for kind, name in ARRAYS.items() if (straight / kind).is_dir())
    assert (run_dir / arrays).read_bytes() == (straight / arrays).read_bytes()
