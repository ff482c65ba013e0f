"""SIGTERM and Ctrl-C: finish what is under way, save, and leave with the code that says why."""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

from orexis.runs.errors import INTERRUPTED, PREEMPTED

T = TypeVar("T")
_CODES = {signal.SIGTERM: PREEMPTED, signal.SIGINT: INTERRUPTED}


class StopRequest:
    """Whether somebody asked this process to stop, and how it should exit."""

    def __init__(self) -> None:
        self.code: int | None = None
        self.nothing_to_save = False  # while compiling: leave at once

    def _handle(self, number: int, frame: object) -> None:
        del frame
        again = self.code is not None
        self.code = _CODES[signal.Signals(number)]
        if self.nothing_to_save or (again and number == signal.SIGINT):
            os._exit(self.code)  # the second Ctrl-C, or nothing to lose


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


def leave_at_once_during(request: StopRequest, work: Callable[[], T]) -> T:
    """Returns work(), run in a thread so that a signal is heard meanwhile and ends the process at once.

    Compiling blocks its thread for many seconds in one call; Python hears signals only between calls.
    """
    if request.code is not None:
        raise SystemExit(request.code)
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    request.nothing_to_save = True
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.2)
    request.nothing_to_save = False
    if errors:
        raise errors[0]
    return results[0]
