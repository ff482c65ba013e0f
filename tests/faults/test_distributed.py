"""A run on two processes is the run on one; when one of them goes, the other does not wait for ever."""

import contextlib
import csv
import os
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import pytest
from safetensors.numpy import load_file

from orexis.errors import FAILED, PREEMPTED, MachineError, UsageError
from orexis.platform.processes import Processes, find_processes, meet
from orexis.training import distributed
from orexis.training.distributed import naming_the_dead
from tests.faults import children

UPDATES = 8
OPTIONS = ["--lifetimes", "8", "--checkpoint-every", "4", "--outer.window", "1", "--validate-every", "3"]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start(run_dir: Path, updates: int, *options: str) -> subprocess.Popen:
    line = [sys.executable, "-m", "orexis", "train", "bandit", *OPTIONS, "--updates", str(updates)]
    flags = [flag for flag in children.FLAGS if "device_count" not in flag]
    return subprocess.Popen(
        [*line, "--run-dir", str(run_dir), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "XLA_FLAGS": " ".join(flags), "PYTHONUNBUFFERED": "1"},
    )


def start_two(run_dir: Path, updates: int, *options: str) -> list[subprocess.Popen]:
    """Starts both processes of a run, one device each; only the first knows the run folder's name."""
    told = ["--coordinator", f"127.0.0.1:{free_port()}", "--num-processes", "2", "--devices", "1", *options]
    folders = (run_dir, run_dir.with_name("never-made"))
    return [start(folder, updates, *told, "--process-id", str(i)) for i, folder in enumerate(folders)]


def finish(*processes: subprocess.Popen) -> list[tuple[int, str]]:
    """Returns exit code and complaints of each."""
    complaints = [process.communicate(timeout=300)[1] for process in processes]
    return [(process.returncode, text) for process, text in zip(processes, complaints, strict=True)]


def wait_for_a_checkpoint(run_dir: Path, *processes: subprocess.Popen) -> None:
    while not list(run_dir.glob("checkpoints/step_*")):
        assert all(process.poll() is None for process in processes), finish(*processes)
        time.sleep(0.05)


def state_of(run_dir: Path, step: int) -> dict[str, bytes]:
    (path,) = (run_dir / "checkpoints" / f"step_{step:08d}").glob("*.safetensors")
    return {name: array.tobytes() for name, array in load_file(path).items()}


def rows_of(run_dir: Path) -> list[dict[str, str]]:
    with (run_dir / "metrics.csv").open() as file:
        return [{name: value for name, value in row.items() if name != "wall_s"} for row in csv.DictReader(file)]


@pytest.mark.slow
def test_two_processes_reach_the_bits_of_one_and_go_on_from_each_others_checkpoints(tmp_path):
    alone, together, mixed = (tmp_path / name for name in ("alone", "together", "mixed"))
    assert finish(start(alone, UPDATES, "--devices", "1", "--deterministic"))[0][0] == 0
    codes = finish(*start_two(together, UPDATES, "--deterministic"))
    assert codes == [(0, ""), (0, "")]  # and none of JAX's runtime's own lines
    assert not (tmp_path / "never-made").exists()
    assert state_of(together, UPDATES) == state_of(alone, UPDATES)
    assert rows_of(together) == rows_of(alone)
    best = "best/reward.safetensors"
    assert (together / best).read_bytes() == (alone / best).read_bytes()

    # Without the option, as many devices are the same bits in whatever processes they are:
    plain = tmp_path / "plain"
    assert finish(start(plain, UPDATES, "--devices", "2"))[0][0] == 0
    assert finish(start(mixed, UPDATES // 2, "--devices", "2"))[0][0] == 0
    codes = finish(*start_two(mixed, UPDATES, "--resume"))
    assert [code for code, _ in codes] == [0, 0], codes
    assert f"resuming bandit at update {UPDATES // 2} of {UPDATES}" in (mixed / "log.txt").read_text()
    assert state_of(mixed, UPDATES) == state_of(plain, UPDATES)


@pytest.mark.slow
@pytest.mark.parametrize("victim", [0, 1])
def test_when_one_process_dies_the_other_ends_and_says_so(tmp_path, victim: int):
    processes = start_two(tmp_path / "run", 10**6)
    wait_for_a_checkpoint(tmp_path / "run", *processes)
    processes[victim].kill()
    (code, complaint) = finish(processes[1 - victim])[0]
    finish(processes[victim])
    assert code == FAILED, complaint
    assert "orexis: another process of this run has died" in complaint  # whatever JAX says besides


@pytest.mark.parametrize("busy", ["time.sleep(60)", "None"], ids=["main thread is held up", "main thread aborts"])
def test_an_abort_by_jax_ends_with_a_sentence(busy: str):
    """A thread of its runtime aborts the process when the first one is gone; it may be quicker than the main thread."""
    code = f"""
import os, threading, time
from orexis.training import distributed
distributed.GRACE_S = 0.2
distributed._end_aborts_with_a_sentence()
aborting = threading.Thread(target=os.abort) if {busy!r} != "None" else None
aborting.start() if aborting else os.abort()
{busy}
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == FAILED, done.stderr
    assert done.stderr.startswith("orexis: another process of this run has died or cannot be reached (JAX aborted")
    assert done.stderr.endswith("start all processes again with --resume\n")


def test_the_main_thread_has_time_to_say_what_it_knows():
    code = """
import os, threading, time
from orexis.training import distributed
distributed._end_aborts_with_a_sentence()
threading.Thread(target=os.abort).start()
time.sleep(0.3)
print("Gloo has told me")
distributed.leave(1)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (FAILED, "Gloo has told me\n", "")


@pytest.mark.slow
def test_a_signal_to_either_stops_both_with_everything_saved(tmp_path):
    processes = start_two(tmp_path / "run", 10**6)
    wait_for_a_checkpoint(tmp_path / "run", *processes)
    processes[1].send_signal(signal.SIGTERM)
    codes = finish(*processes)
    assert [code for code, _ in codes] == [PREEMPTED, PREEMPTED], codes


@pytest.mark.parametrize("index", [0, 1])
def test_a_process_that_never_arrives_is_not_waited_for_beyond_the_timeout(tmp_path, index: int):
    told = ["--coordinator", f"127.0.0.1:{free_port()}", "--num-processes", "2", "--devices", "1"]
    lonely = start(tmp_path / "run", 1, *told, "--process-id", str(index), "--join-timeout", "1")
    (code, complaint) = finish(lonely)[0]
    assert code == FAILED
    assert re.fullmatch("orexis: the 2 processes of the run did not find each other at .* within 1 s: .*\n", complaint)


@pytest.mark.parametrize("index", [0, 1])
def test_a_coordinator_that_does_not_exist_is_named_in_a_sentence(tmp_path, index: int):
    told = ["--coordinator", "nowhere.invalid:1", "--join-timeout", "5", "--num-processes", "2"]
    (code, complaint) = finish(start(tmp_path / "run", 1, *told, "--process-id", str(index)))[0]
    assert code == FAILED
    assert re.fullmatch("orexis: nowhere.invalid, where the first process .* is not known here .*\n", complaint)


def meeting(port: int, count: int = 3, patience_s: int = 300, bind: bool = True) -> list[Processes]:
    return [Processes(f"127.0.0.1:{port}", count, index, patience_s, bind) for index in range(count)]


@pytest.mark.parametrize("bind", [True, False])
def test_processes_that_meet_go_on_together_and_leave_the_port_free(bind: bool):
    port = free_port()
    first, *others = meeting(port, bind=bind)
    with ThreadPoolExecutor() as pool:
        waiting = [pool.submit(meet, first), pool.submit(meet, others[1])]
        for stranger in range(2):  # one says something else, one nothing
            with connect(port) as peer:
                peer.sendall(b"GET / HTTP/1.0\n\n" * (1 - stranger))
        assert not any(future.done() for future in waiting)
        meet(others[0])
        for future in waiting:
            future.result()
    with socket.create_server(("127.0.0.1", port)):
        pass  # as JAX's coordinator does next


def connect(port: int) -> socket.socket:
    while True:
        with contextlib.suppress(ConnectionRefusedError):
            return socket.create_connection(("127.0.0.1", port))
        time.sleep(0.01)


def test_who_is_missing_is_named():
    first, second, _ = meeting(free_port(), patience_s=1)
    with ThreadPoolExecutor() as pool:
        told = [pool.submit(meet, first), pool.submit(meet, second)]
        with pytest.raises(MachineError, match="within 1 s: process 2 did not come"):
            told[0].result()
        with pytest.raises(MachineError, match="the first did not let this one, 1, begin"):
            told[1].result()


def test_a_port_that_is_taken_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(MachineError, match=rf"cannot listen on 127\.0\.0\.1:{port} \(Address already in use\)"):
            meet(meeting(port)[0])


@pytest.mark.parametrize("raised", [False, True])
def test_what_gloo_says_of_its_peers_is_held_back_and_nothing_else(capfd, raised: bool):
    with contextlib.suppress(RuntimeError), distributed._without_gloo():
        print("ours")
        os.write(1, b"[Gloo] Rank 0 is connected to 1 peer ranks. Expected number is : 1\n[Gloo] broken\nlast")
        if raised:
            raise RuntimeError
    print(", after")
    assert capfd.readouterr().out == "ours\n[Gloo] broken\nlast, after\n"


@pytest.mark.parametrize("error", [jax.errors.JaxRuntimeError("UNKNOWN: closed"), ValueError("Gloo connectFullMesh")])
def test_what_jax_raises_when_a_process_is_gone_names_it(error: Exception):
    with pytest.raises(MachineError, match="another process of this run has died"), naming_the_dead():
        raise error


def test_an_error_of_our_own_is_not_blamed_on_the_others():
    with pytest.raises(ValueError, match="ours"), naming_the_dead():
        raise ValueError("ours")


@pytest.mark.parametrize(("told", "threads"), [({}, "3"), ({"NPROC": "7"}, "7")])
def test_xla_has_a_thread_for_each_device_unless_told_otherwise(told: dict[str, str], threads: str):
    code = "import os; from orexis.platform import prepare_jax; prepare_jax(3); print(os.environ['NPROC'])"
    env = {name: value for name, value in os.environ.items() if name != "NPROC"} | told
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == threads


@pytest.mark.parametrize(
    ("coordinator", "count", "index", "said"),
    [
        ("127.0.0.1:80", None, None, "belong together"),
        (None, 2, 0, "belong together"),
        ("nowhere", 2, 0, "HOST:PORT"),
        ("host:port", 2, 0, "HOST:PORT"),
        ("a b:80", 2, 0, "HOST:PORT"),
        ("127.0.0.1:80", 2, 2, "between 0 and"),
        ("127.0.0.1:80", 2, -1, "between 0 and"),
        ("127.0.0.1:80", 0, 0, "between 0 and"),
    ],
)
def test_bad_processes_are_refused(coordinator, count, index, said: str):
    with pytest.raises(UsageError, match=said):
        find_processes(coordinator, count, index, 300)


def test_processes_come_from_the_command_line_or_from_a_slurm_step_of_several_tasks(monkeypatch):
    for name in ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID"):
        monkeypatch.delenv(name, raising=False)
    assert find_processes(None, None, None, 300) is None
    assert find_processes("[::1]:4000", 2, 1, 9) == Processes("[::1]:4000", 2, 1, 9)
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "1")
    assert find_processes(None, None, None, 300) is None
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "4")
    monkeypatch.setenv("SLURM_PROCID", "3")
    monkeypatch.setenv("SLURM_JOB_ID", "4100")
    monkeypatch.setenv("SLURM_STEP_NODELIST", "node[007-008,011],other")
    assert find_processes(None, None, None, 300) == Processes("node007:61444", 4, 3, 300, bind=False)
