"""Sets JAX up for this machine, before its first use: one device a core, and a private compile cache."""

import functools
import os
import platform
from importlib import metadata
from pathlib import Path

from orexis.interop.forks import jax_has_started

SINGLE_THREADED_OPS = "--xla_cpu_multi_thread_eigen=false"
"""Ops on a few lifetimes are too small for threads; the cores are used as devices instead."""


def cache_folder() -> Path:
    """Returns the user's private folder for compiled programs, created with mode 0700."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = base / "orexis" / "compiled"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def prepare_jax(num_devices: int | None = None) -> None:
    """Configures JAX. Call before anything touches a device; `num_devices` defaults to one a core.

    Does nothing once JAX has started: then its devices are what they are.
    """
    if jax_has_started():
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    flags = os.environ.get("XLA_FLAGS", "")
    if "xla_cpu_multi_thread_eigen" not in flags:
        flags = f"{flags} {SINGLE_THREADED_OPS}"
    if "xla_force_host_platform_device_count" not in flags:
        flags = f"{flags} --xla_force_host_platform_device_count={num_devices or cores}"
    os.environ["XLA_FLAGS"] = flags.strip()

    import jax

    try:
        jax.config.update("jax_compilation_cache_dir", str(cache_folder()))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
    except OSError:
        return  # a home that cannot be written to costs a recompilation, nothing else


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
