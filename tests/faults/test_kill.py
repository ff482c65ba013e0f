"""FAULTS 1, 15 and 19: a run that is killed again and again ends as if nothing had happened."""

import dataclasses
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from orexis.config import Learn
from orexis.errors import OK
from orexis.storage import checkpoint
from orexis.storage.reading import unpack_arrays
from orexis.tools.doctor import examine
from tests.faults import children
from tests.faults.domains import DOMAINS, small_run
from tests.faults.runs import CODES, NEVER, Trainer, assert_same_run, frozen, newest, rows_written
from tests.training.tiny import with_updates

INTERVAL = 2  # updates between two checkpoints
TINY = with_updates(NEVER, checkpoint_every=INTERVAL)


@pytest.fixture(scope="module")
def trainer(tmp_path_factory) -> Trainer:
    return frozen(TINY, tmp_path_factory.mktemp("tiny"))


def kill_run(
    trainer: Trainer,
    run_dir: Path,
    rounds: int,
    seed: int,
    signals: tuple[signal.Signals, ...] = (signal.SIGKILL,),
    trial: Callable[[], None] = lambda: None,
) -> int:
    """Starts a run and ends it at a random moment, `rounds` times; returns the last update that was saved."""
    noise = random.Random(seed)
    run_dir.mkdir()
    for number in range(rounds):
        saved = newest(run_dir)
        process = trainer.start(run_dir, NEVER)
        goal = saved + noise.randrange(1, 12) if number % 5 else saved  # every fifth is met while it starts or compiles
        while newest(run_dir) < goal:
            assert process.is_alive(), "it ended by itself"
            time.sleep(0.002)
        time.sleep(noise.random() * (0.02 if number % 5 else 1.0))  # an update with its save takes some milliseconds
        chosen = noise.choice(signals)
        children.send(process, chosen)
        process.join(120)
        assert process.exitcode == CODES[chosen] or (goal == saved and process.exitcode in (-15, 1)), process.exitcode
        trial()
        if not (run_dir / "config.json").exists():
            continue  # it had not come that far
        diagnosis = examine(run_dir)
        assert diagnosis.code == OK, diagnosis.lines()  # a kill leaves nothing that looks damaged
        assert newest(run_dir) >= goal
        if newest(run_dir):
            assert max(rows_written(run_dir), default=0) - newest(run_dir) <= INTERVAL  # at most one interval is lost
    return newest(run_dir)


def finish_and_compare(trainer: Trainer, folder: Path, saved: int) -> None:
    """Lets the run end in peace a little later, and compares it with one that was never disturbed."""
    end = saved + 5
    for name in ("killed", "straight"):
        trainer.finish(folder / name, end)
    assert_same_run(folder / "killed", folder / "straight", end)


@pytest.mark.parametrize(
    "learn", ["reward", *(pytest.param(learn, marks=pytest.mark.slow) for learn in ("rl2", "maml"))]
)
def test_a_run_that_is_killed_twice(tmp_path, trials, learn: Learn):
    trainer = Trainer(dataclasses.replace(TINY, meta=dataclasses.replace(TINY.meta, learn=learn)))
    finish_and_compare(trainer, tmp_path, kill_run(trainer, tmp_path / "killed", 2, seed=6, trial=trials))


@pytest.mark.slow
def test_a_run_that_is_killed_fifty_times(tmp_path, trainer, trials):
    finish_and_compare(trainer, tmp_path, kill_run(trainer, tmp_path / "killed", 50, seed=1, trial=trials))


@pytest.mark.slow
def test_a_run_that_is_stopped_and_killed_in_turn(tmp_path, trainer, trials):
    finish_and_compare(trainer, tmp_path, kill_run(trainer, tmp_path / "killed", 8, 2, tuple(CODES), trials))


def ages_at(run_dir: Path, step: int):
    """Returns how many windows each lifetime has lived at `step`."""
    path = checkpoint.place_of(run_dir / "checkpoints", step) / checkpoint.STATE
    return unpack_arrays(path.read_bytes(), path)[".lifetimes.age"]


@pytest.mark.slow
@pytest.mark.parametrize("domain", DOMAINS)
def test_in_every_domain_going_on_changes_no_bit(tmp_path, domain: str, trials):
    config = small_run(domain)
    trainer = frozen(config, tmp_path)
    straight = tmp_path / "straight"
    every_step = dataclasses.replace(config, checkpoint_every=1)
    assert children.run(children.train_frozen_and_keep_all, trainer.program, straight, every_step) == OK

    ages = {step: ages_at(straight, step) for step in range(2, config.updates)}
    in_the_middle = [step for step in ages if (ages[step] > 0).all()]
    at_an_end = [step for step in ages if (ages[step] == 0).any()]
    for first in (in_the_middle[0], at_an_end[0], at_an_end[-1]):
        trainer.finish(tmp_path / f"until{first}", first)
        trainer.finish(tmp_path / f"until{first}", config.updates)
        assert_same_run(tmp_path / f"until{first}", straight, config.updates)
        trials()

    (tmp_path / "kills").mkdir()
    finish_and_compare(
        trainer, tmp_path / "kills", kill_run(trainer, tmp_path / "kills" / "killed", 2, 3, trial=trials)
    )
