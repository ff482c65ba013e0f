"""A soak: one training that is halted, ended and killed at random, again and again, and looked at meanwhile.

python -m tests.faults.soak --seconds 3630 --farthest 2000 --out results/soak/hour.json

Every process trains for a random number of updates. On the way it is halted (SIGSTOP, SIGCONT), the doctor looks at
its folder, a second process tries to have the folder, and the reward is evaluated. Then it is ended (SIGTERM, Ctrl-C)
or killed, and the next one resumes. Beside it the same run is trained by one process that nothing disturbs: at the end
both must have the same bits. No verdict depends on how long anything takes.
"""

import argparse
import collections
import contextlib
import dataclasses
import itertools
import json
import os
import random
import signal
import statistics
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path

from orexis.errors import OK, USAGE
from orexis.platform import versions
from orexis.storage import lock
from orexis.storage.files import write_json
from orexis.tools.doctor import examine
from tests.faults import children
from tests.faults.runs import CODES, NEVER, Trainer, assert_same_run, frozen, newest, rows_written
from tests.training.tiny import with_updates

INTERVAL = 20  # updates between two checkpoints
WARM_UP = 200  # updates of a process before its memory counts
SAMPLES = 20  # readings of the memory whose median the later ones are compared with
TINY = with_updates(NEVER, checkpoint_every=INTERVAL)
PAUSE_S = 0.05  # between two looks at the run
STARTING = (signal.SIGKILL, signal.SIGTERM)
"""What ends a process that starts. Not Ctrl-C: in the background of a shell it is ignored at first."""


@dataclasses.dataclass
class Memory:
    """The resident memory of one process, read now and then after its warm-up."""

    readings: list[int] = dataclasses.field(default_factory=list)  # pages

    def read(self, process: BaseProcess) -> None:
        with contextlib.suppress(OSError, IndexError):  # it has just ended
            self.readings.append(int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]))

    def growth(self) -> float | None:
        """Returns by what share the highest reading is above the first few's median; None where there are too few."""
        if len(self.readings) < 2 * SAMPLES:
            return None
        return round(max(self.readings[SAMPLES:]) / statistics.median(self.readings[:SAMPLES]) - 1, 4)

    def megabytes(self) -> float:
        return statistics.median(self.readings) * os.sysconf("SC_PAGE_SIZE") / 1e6


@dataclasses.dataclass
class Soak:
    """One run folder and what was done to it."""

    trainer: Trainer
    run_dir: Path
    noise: random.Random
    counts: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    memories: list[Memory] = dataclasses.field(default_factory=list)
    evaluation: BaseProcess | None = None

    def disturb(self, goals: Iterable[int]) -> int:
        """Starts the run, ends it and starts it again; returns the last update that was saved.

        goals: how many updates each process is to make at least before it is ended; 0: it is met while it starts.
        """
        self.run_dir.mkdir()
        for goal in goals:
            process = self.trainer.start(self.run_dir, NEVER)
            self.counts["processes"] += 1
            self._watch(process, newest(self.run_dir), goal)
            time.sleep(PAUSE_S * self.noise.random())
            self._end(process, tuple(CODES) if goal else STARTING)
            self._examine("the doctor, of an ended run")
        self._join_evaluation()
        return newest(self.run_dir)

    def _watch(self, process: BaseProcess, saved: int, goal: int) -> None:
        """Waits for the goal; at each new checkpoint something may happen to the process or its folder."""
        memory, looked_at = Memory(), saved
        while newest(self.run_dir) < saved + goal or 0 < len(memory.readings) < 2 * SAMPLES:
            assert process.is_alive(), f"it ended by itself, with code {process.exitcode}"
            time.sleep(PAUSE_S)
            now = newest(self.run_dir)
            if now > saved + WARM_UP:
                memory.read(process)
            chance = self.noise.random() if now > looked_at else 1.0
            looked_at = now
            if chance < 0.1:
                self._halt(process)
            elif chance < 0.2:
                self._examine("the doctor, of a run that trains")
            elif chance < 0.25:
                self._evaluate()
        if memory.readings:
            self.memories.append(memory)

    def _halt(self, process: BaseProcess) -> None:
        children.send(process, signal.SIGSTOP)
        time.sleep(self.noise.random())
        if lock.is_held(self.run_dir):
            refused = children.run(children.claim_and_wait, self.run_dir, self.run_dir.with_name("claimed"))
            assert refused == USAGE, refused
            self.counts["second processes refused"] += 1
        self._examine("the doctor, of a halted run")
        children.send(process, signal.SIGCONT)
        self.counts["SIGSTOP and SIGCONT"] += 1

    def _evaluate(self) -> None:
        """Starts an evaluation beside the training, unless one is under way."""
        if (self.evaluation is None or not self.evaluation.is_alive()) and (self.run_dir / "reward").exists():
            self._join_evaluation()
            self.evaluation = children.start(children.evaluate_run, self.run_dir, 2)

    def _join_evaluation(self) -> None:
        if self.evaluation is not None:
            self.evaluation.join()
            assert self.evaluation.exitcode == OK, self.evaluation.exitcode
            self.counts["evaluations"] += 1
            self.evaluation = None

    def _examine(self, name: str) -> None:
        if (self.run_dir / "config.json").exists():  # else it had not come that far
            diagnosis = examine(self.run_dir)
            assert diagnosis.code == OK, diagnosis.lines()
            self.counts[name] += 1

    def _end(self, process: BaseProcess, signals: tuple[signal.Signals, ...]) -> None:
        """Ends the process, from a halt now and then, and sees what it leaves."""
        chosen = self.noise.choice(signals)
        halted = self.noise.random() < 0.2
        if halted:
            children.send(process, signal.SIGSTOP)
        children.send(process, chosen)
        if halted:
            children.send(process, signal.SIGCONT)
        process.join()
        assert process.exitcode in (CODES[chosen], -chosen), process.exitcode  # -15: before it listened to signals
        self.counts[chosen.name] += 1
        if newest(self.run_dir):
            assert max(rows_written(self.run_dir), default=0) - newest(self.run_dir) <= INTERVAL


@contextlib.contextmanager
def undisturbed(soak: Soak, run_dir: Path, memory: Memory, end: Path) -> Iterator[None]:
    """Trains the same run beside the soak, until the file `end` says how far; reads its memory now and then."""
    work = children.train_beside, soak.trainer.program, soak.run_dir, end, run_dir, soak.trainer.config
    process = children.start(*work)
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(PAUSE_S * 10):
            if run_dir.exists() and newest(run_dir) > WARM_UP:
                memory.read(process)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
        process.join()
        assert process.exitcode == OK, process.exitcode
    finally:
        ended.set()
        watcher.join()
        process.kill()


def random_goals(noise: random.Random, farthest: int, seconds: float, ended: threading.Event) -> Iterator[int]:
    """Returns goals for so long: every seventh 0, of the others as many between 10 and 100 as between 100 and 1000."""
    end = time.monotonic() + seconds
    for number in itertools.count(1):
        if time.monotonic() > end or ended.is_set():
            return
        yield int(farthest ** noise.random()) if number % 7 else 0


def run_soak(folder: Path, seed: int, goals: Iterable[int]) -> dict:
    """Returns the figures of a soak. Raises AssertionError where anything is not as it must be, the memory apart."""
    folder.mkdir(exist_ok=True)
    trainer = frozen(TINY, folder)
    soak = Soak(trainer, folder / "disturbed", random.Random(seed))
    straight, memory, told = folder / "straight", Memory(), folder / "end"
    start = time.monotonic()
    with undisturbed(soak, straight, memory, told):
        saved = soak.disturb(goals)
        end = (saved // TINY.log_every + 2) * TINY.log_every  # whole rows, where the other can be stopped
        took = time.monotonic() - start
        write_json(told, end)
        trainer.finish(soak.run_dir, end)
    assert_same_run(soak.run_dir, straight, end)
    growths = [growth for each in soak.memories if (growth := each.growth()) is not None]
    sizes = sorted(each.megabytes() for each in soak.memories)
    return {
        "minutes": round(took / 60, 1),
        "updates": end,
        "counts": dict(sorted(soak.counts.items())),
        "same_bits": True,
        "disturbed": {
            "processes_measured": len(growths),
            "memory_readings": sum(len(each.readings) for each in soak.memories),
            "largest_growth": max(growths, default=None),
            "megabytes": [round(size, 1) for size in (*sizes[:1], *sizes[-1:])],  # lowest, highest
        },
        "undisturbed": {
            "memory_readings": len(memory.readings),
            "growth": memory.growth(),
            "megabytes": round(memory.megabytes(), 1),
        },
        "seed": seed,
        "versions": versions(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--farthest", type=int, default=5_000)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: ended.set())  # the figures until then
    goals = random_goals(random.Random(options.seed), options.farthest, options.seconds, ended)
    with tempfile.TemporaryDirectory() as folder:
        figures = run_soak(Path(folder), options.seed, goals)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
