"""The script of docs/how-to/cluster.md under a real Slurm: found, requeued, out of time, killed; the same bits."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults import children
from tests.faults.runs import NEVER, assert_same_run, newest
from tests.slurm.cluster import Cluster, missing, running
from tests.training.tiny import OPTIONS

ROOT = Path(__file__).parent.parent.parent
SEEDS = (0, 1, 2)
TRAIN = ("bandit", *OPTIONS, "--deterministic", "--validate-every", "0", "--checkpoint-every", "2")
MINUTES = 120
ASK = ("--nodes=1", "--ntasks-per-node=2", "--cpus-per-task=1", f"--time={MINUTES}", "--signal=TERM@3600")
"""What the one small node can give; the signal comes an hour before the limit."""
RAW = re.compile(r"^[IWEF]\d{4} |Gloo|grpc|GRPC|absl|Traceback|^\s+@ ")
"""What JAX's runtime writes past us."""

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif(bool(missing()), reason=f"not installed: {', '.join(missing())}"),
]


@pytest.fixture
def cluster(tmp_path):
    (tmp_path / "slurm").mkdir()
    with running(tmp_path / "slurm") as cluster:
        yield cluster
    assert cluster.processes() == []


def script() -> str:
    """Returns the script of the page, as it stands there."""
    page = (ROOT / "docs" / "how-to" / "cluster.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```sh\n(#!/bin/bash\n.*?)```", page, re.DOTALL)
    return text


class Jobs:
    """An array of the script's jobs, one a seed."""

    def __init__(self, cluster: Cluster, scratch: Path):
        self.cluster, self.scratch = cluster, scratch
        flags = [flag for flag in children.FLAGS if "device_count" not in flag]
        self.environment = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{cluster.environment['PATH']}",
            "SCRATCH": str(scratch),
            "XLA_FLAGS": " ".join(flags),
            "XDG_CACHE_HOME": str(children.CACHE),
        }
        self.script = scratch / "train.sh"
        self.script.write_text(script())

    def submit(self, updates: int, *more: str) -> dict[int, str]:
        """Submits the script and returns each seed's job."""
        array = f"--array={SEEDS[0]}-{SEEDS[-1]}"
        line = ["sbatch", "--parsable", f"--chdir={self.scratch}", *ASK, array, *more, str(self.script), *TRAIN]
        number = self.cluster.run(*line, "--updates", str(updates), **self.environment)
        return {seed: f"{number}_{seed}" for seed in SEEDS}

    def run_dir(self, seed: int) -> Path:
        return self.scratch / "orexis" / f"seed{seed}"

    def log(self, job: str) -> str:
        path = self.scratch / f"orexis-{job}.log"
        return path.read_text() if path.exists() else ""

    def wait(self, job: str, until: Callable[[], bool], *states: str) -> None:
        """Waits until something has happened, as long as the job is in one of the states."""
        while not until():
            state = self.cluster.state(job)
            assert state in states or until(), (job, state, self.log(job), self.cluster.explain())
            time.sleep(0.5)

    def task(self, job: str, rank: int) -> int:
        """Returns the number of the process that is a task of a job; of rank 0 there is the script itself too."""
        return self.cluster.processes(SLURM_JOB_ID=self.cluster.show(job)["JobId"], SLURM_PROCID=str(rank))[0]

    def restarts(self, job: str) -> int:
        return int(self.cluster.show(job)["Restarts"])

    def await_requeue(self, job: str) -> None:
        """Waits until a job is saved and back in the queue; gives it its time again, else the signal is due again."""
        again = "scontrol", "update", f"JobId={job}", f"TimeLimit={MINUTES}"
        alive = "RUNNING", "COMPLETING", "PENDING", "CONFIGURING"
        self.wait(job, lambda: self.restarts(job) > 0 and self.cluster.answers(*again) is not None, *alive)
        self.wait(job, lambda: "and saved; go on with --resume" in self.log(job), *alive)
        assert self.restarts(job) == 1

    def await_progress(self, job: str, seed: int) -> None:
        """Waits until a job that was requeued has trained further."""
        told = re.compile(r"resuming bandit at update (\d+) of")
        alive = "PENDING", "CONFIGURING", "RUNNING"
        self.wait(job, lambda: told.search(self.log(job)) is not None, *alive)
        (saved,) = told.findall(self.log(job))
        self.wait(job, lambda: newest(self.run_dir(seed)) > int(saved), *alive)

    def cancel(self, job: str) -> None:
        self.cluster.run("scancel", job)
        self.wait(job, lambda: self.cluster.state(job) == "CANCELLED", "RUNNING", "COMPLETING")

    def complete(self, job: str) -> None:
        on_the_way = "PENDING", "CONFIGURING", "RUNNING", "COMPLETING"
        self.wait(job, lambda: self.cluster.state(job) == "COMPLETED", *on_the_way)

    def train_straight(self, seed: int, updates: int) -> subprocess.Popen:
        """Starts the run of a seed without Slurm, in one process that nothing disturbs."""
        run_dir = self.straight_dir(seed)
        line = ["orexis", "train", *TRAIN, "--updates", str(updates), "--seed", str(seed), "--run-dir", str(run_dir)]
        environment = {**self.cluster.environment, **self.environment}
        with (self.scratch / f"straight{seed}.log").open("wb") as log:
            return subprocess.Popen([*line, "--devices", "1"], env=environment, stdout=log, stderr=log)

    def straight_dir(self, seed: int) -> Path:
        return self.scratch / f"straight{seed}"


def test_the_script_of_the_docs_survives_what_a_cluster_does_to_it(cluster: Cluster, tmp_path: Path, trials):
    jobs = Jobs(cluster, tmp_path)
    first = jobs.submit(NEVER)
    for seed, job in first.items():
        jobs.wait(job, lambda seed=seed: newest(jobs.run_dir(seed)) > 0, "PENDING", "CONFIGURING", "RUNNING")

    requeued, killed, late = (first[seed] for seed in SEEDS)
    cluster.run("scontrol", "requeue", requeued)
    os.kill(jobs.task(killed, rank=1), signal.SIGKILL)
    cluster.run("scontrol", "update", f"JobId={late}", f"TimeLimit={MINUTES // 2}")  # so the signal is due
    for _ in first:
        trials()
    for job in (late, requeued):
        jobs.await_requeue(job)
    jobs.wait(killed, lambda: cluster.state(killed) == "FAILED", "RUNNING", "COMPLETING")
    assert "another process of this run has died" in jobs.log(killed)
    for seed, job in ((SEEDS[0], requeued), (SEEDS[2], late)):
        jobs.await_progress(job, seed)
        jobs.cancel(job)
    assert jobs.restarts(killed) == 0  # what a job does about itself is not done to the whole array

    end = max(newest(jobs.run_dir(seed)) for seed in SEEDS) + 10
    straight = [jobs.train_straight(seed, end) for seed in SEEDS]
    last = jobs.submit(end, "--ntasks-per-node=1")  # on as many processes as one likes
    for seed, process in zip(SEEDS, straight, strict=True):
        jobs.complete(last[seed])
        assert process.wait() == 0
        assert_same_run(jobs.run_dir(seed), jobs.straight_dir(seed), end)
    lines = [line for job in (*first.values(), *last.values()) for line in jobs.log(job).splitlines()]
    assert len(lines) > 20
    assert [line for line in lines if RAW.search(line) and not line.startswith("orexis: ")] == []
