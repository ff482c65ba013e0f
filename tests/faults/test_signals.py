"""FAULTS 14: SIGTERM and Ctrl-C while JAX starts, compiles and saves; for training see tests/training/test_train.py."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from orexis.errors import INTERRUPTED, OK, PREEMPTED
from orexis.storage import checkpoint, files
from orexis.training import loop, setup, signals
from orexis.training.train import train
from tests.faults import children
from tests.training.tiny import OPTIONS, TINY, digest_of, remembered_engine

CODES = [(signal.SIGTERM, PREEMPTED), (signal.SIGINT, INTERRUPTED)]


@pytest.fixture
def compiled_once(monkeypatch):
    monkeypatch.setattr(setup, "make_engine", remembered_engine)


@pytest.mark.parametrize(("number", "code"), CODES)
@pytest.mark.parametrize("at_flush", [1, 3, 6, 9])
def test_a_signal_while_saving_lets_the_save_finish(compiled_once, tmp_path, monkeypatch, number, code, at_flush: int):
    flush, flushes = os.fsync, []

    def flush_and_be_told(descriptor: int) -> None:
        flush(descriptor)
        if (tmp_path / "checkpoints").exists():  # the first save is under way
            flushes.append(descriptor)
            if len(flushes) == at_flush:
                os.kill(os.getpid(), number)

    monkeypatch.setattr(files.os, "fsync", flush_and_be_told)
    assert train(tmp_path, TINY, resume=False) == code
    assert checkpoint.steps(tmp_path / "checkpoints") == [4]
    checkpoint.verify(
        checkpoint.place_of(tmp_path / "checkpoints", 4),
        checkpoint.read_manifest(checkpoint.place_of(tmp_path / "checkpoints", 4)),
    )
    monkeypatch.undo()
    monkeypatch.setattr(setup, "make_engine", remembered_engine)
    assert train(tmp_path, TINY, resume=True) == OK
    assert train(tmp_path / "straight", TINY, resume=False) == OK
    assert digest_of(tmp_path, 12) == digest_of(tmp_path / "straight", 12)


def test_a_signal_while_processes_agree_waits_for_the_next_time(compiled_once, tmp_path, monkeypatch):
    asked: list[int | None] = []

    def agree(code: int | None) -> int | None:
        asked.append(code)
        if len(asked) == 2:
            os.kill(os.getpid(), signal.SIGTERM)  # too late to be told to the others
        return code

    monkeypatch.setattr(loop.distributed, "agree", agree)
    assert train(tmp_path, TINY, resume=False) == PREEMPTED
    assert asked == [None, None, PREEMPTED]


def test_handlers_are_given_back():
    before = [signal.getsignal(number) for number, _ in CODES]
    with signals.listening() as outer:
        with signals.listening() as inner:
            inner.will_save = True
            os.kill(os.getpid(), signal.SIGTERM)
            assert (inner.code, outer.code) == (PREEMPTED, None)
        outer.will_save = True
        os.kill(os.getpid(), signal.SIGINT)
        assert outer.code == INTERRUPTED
    assert [signal.getsignal(number) for number, _ in CODES] == before


def test_outside_the_main_thread_signals_stay_with_whoever_has_them():
    before, heard = signal.getsignal(signal.SIGTERM), []

    def work() -> None:
        with signals.listening() as request:
            heard.append(request.code)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert heard == [None]
    assert signal.getsignal(signal.SIGTERM) is before


def test_work_that_is_heard_through_gives_its_result_or_its_error():
    assert signals.run_interruptible(lambda: 5) == 5
    with pytest.raises(ZeroDivisionError):
        signals.run_interruptible(lambda: 1 / 0)


def orexis_train(run_dir: Path, cache: Path) -> subprocess.Popen:
    """Starts `orexis train` with a compile cache of its own: if it is empty, compiling takes long enough to be met."""
    line = [sys.executable, "-m", "orexis", "train", "bandit", *OPTIONS, "--run-dir", str(run_dir), "--devices", "1"]
    return subprocess.Popen(
        line,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={
            **os.environ,
            "XDG_CACHE_HOME": str(cache),
            "XLA_FLAGS": " ".join(children.FLAGS),
            "PYTHONUNBUFFERED": "1",
        },
    )


@pytest.mark.parametrize(
    ("number", "code", "moment"),
    [
        (signal.SIGTERM, PREEMPTED, "compiling"),
        pytest.param(signal.SIGINT, INTERRUPTED, "compiling", marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, PREEMPTED, "importing", marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, INTERRUPTED, "importing", marks=pytest.mark.slow),
    ],
)
def test_before_the_first_update_it_leaves_at_once(tmp_path, number, code: int, moment: str):
    process = orexis_train(tmp_path / "run", tmp_path / "cache")
    if moment == "compiling":
        assert process.stdout is not None
        assert "starting bandit at update 0" in process.stdout.readline()
        time.sleep(0.5)  # into the compilation
    else:
        while not (tmp_path / "run" / "env.json").exists():
            assert process.poll() is None
            time.sleep(0.01)
    process.send_signal(number)
    said, complained = process.communicate(timeout=120)
    assert process.returncode == code, complained
    assert "compiled" not in said  # it did not wait for that
    assert complained == "orexis: stopped before there was anything to save\n"
    assert not (tmp_path / "run" / "checkpoints").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), CODES)
def test_the_command_itself_saves_and_goes_on(tmp_path, number, code: int):
    process = orexis_train(tmp_path / "run", children.CACHE)
    assert process.stdout is not None
    while "compiled; training" not in process.stdout.readline():
        assert process.poll() is None
    time.sleep(0.3)
    process.send_signal(number)
    said, complained = process.communicate(timeout=300)
    assert process.returncode == code, complained
    assert "and saved; go on with --resume" in said
    step = checkpoint.steps(tmp_path / "run" / "checkpoints")[-1]
    assert f"stopped at update {step} and saved" in said
