"""Processes that are made to fail.

They are forked from a server that has imported everything and started no JAX devices, so that one takes
milliseconds to begin. The functions here run inside of them, and are named by the tests.
"""

import contextlib
import dataclasses
import multiprocessing
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import jax
import numpy as np

from orexis.api import evaluate
from orexis.cli import main
from orexis.config import Learn, RunConfig
from orexis.errors import BAD_DATA, BadDataError, CommandError
from orexis.interop.forks import jax_has_started
from orexis.platform import prepare_jax
from orexis.storage import checkpoint, files
from orexis.storage.artefact import read_artefact
from orexis.storage.reading import DamagedError
from orexis.training import setup, signals
from orexis.training.folder import CHECKPOINTS, claimed
from orexis.training.train import train, train_here
from tests.faults.disk import Recorder
from tests.faults.frozen import freeze, thaw
from tests.quick import QUICK_TO_COMPILE
from tests.storage.rewards import write_reward
from tests.training.tiny import TINY, with_updates

FLAGS = (
    "--xla_force_host_platform_device_count=1",
    "--xla_cpu_multi_thread_eigen=false",
    *QUICK_TO_COMPILE,
)
CACHE = Path(os.environ.get("OREXIS_TEST_CACHE") or Path.home() / ".cache" / "orexis-tests")
CRASHED = 77

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["tests.faults.children"])


def start(function: Callable, *arguments) -> multiprocessing.Process:
    """Returns a running process that does `function(*arguments)`."""
    process = _context.Process(target=_begin, args=(function, arguments))
    process.start()
    return process


def run(function: Callable, *arguments) -> int:
    """Returns the exit code of a process that does `function(*arguments)`; negative for a signal."""
    process = start(function, *arguments)
    process.join(600)
    assert process.exitcode is not None, "a child hangs"
    return process.exitcode


def _begin(function: Callable, arguments: tuple) -> None:
    assert not jax_has_started(), "the fork server must not start JAX: its children would hang"
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the fork server ignores it
    function(*arguments)


def make_state(step: int) -> dict[str, np.ndarray]:
    """Returns a state that can be told from every other step's: NumPy alone, no device is needed."""
    rng = np.random.default_rng(step)
    return {"w": rng.normal(size=(50, 20)).astype(np.float32), "step": np.int32(step)}


TEMPLATE = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), make_state(0))


def save_once(run_dir: Path, step: int) -> None:
    """Saves a checkpoint and the reward of the same step, as a run does."""
    checkpoint.save(run_dir / "checkpoints", step, make_state(step), {"config": {"seed": step}})
    write_reward(run_dir / "reward", seed=step, training={"updates": step})


def save_forever(run_dir: Path) -> None:
    """Goes on from the newest checkpoint, one step after the other."""
    found = checkpoint.load_latest(run_dir / "checkpoints", TEMPLATE, _no_warning)
    step = found[1]["step"] if found else 0
    while True:
        step += 1
        save_once(run_dir, step)


def _no_warning(message: str) -> None:
    raise AssertionError(message)


def train_tiny(run_dir: Path, updates: int, learn: Learn = "reward") -> None:
    """Trains the tiny run for real, saving every second update, and ends with its exit code."""
    _set_flags()
    meta = dataclasses.replace(TINY.meta, learn=learn)
    _train(run_dir, with_updates(updates, checkpoint_every=2, log_every=3, meta=meta))


def freeze_run(config: RunConfig, program: Path) -> None:
    """Compiles the program of a run into the file `program`."""
    _set_flags()
    prepare_jax(1)
    jax.config.update("jax_enable_compilation_cache", False)  # what comes out of the cache cannot be kept once more
    freeze(config, program)


def train_frozen(program: Path, run_dir: Path, config: RunConfig) -> None:
    """Trains with a program that `freeze_run` wrote, everything else for real, and ends with the exit code."""
    _set_flags()
    setup.make_engine = lambda config: thaw(config, program)
    _train(run_dir, config)


def train_frozen_and_keep_all(program: Path, run_dir: Path, config: RunConfig) -> None:
    """The same, and no checkpoint is pruned."""
    checkpoint.KEEP = config.updates
    train_frozen(program, run_dir, config)


def train_beside(program: Path, leader: Path, end: Path, run_dir: Path, config: RunConfig) -> None:
    """Trains the run of `leader` too, undisturbed and never ahead of it, until the update that the file `end` names."""
    _set_flags()
    setup.make_engine = lambda config: thaw(config, program)

    def should_stop(row: dict[str, float]) -> bool:
        while not end.exists() and row["update"] >= max(checkpoint.steps(leader / CHECKPOINTS), default=0):
            time.sleep(0.2)
        return end.exists() and row["update"] >= int(end.read_text())

    train_here(run_dir, config, False, 1, signals.Callbacks(should_stop=should_stop), verbose=False)


def _set_flags() -> None:
    os.environ["XLA_FLAGS"] = " ".join(FLAGS)
    os.environ["XDG_CACHE_HOME"] = str(CACHE)


def _train(run_dir: Path, config: RunConfig) -> NoReturn:
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        code = train(run_dir, config, resume=True, devices=1)
    os._exit(code)


def claim_and_wait(run_dir: Path, ready: Path) -> None:
    """Claims the run folder, says so in the file `ready` and waits to be killed, or ends with the refusal's code."""
    try:
        with claimed(run_dir, TINY, resume=True):
            ready.write_text(str(os.getpid()))
            while True:
                signal.pause()
    except CommandError as error:
        os._exit(error.code)


class FileOperations:
    """Counts the operations that change files, and can end the process at one of them."""

    NAMES = ("open", "write", "fsync", "mkdir", "rename", "replace", "unlink", "rmdir", "ftruncate")
    AUDITED = ("os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate", "os.link", "os.symlink")

    def __init__(self, crash_at: int | None = None):
        self.crash_at, self.log, self.unseen = crash_at, [], []
        self._inside = False
        for name in self.NAMES:
            setattr(os, name, self._watched(name, getattr(os, name)))
        files._exchange = self._watched("exchange", files._exchange)
        sys.addaudithook(self._audit)

    def _watched(self, name: str, function: Callable) -> Callable:
        def call(*arguments, **options):
            if name == "open" and not arguments[1] & (os.O_WRONLY | os.O_RDWR):
                return function(*arguments, **options)
            self.log.append(name)
            if len(self.log) == self.crash_at:
                if name == "write":  # half of it is on the disk
                    function(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
                os._exit(CRASHED)
            self._inside = True
            try:
                return function(*arguments, **options)
            finally:
                self._inside = False

        return call

    def _audit(self, event: str, arguments: tuple) -> None:
        """Notes what changes files past the watched functions: then this would not see all."""
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if (writes or event in self.AUDITED) and not self._inside:
            self.unseen.append((event, str(arguments)))


def count_operations(run_dir: Path, step: int, answer: Path) -> None:
    """Writes what a save does to files, one operation a line, and after a blank line what was not watched."""
    operations = FileOperations()
    save_once(run_dir, step)
    lines = [*operations.log, "", *map(str, operations.unseen)]
    answer.write_text("\n".join(lines))


def crash_at(run_dir: Path, step: int, number: int) -> None:
    """Saves, and ends the process at file operation `number` of it."""
    FileOperations(number)
    save_once(run_dir, step)


def crash_at_without_exchange(run_dir: Path, step: int, number: int) -> None:
    """The same where the file system cannot exchange two names."""
    files._exchange = lambda first, second: False
    crash_at(run_dir, step, number)


def record_save(run_dir: Path, step: int, answer: Path) -> None:
    """Saves, and writes down every file operation of it, for `tests.faults.disk.Disk` to do again."""
    recorder = Recorder()
    files._exchange = recorder.watch_exchange(files._exchange)
    save_once(run_dir, step)
    answer.write_text(repr(recorder.operations))


def save_with_small_files(run_dir: Path, step: int, limit: int) -> None:
    """Saves where no file may have more than `limit` bytes, and ends with the number of the error."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        save_once(run_dir, step)
    except OSError as error:
        os._exit(error.errno or 1)


def _limit_memory_and_time() -> None:
    """Allows a quarter of a gigabyte more than there is and ten seconds of computing."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 2**28,) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (10, 10))


def refuse_rewards(folders: list[Path]) -> None:
    """Reads every reward and expects to be refused; ends with 0 if so."""
    _limit_memory_and_time()
    for folder in folders:
        try:
            read_artefact(folder)
        except (DamagedError, FileNotFoundError):
            continue
        raise AssertionError(f"{folder} was read")


def refuse_evaluations(folders: list[Path]) -> None:
    """Evaluates every reward and expects exit code 3, with the memory and the time for a refusal; ends with 0 if so."""
    _limit_memory_and_time()
    for folder in folders:
        assert main(["evaluate", str(folder)]) == BAD_DATA, folder


def refuse_checkpoints(folders: list[Path]) -> None:
    """Reads the newest checkpoint of each folder and expects to be refused; ends with 0 if so."""
    _limit_memory_and_time()
    for folder in folders:
        try:
            checkpoint.read(checkpoint.place_of(folder, checkpoint.steps(folder)[-1]), TEMPLATE)
        except (DamagedError, BadDataError):
            continue
        raise AssertionError(f"{folder} was read")


def send(process: multiprocessing.Process, number: signal.Signals) -> None:
    """Sends a signal to a child, if it is still there."""
    if process.pid is not None and process.is_alive():
        os.kill(process.pid, number)


def evaluate_run(run_dir: Path, lifetimes: int) -> None:
    """Evaluates the reward of a run, training or not, from its files alone; ends with 0 or the refusal's code."""
    _set_flags()
    try:
        evaluate(run_dir, lifetimes=lifetimes, fresh=True, verbose=False)
    except CommandError as error:
        print(f"orexis: {error}", file=sys.stderr)
        os._exit(error.code)
