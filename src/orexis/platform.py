"""Sets JAX up for this machine, before its first use: one device a core, a private compile cache, and which processes
make up a run, from the command line or from Slurm, and how they meet. Needs no JAX itself."""

import contextlib
import dataclasses
import functools
import gc
import os
import platform
import re
import socket
import time
from importlib import metadata
from pathlib import Path

from orexis.errors import MachineError, UsageError
from orexis.interop.forks import jax_has_started
from orexis.interop.xla_flags import known_flags

XLA_FLAGS = {
    # Ops on a few lifetimes are too small for threads; the cores are used as devices instead.
    "--xla_cpu_multi_thread_eigen": "false",
    # An update is thousands of small ops, and half of its compile time was spent on passes that do not make it faster.
    "--xla_disable_hlo_passes": "while-loop-invariant-code-motion,simplify-while-loops",
    "--xla_backend_optimization_level": "1",
    # Devices wait for each other at every update: on a crowded machine longer than the 40 s after which XLA aborts.
    "--xla_cpu_collective_call_terminate_timeout_seconds": "600",
}
"""What is added to the environment's XLA_FLAGS, unless it has its own value or XLA does not know the flag."""

_HELLO = b"orexis: process %d of %d is here\n"
_GO = b"orexis: all are here\n"
_GREETING_S = 5.0  # for one who has connected to say who it is
_AGAIN_S = 0.2  # between two attempts to reach the first process


_FOUND: dict[str, str | None] = {}
"""The environment variables that `prepare_jax` has changed, as they were before; None: not set."""


def cache_folder() -> Path:
    """Returns the user's private folder for what can be computed again; it may not exist yet."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "orexis"


def compile_cache() -> Path:
    """Returns the folder for compiled programs in it, created with mode 0700."""
    folder = cache_folder() / "compiled"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def prepare_jax(num_devices: int | None = None) -> None:
    """Configures JAX. Call before anything touches a device; `num_devices` defaults to one a core.

    Does nothing once JAX has started: then its devices are what they are.
    """
    if jax_has_started():
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    num_devices = num_devices or cores
    _FOUND.update({name: os.environ.get(name) for name in ("XLA_FLAGS", "NPROC")})
    flags = os.environ.get("XLA_FLAGS", "")
    ours = XLA_FLAGS | {"--xla_force_host_platform_device_count": str(num_devices)}
    added = known_flags([f"{name}={value}" for name, value in ours.items() if name not in flags], cache_folder())
    os.environ["XLA_FLAGS"] = " ".join([flags, *added]).strip()
    # One thread a device: else each of two processes with a device of its own would use all cores, against the other.
    os.environ.setdefault("NPROC", str(num_devices))

    import jax

    try:
        jax.config.update("jax_compilation_cache_dir", str(compile_cache()))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
    except OSError:
        return  # a home that cannot be written to costs a recompilation, nothing else


def child_environment() -> dict[str, str]:
    """Returns the environment as `prepare_jax` found it: a process that we start sets JAX up for itself, with as many
    devices as it was asked for."""
    found = {name: value for name, value in os.environ.items() if name not in _FOUND}
    return found | {name: value for name, value in _FOUND.items() if value is not None}


def freeze_gc() -> None:
    """Lets the garbage collector forget all there is: call it once, when everything is compiled.

    Tracing leaves objects by the hundred thousand, and walking them again and again takes a core from the devices.
    """
    gc.collect()
    gc.freeze()


def require_memory(needed: int, what: str, advice: str) -> None:
    """Raises UsageError if `what` takes more bytes than this machine has: better now than in an hour."""
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > there:
        raise UsageError(
            f"{what} would take {needed / 1e9:.3g} GB of memory and this machine has {there / 1e9:.3g}; {advice}"
        )


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


@dataclasses.dataclass(frozen=True)
class Processes:
    """How this process finds the others."""

    coordinator: str  # HOST:PORT of the first
    count: int
    index: int
    patience_s: int  # how long to wait for the others to arrive
    bind: bool = True  # whether the first listens on that address alone; under Slurm on all of its node's

    @property
    def place(self) -> tuple[str, int]:
        """Host and port of the first."""
        host, _, port = self.coordinator.rpartition(":")
        return host.strip("[]"), int(port)


def find_processes(coordinator: str | None, count: int | None, index: int | None, patience_s: int) -> Processes | None:
    """Returns what the command line or Slurm says, or None for a run of one process. Raises UsageError.

    Under Slurm only a step of several tasks counts (`srun -n P`), not a shell inside an allocation.
    """
    if patience_s < 1:
        raise UsageError(f"--join-timeout must be at least 1 second, not {patience_s}")
    given = (coordinator, count, index)
    if all(value is None for value in given):
        tasks = int(os.environ.get("SLURM_STEP_NUM_TASKS", "1"))
        if tasks == 1:
            return None
        return Processes(_slurm_coordinator(), tasks, int(os.environ["SLURM_PROCID"]), patience_s, bind=False)
    if coordinator is None or count is None or index is None:
        raise UsageError("--coordinator, --num-processes and --process-id belong together: give all three or none")
    if not re.fullmatch(r"(\[[0-9a-fA-F:]+\]|[^:\s]+):\d{1,5}", coordinator):
        raise UsageError(f"--coordinator must be HOST:PORT of the first process, not {coordinator!r}")
    if count < 1 or not 0 <= index < count:
        raise UsageError(f"--process-id must be between 0 and --num-processes - 1, not {index} of {count}")
    return Processes(coordinator, count, index, patience_s)


def _slurm_coordinator() -> str:
    """Returns the first node of a Slurm step with a port of the job's own, both as JAX chooses them.

    Nodes are listed like `node1`, `node1,other` or `node[001-004,007]`.
    """
    nodes = re.match(r"([^,\[]+)(?:\[(\d+))?", os.environ["SLURM_STEP_NODELIST"])
    assert nodes is not None, "Slurm names no node"
    port = os.environ.get("JAX_COORDINATOR_PORT") or 61440 + int(os.environ["SLURM_JOB_ID"]) % 4096
    return f"{nodes[1]}{nodes[2] or ''}:{port}"


def meet(processes: Processes) -> None:
    """Returns when every process of the run is there. Raises MachineError if one is not, in time.

    The first waits for the others where JAX's coordinator will listen, and lets all of them go at once. Plain sockets,
    before JAX is started: it would abort a process that waits in vain, or whose address is wrong, without a sentence.
    """
    host, port = processes.place
    deadline = time.monotonic() + processes.patience_s
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise MachineError(
            f"{host}, where the first process of the run should be, is not known here ({error.strerror}); "
            "name a host that every process can reach, with --coordinator HOST:PORT"
        ) from error
    if processes.index:
        _go_to_the_first(processes, deadline)
        return
    family, _, _, _, address = addresses[0]
    try:
        if processes.bind:
            server = socket.create_server(address, family=family)
        elif socket.has_dualstack_ipv6():
            server = socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
        else:
            server = socket.create_server(("", port))
    except OSError as error:
        raise MachineError(
            f"the first process of the run cannot listen on {processes.coordinator} "
            f"({os.strerror(error.errno or 0)}); "
            "name an address of this machine and a free port, with --coordinator HOST:PORT"
        ) from error
    with server:
        _wait_for_the_others(server, processes, deadline)


def _wait_for_the_others(server: socket.socket, processes: Processes, deadline: float) -> None:
    expected = {_HELLO % (index, processes.count): index for index in range(1, processes.count)}
    arrived: dict[int, socket.socket] = {}
    with contextlib.ExitStack() as stack:
        while len(arrived) < len(expected):
            absent = sorted(set(expected.values()) - set(arrived))
            server.settimeout(_time_left(processes, deadline, f"process {absent[0]} did not come"))
            with contextlib.suppress(OSError):
                peer = stack.enter_context(server.accept()[0])
                peer.settimeout(_GREETING_S)
                index = expected.get(_read_line(peer))
                if index is not None:  # else it is none of ours
                    arrived[index] = peer
        for peer in arrived.values():
            with contextlib.suppress(OSError):
                peer.sendall(_GO)
        for peer in arrived.values():  # who closes first keeps the port for a while: let that be the others
            with contextlib.suppress(OSError):
                peer.recv(1)


def _go_to_the_first(processes: Processes, deadline: float) -> None:
    missing = f"the first did not let this one, {processes.index}, begin"
    while True:
        left = _time_left(processes, deadline, missing)
        with contextlib.suppress(OSError), socket.create_connection(processes.place, left) as first:
            first.settimeout(left)
            first.sendall(_HELLO % (processes.index, processes.count))
            if _read_line(first) == _GO:
                return
        time.sleep(_AGAIN_S)


def _time_left(processes: Processes, deadline: float, missing: str) -> float:
    """Returns the seconds to the deadline. Raises MachineError if there are none."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise MachineError(
            f"the {processes.count} processes of the run did not find each other at {processes.coordinator} within "
            f"{processes.patience_s} s: {missing}; start all of them, with the same --coordinator and --num-processes"
        )
    return left


def _read_line(peer: socket.socket) -> bytes:
    """Returns what the peer says, up to the end of a line, of the connection or of patience."""
    line = b""
    while not line.endswith(b"\n") and len(line) < 100:
        more = peer.recv(100)
        if not more:
            break
        line += more
    return line
