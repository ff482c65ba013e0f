"""FAULTS 6 and 13: folders that cannot be written to, and two processes in one."""

import os
import signal
import time
from pathlib import Path

import pytest

from orexis.errors import OK, USAGE, CommandError, UsageError
from orexis.storage import lock
from orexis.training import setup
from orexis.training.folder import claimed
from orexis.training.train import train
from tests.faults import children
from tests.faults.mounts import make_read_only, make_writable, small_disk
from tests.training.tiny import TINY, remembered_engine, with_updates


@pytest.fixture(autouse=True)
def compiled_once(monkeypatch):
    monkeypatch.setattr(setup, "make_engine", remembered_engine)


def never(config):
    raise AssertionError("training was about to start")


@pytest.fixture
def read_only_disk(tmp_path):
    """A disk on which nobody may write, root included, with a folder `empty` and a run in `run`."""
    with small_disk(tmp_path / "disk", 1024) as disk:
        (disk / "empty").mkdir()
        assert train(disk / "run", with_updates(3), resume=False) == OK
        make_read_only(disk)
        yield disk
        make_writable(disk)


@pytest.mark.parametrize("name", ["empty", "new", "run"])
def test_a_read_only_disk_is_told_before_training_starts(read_only_disk, monkeypatch, name: str):
    monkeypatch.setattr(setup, "make_engine", never)
    with pytest.raises(UsageError, match=r"cannot write to .*: Read-only file system .*; choose another --run-dir"):
        train(read_only_disk / name, TINY, resume=True)


@pytest.mark.parametrize("what", [".", "checkpoints", "metrics.csv", "log.txt"])
def test_what_a_run_writes_is_tried_before_training_starts(tmp_path, monkeypatch, what: str):
    assert train(tmp_path / "run", with_updates(3), resume=False) == OK
    forbidden, opened = tmp_path / "run" / what, os.open

    def refuse(path, flags, *arguments, **options):
        inside = Path(path) == forbidden or (forbidden.is_dir() and Path(path).parent == forbidden)
        if inside and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, flags, *arguments, **options)

    monkeypatch.setattr(os, "open", refuse)  # what the system would do to anybody but root
    monkeypatch.setattr(setup, "make_engine", never)
    with pytest.raises(UsageError, match="Permission denied"):
        train(tmp_path / "run", TINY, resume=True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_the_right_to_write(tmp_path, monkeypatch):
    monkeypatch.setattr(setup, "make_engine", never)
    (tmp_path / "run").mkdir(mode=0o555)
    with pytest.raises(UsageError, match="Permission denied"):
        train(tmp_path / "run", TINY, resume=True)


def wait_for(path: Path, process) -> None:
    while not path.exists():
        assert process.is_alive(), "it ended by itself"
        time.sleep(0.005)


def test_the_second_process_is_told_who_has_the_folder_and_kill_9_frees_it(tmp_path):
    run_dir = tmp_path / "run"
    first = children.start(children.claim_and_wait, run_dir, tmp_path / "ready")
    wait_for(tmp_path / "ready", first)
    assert lock.is_held(run_dir)
    with pytest.raises(UsageError, match=f"is in use by process {first.pid}; wait for it") as refused:
        train(run_dir, TINY, resume=True)
    assert refused.value.code == USAGE
    first.kill()
    first.join(60)
    assert first.exitcode == -signal.SIGKILL
    assert not lock.is_held(run_dir)
    assert train(run_dir, TINY, resume=True) == OK


def test_of_many_that_come_at_once_one_gets_the_folder(tmp_path):
    crowd = [children.start(children.claim_and_wait, tmp_path / "run", tmp_path / f"ready{i}") for i in range(6)]
    while sum(process.is_alive() for process in crowd) > 1:
        time.sleep(0.005)
    (winner,) = (process for process in crowd if process.is_alive())
    wait_for(tmp_path / f"ready{crowd.index(winner)}", winner)
    assert len(list(tmp_path.glob("ready*"))) == 1
    assert [process.exitcode for process in crowd if process is not winner] == [USAGE] * 5
    assert lock.owner(tmp_path / "run") == winner.pid
    winner.kill()
    winner.join(60)


def test_the_lock_is_free_after_an_error(tmp_path):
    def fail() -> None:
        with claimed(tmp_path, TINY, resume=False):
            assert lock.is_held(tmp_path)
            raise KeyError("something odd")

    with pytest.raises(KeyError, match="something odd"):
        fail()
    assert not lock.is_held(tmp_path)


def test_a_file_system_without_locks_is_named(tmp_path, monkeypatch):
    def unsupported(*arguments):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(lock.fcntl, "flock", unsupported)
    with pytest.raises(CommandError, match="cannot be locked: No locks available"), lock.hold(tmp_path):
        pass


@pytest.mark.parametrize("content", [b"", b"not a number", b"\xff\xfe", b"99999999999999999999999"])
def test_a_lock_file_that_says_nothing_locks_all_the_same(tmp_path, content: bytes):
    with lock.hold(tmp_path):
        (tmp_path / ".lock").write_bytes(content)
        with pytest.raises(UsageError, match="is in use by process"), lock.hold(tmp_path):
            pass
    with lock.hold(tmp_path):
        assert lock.owner(tmp_path) == os.getpid()
