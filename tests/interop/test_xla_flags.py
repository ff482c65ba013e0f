"""Flags that the installed XLA does not know are left out, and it is asked once."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from orexis.interop import xla_flags
from orexis.interop.xla_flags import known_flags

FLAGS = ["--xla_force_host_platform_device_count=2", "--xla_no_such_thing=1", "--xla_cpu_multi_thread_eigen=false"]
KNOWN = [FLAGS[0], FLAGS[2]]


@pytest.fixture
def asked(monkeypatch) -> list[str]:
    """What children were asked: of an XLA that knows no `--xla_no_...` and names one at a time."""
    started: list[str] = []

    def run(line, env, **options):
        started.append(env["XLA_FLAGS"])
        bad = [flag for flag in env["XLA_FLAGS"].split() if flag.startswith("--xla_no_")]
        said = f"F1118 parse_flags_from_env.cc:234] Unknown flags in XLA_FLAGS: {bad[0]} " if bad else ""
        return SimpleNamespace(returncode=1 if bad else 0, stderr=said.encode())

    monkeypatch.setattr(subprocess, "run", run)
    return started


@pytest.mark.smoke
def test_the_xla_that_is_here_is_asked_once(tmp_path, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_of_the_user=1")  # theirs to answer for
    assert known_flags(FLAGS, tmp_path) == KNOWN
    monkeypatch.setattr(subprocess, "run", None)
    assert known_flags(FLAGS, tmp_path) == KNOWN
    assert known_flags(["--xla_force_host_platform_device_count=7"], tmp_path) == [
        "--xla_force_host_platform_device_count=7"
    ]


@pytest.mark.smoke
def test_jax_starts_with_a_flag_of_ours_that_is_gone(tmp_path):
    code = """
import os
from orexis import platform
platform.XLA_FLAGS["--xla_no_such_thing"] = "1"
platform.prepare_jax(3)
import jax
print(jax.device_count(), "--xla_no_such_thing" in os.environ["XLA_FLAGS"])
"""
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("3 False\n", 0), done.stderr


def test_unknown_flags_are_found_one_after_the_other(tmp_path, asked):
    flags = ["--xla_no_a=1", "--xla_ok", "--xla_no_b", "--xla_no_a_thing=2"]
    assert known_flags(flags, tmp_path) == ["--xla_ok"]
    assert asked == [
        " ".join(flags),
        "--xla_ok --xla_no_b --xla_no_a_thing=2",
        "--xla_ok --xla_no_a_thing=2",
        "--xla_ok",
    ]


def test_no_flags_start_no_child(tmp_path, asked):
    assert known_flags([], tmp_path) == []
    assert asked == []


def test_another_jaxlib_is_asked_anew(tmp_path, asked, monkeypatch):
    known_flags(FLAGS, tmp_path)
    before = len(asked)
    monkeypatch.setattr(xla_flags.metadata, "version", lambda name: "99.0")
    assert known_flags(FLAGS, tmp_path) == KNOWN
    assert len(asked) == 2 * before


def test_a_flag_that_was_not_asked_for_yet_is(tmp_path, asked):
    assert known_flags(KNOWN, tmp_path) == KNOWN
    assert known_flags(FLAGS, tmp_path) == KNOWN
    assert known_flags(KNOWN, tmp_path) == KNOWN
    assert len(asked) == 3


ALL_TRUE = json.dumps({flag.split("=")[0]: 1 for flag in FLAGS})


@pytest.mark.parametrize("content", ["", "{", "[]", ALL_TRUE, "[" * 100_000, "\udcff"])
def test_an_answer_that_is_damaged_is_asked_for_anew(tmp_path, asked, content: str):
    known_flags(FLAGS, tmp_path)
    (place,) = tmp_path.iterdir()
    place.write_bytes(content.encode(errors="surrogateescape"))
    assert known_flags(FLAGS, tmp_path) == KNOWN
    assert json.loads(place.read_text()) == {flag.split("=")[0]: flag in KNOWN for flag in FLAGS}


def test_a_folder_that_cannot_be_written_to_costs_the_next_question(tmp_path, asked):
    (tmp_path / "file").touch()
    for _ in range(2):
        assert known_flags(FLAGS, tmp_path / "file" / "folder") == KNOWN
    assert len(asked) == 4


def _killed(line, **options):
    return SimpleNamespace(returncode=-9, stderr=b"Killed")


def _no_python(line, **options):
    raise OSError("no such file")


def _hangs(line, timeout, **options):
    raise subprocess.TimeoutExpired(line, timeout)


@pytest.mark.parametrize("run", [_killed, _no_python, _hangs])
def test_a_child_that_dies_of_something_else_tells_nothing(tmp_path: Path, monkeypatch, run):
    monkeypatch.setattr(subprocess, "run", run)
    assert known_flags(FLAGS, tmp_path) == FLAGS
    assert list(tmp_path.iterdir()) == []
