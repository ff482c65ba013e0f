"""Arms are trained by the command that they tell, and how the training ended is what one hears."""

import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from orexis import platform
from orexis.errors import BadDataError, MachineError
from orexis.tools.arms import Arm, train_arm

ARM = Arm("ff", "bandit", 7, 3, ("--history", "none"))


@pytest.fixture
def instead(tmp_path: Path, monkeypatch):
    """Gives a function that puts a shell script in Python's place, as the process that trains."""

    def put(script: str) -> None:
        file = tmp_path / "python"
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        monkeypatch.setattr("orexis.tools.arms.sys.executable", str(file))

    return put


def test_the_command_is_what_one_would_type_and_the_folder_tells_the_arm():
    assert ARM.command() == ["orexis", "train", "bandit", "--updates", "7", "--seed", "3", "--history", "none"]
    assert ARM.place(Path("runs")) == Path("runs/bandit-ff-seed3")


def test_the_process_gets_the_command_and_the_run_folder_to_go_on_with(tmp_path: Path, instead):
    instead(f'echo "$@" > {tmp_path}/line')
    assert train_arm(ARM, tmp_path / "run", devices=1, extra=("--lifetimes", "4")) == tmp_path / "run"
    line = (tmp_path / "line").read_text().split()
    assert line[:2] == ["-m", "orexis"]
    assert line[2 : 2 + len(ARM.command()) - 1] == ARM.command()[1:]
    rest = line[2 + len(ARM.command()) - 1 :]
    assert rest == f"--run-dir {tmp_path}/run --resume --validate-every 0 --lifetimes 4 --devices 1".split()


def test_the_process_sets_jax_up_for_itself(tmp_path: Path, instead, monkeypatch):
    monkeypatch.setattr(platform, "_FOUND", {"XLA_FLAGS": None, "NPROC": "5"})
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=2")  # this process's own
    monkeypatch.setenv("NPROC", "2")
    instead(f'echo "$NPROC $MORE ${{XLA_FLAGS-none}}" > {tmp_path}/env')
    train_arm(ARM, tmp_path, flags={"MORE": "7"})
    assert (tmp_path / "env").read_text() == "5 7 none\n"


def test_what_prepare_jax_changes_is_known(monkeypatch):
    monkeypatch.setattr(platform, "_FOUND", {})
    monkeypatch.setattr(platform, "jax_has_started", lambda: False)
    monkeypatch.delenv("NPROC", raising=False)
    monkeypatch.setenv("XLA_FLAGS", "--mine=1")
    before = dict(os.environ)
    platform.prepare_jax(3)
    assert os.environ["NPROC"] == "3"
    assert os.environ["XLA_FLAGS"] != "--mine=1"
    assert platform.child_environment() == before
    monkeypatch.delenv("NPROC")


@pytest.mark.parametrize(
    ("code", "error"),
    [(3, BadDataError), (2, MachineError), (1, MachineError), (75, SystemExit), (130, KeyboardInterrupt)],
)
def test_how_the_training_ended_is_what_one_hears(code, error, tmp_path: Path, instead):
    instead(f"echo first >&2; echo the reason >&2; exit {code}")
    with pytest.raises(error) as raised:
        train_arm(ARM, tmp_path)
    if code == 75:
        assert raised.value.code == 75
    if code < 75:
        assert "orexis train bandit --updates 7 --seed 3 --history none failed: the reason" in str(raised.value)


@pytest.mark.parametrize(("number", "error"), [(signal.SIGTERM, SystemExit), (signal.SIGINT, KeyboardInterrupt)])
def test_a_signal_reaches_the_training_which_saves_first(number, error, tmp_path: Path, instead):
    code = {signal.SIGTERM: 75, signal.SIGINT: 130}[number]
    name = signal.Signals(number).name.removeprefix("SIG")
    instead(f"trap 'touch {tmp_path}/saved; exit {code}' {name}\ntouch {tmp_path}/ready\nwhile :; do sleep 0.05; done")

    def stop() -> None:
        while not (tmp_path / "ready").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), number)

    before = signal.getsignal(number)
    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(error):
        train_arm(ARM, tmp_path)
    thread.join()
    assert (tmp_path / "saved").exists()
    assert signal.getsignal(number) == before


def test_a_signal_that_comes_while_the_process_starts_is_not_lost(tmp_path: Path, instead, monkeypatch):
    instead("trap 'exit 75' TERM\nwhile :; do sleep 0.05; done")
    start = subprocess.Popen

    def starting(*arguments, **options):
        process = start(*arguments, **options)
        os.kill(os.getpid(), signal.SIGTERM)  # before anybody knows the process
        return process

    monkeypatch.setattr("orexis.tools.arms.subprocess.Popen", starting)
    with pytest.raises(SystemExit):
        train_arm(ARM, tmp_path)
