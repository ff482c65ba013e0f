"""Small disks: a tmpfs of a few kilobytes, where the tests run as root and may mount one."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def small_disk(place: Path, kilobytes: int) -> Iterator[Path]:
    """Mounts an empty disk at `place` while the block runs; skips the test where that is not allowed."""
    place.mkdir()
    if not _done("mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(place)):
        pytest.skip("needs root and the right to mount")
    try:
        yield place
    finally:
        assert _done("umount", "-l", str(place))


def make_read_only(place: Path) -> None:
    """Makes a disk mounted by `small_disk` read-only: even root cannot write to it then."""
    assert _done("mount", "-o", "remount,ro", str(place))


def make_writable(place: Path) -> None:
    assert _done("mount", "-o", "remount,rw", str(place))


def _done(*command: str) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
