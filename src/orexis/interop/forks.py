"""Notices a fork after JAX has started: the child would wait for ever for threads that it does not have.

Imported with `orexis`, so that the fork is seen; imports nothing itself.
"""

import os
import sys
from pathlib import Path

ADVICE = (
    "this process was forked after JAX had started in its parent, and JAX would hang here; start workers with "
    "'spawn' or 'forkserver' (SubprocVecEnv(..., start_method='forkserver'), AsyncVectorEnv(..., context='spawn')), "
    "or make the environments in one process with gymnasium.make_vec('orexis:Orexis/...', num_envs=...)"
)

_forked_after_start = False


class ForkedError(RuntimeError):
    """JAX cannot be used in this process, because it was forked after JAX had started."""


def jax_has_started() -> bool:
    """Returns whether JAX has devices, and with them threads, here or in the process that this one was forked of."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    return bridge is not None and bool(getattr(bridge, "_backends", None))


def refuse_after_fork() -> None:
    """Raises ForkedError with advice if JAX would hang in this process. Cheap: call it before every use of JAX."""
    if _forked_after_start:
        raise ForkedError(ADVICE)


def refuse_if_alone() -> None:
    """Raises ForkedError if JAX has started but no thread of it is here: a fork that this module did not see.

    To be called once, before this process's first use of JAX through Orexis.
    """
    refuse_after_fork()
    threads = Path("/proc/self/task")
    if jax_has_started() and threads.is_dir() and len(list(threads.iterdir())) == 1:
        raise ForkedError(ADVICE)


def _note_fork() -> None:
    global _forked_after_start
    _forked_after_start = _forked_after_start or jax_has_started()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)
