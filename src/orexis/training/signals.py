"""SIGTERM and Ctrl-C: finish what is under way, save, and leave with the code that says why."""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

from orexis.errors import INTERRUPTED, PREEMPTED

T = TypeVar("T")
_CODES = {signal.SIGTERM: PREEMPTED, signal.SIGINT: INTERRUPTED}
_FAREWELL = b"orexis: stopped before there was anything to save\n"


class StopRequest:
    """Whether somebody asked this process to stop, and how it should exit."""

    def __init__(self) -> None:
        self.code: int | None = None
        self.will_save = False  # until then, while JAX starts and compiles, a signal ends the process at once

    def _handle(self, number: int, frame: object) -> None:
        del frame
        again = self.code is not None
        self.code = _CODES[signal.Signals(number)]
        if not self.will_save:
            with contextlib.suppress(OSError):
                os.write(2, _FAREWELL)
            os._exit(self.code)
        if again and number == signal.SIGINT:
            os._exit(self.code)  # the second Ctrl-C: at once, what was saved before is good


@contextlib.contextmanager
def listening() -> Iterator[StopRequest]:
    """Turns SIGTERM and SIGINT into a `StopRequest` while the block runs."""
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request  # signals belong to the main thread; a library caller keeps its own
        return
    before = {number: signal.signal(number, request._handle) for number in _CODES}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
