"""Which processes make up a run, from the command line or from Slurm, and how they meet. Needs no JAX."""

import contextlib
import dataclasses
import os
import re
import socket
import time

from orexis.errors import MachineError, UsageError

_HELLO = b"orexis: process %d of %d is here\n"
_GO = b"orexis: all are here\n"
_GREETING_S = 5.0  # for one who has connected to say who it is
_AGAIN_S = 0.2  # between two attempts to reach the first process


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
