"""Arms: trainings that are compared. Each runs in a process of its own, by the command that it tells; its run folder is
kept, so that one that was stopped goes on and one that is finished is not trained again."""

import contextlib
import dataclasses
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from orexis.errors import BAD_DATA, INTERRUPTED, OK, PREEMPTED, BadDataError, MachineError
from orexis.platform import child_environment
from orexis.training.signals import raise_code

_STOPPED = {
    PREEMPTED: PREEMPTED,
    INTERRUPTED: INTERRUPTED,
    -signal.SIGTERM: PREEMPTED,
    -signal.SIGINT: INTERRUPTED,
}
"""What a training that a signal stopped returns, saved or not yet begun, and with which code we leave then."""


@dataclasses.dataclass(frozen=True)
class Arm:
    """One training of a comparison."""

    name: str  # with the task and the seed: its run folder's
    task: str
    updates: int
    seed: int = 0
    options: tuple[str, ...] = ()  # of `orexis train`: what makes it differ from the task's recipe

    def command(self) -> list[str]:
        """Returns the command line that trains it, but for its run folder."""
        line = ["orexis", "train", self.task, "--updates", str(self.updates), "--seed", str(self.seed)]
        return [*line, *self.options]

    def place(self, runs: Path) -> Path:
        """Returns its run folder among others in `runs`."""
        return runs / f"{self.task}-{self.name}-seed{self.seed}"


def train_arm(
    arm: Arm, run_dir: Path, devices: int | None = None, extra: tuple[str, ...] = (), flags: Mapping[str, str] = {}
) -> Path:
    """Returns `run_dir` with the arm's run in it, trained to the end; a finished one ends at once.

    devices: CPU devices, default one a core. extra: further options of `orexis train`, that do not tell the arm from
    others. flags: further environment variables. A signal is passed on to the training, which saves; then we leave as
    it did. Raises BadDataError if the training was given up because nothing in it was finite any more: that is a
    result. MachineError if it was refused or failed otherwise: that is a mistake.
    """
    line = [*arm.command()[1:], "--run-dir", str(run_dir), "--resume", "--validate-every", "0", *extra]
    line += ["--devices", str(devices)] if devices else []
    with _passing_on_signals() as passing_on_to:
        process = subprocess.Popen(
            [sys.executable, "-m", "orexis", *line],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**child_environment(), **flags},
            start_new_session=True,  # a terminal's Ctrl-C is to reach it once, through us
        )
        passing_on_to(process)
        output, errors = process.communicate()
    if process.returncode == OK:
        return run_dir
    if process.returncode in _STOPPED:
        raise_code(_STOPPED[process.returncode])
    said = (errors or output).strip().splitlines()
    sentence = f"{shlex.join(arm.command())} failed: {said[-1] if said else 'no message'}"
    raise (BadDataError if process.returncode == BAD_DATA else MachineError)(sentence)


@contextlib.contextmanager
def _passing_on_signals() -> Iterator[Callable[["subprocess.Popen[str]"], None]]:
    """Sends SIGTERM and SIGINT on, while the block runs, to the process that the function it gives is told: also those
    that came before."""
    told: list[subprocess.Popen[str]] = []
    early: list[int] = []

    def handle(number: int, frame: object) -> None:
        del frame
        if told:
            told[0].send_signal(number)
        else:
            early.append(number)

    def passing_on_to(process: "subprocess.Popen[str]") -> None:
        told.append(process)
        for number in early:
            process.send_signal(number)

    if threading.current_thread() is not threading.main_thread():
        yield passing_on_to  # signals belong to the main thread
        return
    before = {number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield passing_on_to
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
