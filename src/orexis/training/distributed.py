"""One run on several processes or machines, over JAX's own distributed runtime.

Every process trains its share of the lifetimes; the first alone reads and writes the run folder. They meet three times:

    share     at the start, the first tells the others from which state to go on
    agree     between two strides, whether anybody was asked to stop
    gather    at a checkpoint, all lifetimes come to the first

With one process all three do nothing. A run saved by P processes goes on with any other number.
"""

import contextlib
import ctypes
import functools
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from orexis.errors import FAILED, MachineError
from orexis.platform.processes import Processes
from orexis.types import PyTree

HEARTBEAT_S = 30
"""After how long a silence a process counts as dead."""
GRACE_S = 10.0
"""How long the main thread has for saying itself that another process is gone: mostly it hears of that at once."""


def join(processes: Processes) -> None:
    """Connects this process to the others, who have met. Call before anything touches a device. Raises MachineError.

    The first listens on the address that it was given and on no other; under Slurm on all of its node's.
    """
    jax.config.update("jax_enable_recoverability", True)  # else a death elsewhere aborts this process without a word
    jax.config.update("jax_enable_preemption_service", False)  # it would swallow SIGTERM
    _end_aborts_with_a_sentence()
    try:
        with _without_gloo():
            jax.distributed.initialize(
                coordinator_address=processes.coordinator,
                coordinator_bind_address=processes.coordinator if processes.bind else None,
                num_processes=processes.count,
                process_id=processes.index,
                initialization_timeout=processes.patience_s,
                heartbeat_timeout_seconds=HEARTBEAT_S,
            )
            if len(jax.devices()) < processes.count:
                raise RuntimeError("some brought no device")
            multihost_utils.sync_global_devices("the beginning")  # here connections are made
    except Exception as error:  # JAX raises whatever its runtime does
        raise MachineError(
            f"the {processes.count} processes of the run did not find each other within {processes.patience_s} s: "
            f"{_first_line(error)}; start all of them, with the same --coordinator"
        ) from error


def _end_aborts_with_a_sentence() -> None:
    """Lets an abort by JAX's runtime end with a sentence and FAILED.

    A thread of its client aborts the process when the first one, with the coordinator in it, is gone. What jaxlib
    offers instead, `missed_heartbeat_callback`, ends in std::bad_cast (0.10.2), and Python's own handlers do not run in
    an abort; a handler of C's does.
    """
    ctypes.CDLL(None).signal(signal.SIGABRT, _AT_ABORT)


def _at_abort(number: int) -> None:
    """Leaves, unless the main thread does so in time. Called on whichever thread aborts."""
    del number
    time.sleep(GRACE_S)
    said = _gone("JAX aborted this one, and says above why")
    with contextlib.suppress(OSError):
        os.write(2, f"orexis: {said}\n".encode())
    os._exit(FAILED)


_AT_ABORT = ctypes.CFUNCTYPE(None, ctypes.c_int)(_at_abort)  # C's handler must live as long as the process


@contextlib.contextmanager
def _without_gloo() -> Iterator[None]:
    """Holds back what is written to stdout meanwhile, and lets all of it out but how many peers Gloo has found.

    Gloo writes that past Python, to the descriptor.
    """
    sys.stdout.flush()
    kept = os.dup(1)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 1)
        try:
            yield
        finally:
            sys.stdout.flush()
            os.dup2(kept, 1)
            os.close(kept)
            held.seek(0)
            with contextlib.suppress(OSError):  # whoever listened has gone; the training has not
                for line in held:
                    if not line.startswith(b"[Gloo] Rank "):
                        os.write(1, line)


def is_first() -> bool:
    """Returns whether this process reads and writes the run folder."""
    return jax.process_index() == 0


def share(loaded: tuple[PyTree | None, dict[str, Any]], template: PyTree) -> tuple[PyTree | None, dict[str, Any]]:
    """Returns the first process's state, or None, and what is told about it (JSON) on every process, bit by bit.

    template: what a state looks like, shapes and types.
    """
    state, about = loaded
    if jax.process_count() == 1:
        return state, about
    data = b""
    if is_first():
        arrays = [] if state is None else [np.asarray(leaf) for leaf in jax.tree.leaves(state)]
        data = json.dumps(about).encode() + b"\0" + b"".join(array.tobytes() for array in arrays)
    size = int(multihost_utils.broadcast_one_to_all(np.int32(len(data))))
    padded = np.frombuffer(data, np.uint8) if is_first() else np.zeros(size, np.uint8)
    head, _, body = np.asarray(multihost_utils.broadcast_one_to_all(padded)).tobytes().partition(b"\0")
    return (_unpack(body, template) if body else None), json.loads(head)


def _unpack(data: bytes, template: PyTree) -> PyTree:
    """Returns the tree like `template` whose leaves' bytes are `data`, one after the other."""
    leaves, structure = jax.tree.flatten(template)
    arrays, place = [], 0
    for leaf in leaves:
        arrays.append(np.frombuffer(data, leaf.dtype, leaf.size, place).reshape(leaf.shape))
        place += arrays[-1].nbytes
    return jax.tree.unflatten(structure, arrays)


def place(state: PyTree, shardings: PyTree) -> PyTree:
    """Returns the state, which every process has, laid out over the devices of all."""
    if jax.process_count() == 1:
        return jax.device_put(state, shardings)

    def put(sharding: NamedSharding, part: PyTree) -> PyTree:
        return jax.tree.map(lambda x: jax.make_array_from_callback(x.shape, sharding, lambda at: x[at]), part)

    return jax.tree.map(put, shardings, state)


def gather(state: PyTree, mesh: Mesh) -> PyTree:
    """Returns the whole state in the memory of the host, on every process."""
    if jax.process_count() > 1:
        state = _replicator(mesh)(state)
    return jax.device_get(state)


@functools.cache
def _replicator(mesh: Mesh) -> Callable[[PyTree], PyTree]:
    """Returns what copies a state to every device; kept, so that it is compiled for the first save alone."""
    return jax.jit(lambda x: x, out_shardings=NamedSharding(mesh, PartitionSpec()))


def agree(code: int | None) -> int | None:
    """Returns the exit code with which any process was asked to stop, on all of them; None if none was."""
    if jax.process_count() == 1:
        return code
    codes = multihost_utils.process_allgather(np.int32(code or 0))
    return int(np.max(codes)) or None


def part() -> None:
    """Waits until every process has come to the end: the first may still be writing."""
    multihost_utils.sync_global_devices("the end")


def leave(code: int) -> NoReturn:
    """Ends this process. JAX's own farewell would wait for the others, who may be gone, and then abort."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


@contextlib.contextmanager
def naming_the_dead() -> Iterator[None]:
    """Turns what JAX raises when a process is gone into a MachineError that says so.

    Mostly that is a JaxRuntimeError, but not where connections are still being made: so the words count too.
    """
    try:
        yield
    except Exception as error:
        if not isinstance(error, jax.errors.JaxRuntimeError) and "gloo" not in str(error).lower():
            raise
        raise MachineError(_gone(_first_line(error))) from error


def _gone(why: str) -> str:
    return (
        f"another process of this run has died or cannot be reached ({why}); "
        "what was saved is good: start all processes again with --resume"
    )


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__
