"""A Slurm of one node, as one finds it on a cluster: authentication, controller and node, on loopback, in a folder."""

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

SBIN = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))
"""Debian puts the daemons where only root looks."""
DAEMONS = ("munged", "slurmctld", "slurmd")
COORDINATORS = 61440
"""JAX's coordinator under Slurm listens on this port, plus the job's number modulo 4096."""
CONFIG = """
# cred_expire: a job that is requeued waits as long, else the node takes it for the one that it has just ended.
ClusterName=orexis
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=30
CredType=cred/munge
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
MpiDefault=none
FirstJobId={first_job}
KillWait=300
MessageTimeout=60
SlurmdTimeout=600
InactiveLimit=0
MinJobAge=86400
ReturnToService=2
NodeName=localhost NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> list[str]:
    """Returns which of the programs that a cluster needs are not installed."""
    return [name for name in (*DAEMONS, "sbatch", "srun", "scontrol") if shutil.which(name, path=SBIN) is None]


class Cluster:
    """A running Slurm. Its commands are called by name."""

    def __init__(self, folder: Path, conf: Path):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SLURM_")}
        self.folder, self.conf = folder, conf
        self.environment = {**kept, "PATH": SBIN, "SLURM_CONF": str(conf)}

    def run(self, *command: str, **more: str) -> str:
        """Returns what a command of Slurm prints."""
        done = subprocess.run(
            command, env={**self.environment, **more}, cwd=self.folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout.strip()

    def answers(self, *command: str) -> str | None:
        """Returns what a command of Slurm prints; None if it fails."""
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else None

    def show(self, job: str) -> dict[str, str]:
        """Returns what the controller knows about a job (or an element of an array), by name."""
        words = self.run("scontrol", "--oneliner", "show", "job", job).split()
        return dict(word.split("=", 1) for word in words if "=" in word)

    def state(self, job: str) -> str:
        return self.show(job)["JobState"]

    def processes(self, **marks: str) -> list[int]:
        """Returns the processes of this cluster and its jobs, in whose environment is its config, and `marks` too."""
        wanted = {f"{name}={value}".encode() for name, value in {"SLURM_CONF": str(self.conf), **marks}.items()}
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):  # it has just ended, or is somebody else's
                if wanted <= set(path.read_bytes().split(b"\0")):
                    found.append(int(path.parent.name))
        return sorted(found)

    def explain(self) -> str:
        """Returns the ends of the daemons' logs."""
        return "\n".join(f"== {path.name}\n{path.read_text()[-3000:]}" for path in sorted(self.folder.glob("*.out")))


def free_ports(number: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def first_free_job(jobs: int) -> int:
    """Returns a job number such that it and the next ones' coordinators find their ports free."""
    for first in range(1 + os.getpid() % 3000, 4096 - jobs):
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            for job in range(first, first + jobs):
                stack.enter_context(socket.socket()).bind(("127.0.0.1", COORDINATORS + job))
            return first
    raise AssertionError("no ports are free for the coordinators")


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Cluster]:
    """Starts a cluster in the folder and stops all that it started."""
    conf, ports = folder / "slurm.conf", free_ports(2)
    for name in ("state", "spool"):
        (folder / name).mkdir()
    conf.write_text(
        CONFIG.format(
            folder=folder, user=getpass.getuser(), controller=ports[0], node=ports[1], first_job=first_free_job(32)
        )
    )
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    cluster = Cluster(folder, conf)
    munge = [f"--{name}={folder / ('munge.' + name)}" for name in ("socket", "pid-file", "log-file", "seed-file")]
    daemons: list[subprocess.Popen] = []
    try:
        daemons.append(_start(cluster, "munged", "--foreground", "--force", f"--key-file={key}", *munge))
        _wait(cluster, daemons, lambda: (folder / "munge.socket").exists())
        daemons.append(_start(cluster, "slurmctld", "-D", "-f", str(conf)))
        daemons.append(_start(cluster, "slurmd", "-D", "-N", "localhost", "-f", str(conf)))
        _wait(cluster, daemons, lambda: cluster.answers("sinfo", "--noheader", "--format=%T") == "idle")
        yield cluster
    finally:
        _stop(cluster, daemons)


def _start(cluster: Cluster, *command: str) -> subprocess.Popen:
    output = (cluster.folder / f"{command[0]}.out").open("wb")
    with output:
        return subprocess.Popen(
            command, env=cluster.environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=cluster.folder
        )


def _wait(cluster: Cluster, daemons: list[subprocess.Popen], until: Callable[[], bool]) -> None:
    while not until():
        ended = [daemon.args for daemon in daemons if daemon.poll() is not None]
        assert not ended, (ended, cluster.explain())
        time.sleep(0.2)


def _stop(cluster: Cluster, daemons: list[subprocess.Popen]) -> None:
    """Ends whatever the cluster started: the daemons, then, by their numbers, what jobs may have left."""
    for daemon in reversed(daemons):
        daemon.terminate()
    for daemon in daemons:
        try:
            daemon.wait(30)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()
    for pid in cluster.processes():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
