"""How a run is reached from outside: signals that stop it, and the functions of whoever called it.

SIGTERM and Ctrl-C: finish what is under way, save, and leave with the code that says why.
"""

import contextlib
import dataclasses
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn, TypeVar

from orexis.errors import INTERRUPTED, PREEMPTED

T = TypeVar("T")
_CODES = {signal.SIGTERM: PREEMPTED, signal.SIGINT: INTERRUPTED}
_FAREWELL = b"orexis: stopped before there was anything to save\n"


@dataclasses.dataclass(frozen=True)
class Callbacks:
    """What a run tells its caller, between two strides: nothing that is learned depends on it.

    An exception ends the run as it stands: its last checkpoint is good.
    """

    on_begin: Callable[[Path], None] = lambda metrics: None
    """Hears, before the first row, where metrics.csv is, which then holds the rows up to the newest checkpoint."""
    on_row: Callable[[dict[str, float]], None] = lambda row: None
    """Hears of each row of metrics.csv when it is written; NaN where a cell is empty."""
    on_checkpoint: Callable[[Path, int], None] = lambda path, update: None
    """Hears of each checkpoint when it and the reward beside it are written: its folder, and the updates done."""
    should_stop: Callable[[dict[str, float]], bool] = lambda row: False
    """Asked after each whole row: True saves the run and ends it, to be resumed or not."""


NOBODY = Callbacks()
"""Of a run that nobody listens to."""


class StopRequest:
    """Whether somebody asked this process to stop, and how it should exit."""

    def __init__(self, leave: Callable[[int], None] | None = None, farewell: bytes = _FAREWELL) -> None:
        self._leave, self._farewell = leave or os._exit, farewell
        self.code: int | None = None
        self.will_save = False  # until then, while JAX starts and compiles, a signal ends the process at once

    def _handle(self, number: int, frame: object) -> None:
        del frame
        again = self.code is not None
        self.code = _CODES[signal.Signals(number)]
        if not self.will_save:
            with contextlib.suppress(OSError):
                os.write(2, self._farewell)
            self._leave(self.code)
        if again and number == signal.SIGINT:
            self._leave(self.code)  # the second Ctrl-C: at once, what was saved before is good


@contextlib.contextmanager
def listening(leave: Callable[[int], None] | None = None, farewell: bytes = _FAREWELL) -> Iterator[StopRequest]:
    """Turns SIGTERM and SIGINT into a `StopRequest` while the block runs.

    leave: what ends everything at once, where nothing is to be saved or nobody wants to wait; by default the process.
    farewell: what is said on stderr where nothing is to be saved.
    """
    request = StopRequest(leave, farewell)
    if threading.current_thread() is not threading.main_thread():
        yield request  # signals belong to the main thread; a library caller keeps its own
        return
    before = {number: signal.signal(number, request._handle) for number in _CODES}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def raise_code(code: int) -> NoReturn:
    """Leaves as Python itself does on a signal: for runs inside somebody else's process."""
    raise KeyboardInterrupt if code == INTERRUPTED else SystemExit(code)


def run_interruptible(work: Callable[[], T]) -> T:
    """Returns work(), run in a thread, so that this one hears signals meanwhile.

    Compiling blocks its thread for many seconds in one call; Python hears signals only between calls.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.2)
    if errors:
        raise errors[0]
    return results[0]
