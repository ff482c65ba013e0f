"""Which flags the installed XLA knows. They come and go with its versions, and one that is unknown ends the process.

Needs no JAX itself.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from orexis.storage.files import write_json

# XLA reads its flags when the first options are made. No device is started, and most of JAX is not even imported.
_READ_FLAGS = """
try:
    from jaxlib.xla_client import CompileOptions
    CompileOptions()
except (ImportError, AttributeError):
    import jax
    jax.devices("cpu")
"""
_PATIENCE_S = 60


def known_flags(flags: Iterable[str], folder: Path) -> list[str]:
    """Returns those of `flags`, each `--name` or `--name=value`, that the installed XLA knows.

    XLA cannot be asked, only tried: a child process is given the flags, and if XLA ends it, then with the names of
    the unknown ones. That takes half a second. The answer is kept in `folder`, by the version of jaxlib. A child that
    cannot be started or dies of something else tells nothing: then all flags are returned and nothing is kept.
    """
    flags = list(flags)
    place = folder / f"xla_flags-jaxlib-{metadata.version('jaxlib')}.json"
    known = _read(place)
    if any(_name(flag) not in known for flag in flags):
        unknown = _ask(flags)
        if unknown is None:
            return flags
        known |= {_name(flag): flag not in unknown for flag in flags}
        _keep(place, known)
    return [flag for flag in flags if known[_name(flag)]]


def _name(flag: str) -> str:
    return flag.split("=")[0]


def _ask(flags: list[str]) -> set[str] | None:
    """Returns those that XLA does not know, or None if it does not tell."""
    tried = list(flags)
    while tried:
        environment = {**os.environ, "XLA_FLAGS": " ".join(tried), "JAX_PLATFORMS": "cpu"}
        line = [sys.executable, "-c", _READ_FLAGS]
        try:
            child = subprocess.run(line, env=environment, capture_output=True, timeout=_PATIENCE_S, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return None
        if child.returncode == 0:
            break
        blamed = set(re.findall(r"--\w+", child.stderr.decode(errors="replace")))
        left = [flag for flag in tried if _name(flag) not in blamed]
        if len(left) == len(tried):
            return None
        tried = left
    return set(flags) - set(tried)


def _read(place: Path) -> dict[str, bool]:
    """Returns what was kept; nothing, if there is no such file or it is not one of ours."""
    try:
        told = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(told, dict) or not all(type(value) is bool for value in told.values()):
        return {}
    return told


def _keep(place: Path, known: dict[str, bool]) -> None:
    try:
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_json(place, known)
    except OSError:
        return  # a home that cannot be written to costs half a second the next time, nothing else
