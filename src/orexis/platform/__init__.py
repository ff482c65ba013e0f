"""Sets JAX up for this machine, before its first use: one device a core, a private compile cache; tells what a result
depends on. Needs no JAX itself."""

import functools
import gc
import os
import platform
from importlib import metadata
from pathlib import Path

from orexis.errors import UsageError
from orexis.interop.forks import jax_has_started
from orexis.interop.xla_flags import known_flags

XLA_FLAGS = {
    # Ops on a few lifetimes are too small for threads; the cores are used as devices instead.
    "--xla_cpu_multi_thread_eigen": "false",
    # An update is thousands of small ops, and half of its compile time was spent on passes that do not make it faster.
    "--xla_disable_hlo_passes": "while-loop-invariant-code-motion,simplify-while-loops",
    "--xla_backend_optimization_level": "1",
    # Devices wait for each other at every update: on a crowded machine longer than the 40 s after which XLA aborts.
    "--xla_cpu_collective_call_terminate_timeout_seconds": "600",
}
"""What is added to the environment's XLA_FLAGS, unless it has its own value or XLA does not know the flag."""


_FOUND: dict[str, str | None] = {}
"""The environment variables that `prepare_jax` has changed, as they were before; None: not set."""


def cache_folder() -> Path:
    """Returns the user's private folder for what can be computed again; it may not exist yet."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "orexis"


def compile_cache() -> Path:
    """Returns the folder for compiled programs in it, created with mode 0700."""
    folder = cache_folder() / "compiled"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def prepare_jax(num_devices: int | None = None) -> None:
    """Configures JAX. Call before anything touches a device; `num_devices` defaults to one a core.

    Does nothing once JAX has started: then its devices are what they are.
    """
    if jax_has_started():
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    num_devices = num_devices or cores
    _FOUND.update({name: os.environ.get(name) for name in ("XLA_FLAGS", "NPROC")})
    flags = os.environ.get("XLA_FLAGS", "")
    ours = XLA_FLAGS | {"--xla_force_host_platform_device_count": str(num_devices)}
    added = known_flags([f"{name}={value}" for name, value in ours.items() if name not in flags], cache_folder())
    os.environ["XLA_FLAGS"] = " ".join([flags, *added]).strip()
    # One thread a device: else each of two processes with a device of its own would use all cores, against the other.
    os.environ.setdefault("NPROC", str(num_devices))

    import jax

    try:
        jax.config.update("jax_compilation_cache_dir", str(compile_cache()))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
    except OSError:
        return  # a home that cannot be written to costs a recompilation, nothing else


def child_environment() -> dict[str, str]:
    """Returns the environment as `prepare_jax` found it: a process that we start sets JAX up for itself, with as many
    devices as it was asked for."""
    found = {name: value for name, value in os.environ.items() if name not in _FOUND}
    return found | {name: value for name, value in _FOUND.items() if value is not None}


def freeze_gc() -> None:
    """Lets the garbage collector forget all there is: call it once, when everything is compiled.

    Tracing leaves objects by the hundred thousand, and walking them again and again takes a core from the devices.
    """
    gc.collect()
    gc.freeze()


def require_memory(needed: int, what: str, advice: str) -> None:
    """Raises UsageError if `what` takes more bytes than this machine has: better now than in an hour."""
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > there:
        raise UsageError(
            f"{what} would take {needed / 1e9:.3g} GB of memory and this machine has {there / 1e9:.3g}; {advice}"
        )


@functools.cache
def versions() -> dict[str, str]:
    """Returns what a result depends on: the interpreter, the libraries, the machine."""
    names = ("orexis", "jax", "jaxlib", "optax", "numpy", "safetensors")
    found = {"python": platform.python_version(), "machine": f"{platform.system()} {platform.machine()}"}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found
