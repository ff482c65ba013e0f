"""FAULTS 1 and 2 on files alone: a process or the power ends at any file operation of a save, or at any moment."""

import ast
import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np
import pytest

from orexis.storage import checkpoint
from orexis.storage.artefact import read_artefact
from orexis.storage.files import remove_drafts
from tests.faults import children
from tests.faults.disk import Disk

STEP = 3


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    """A run folder with the checkpoints of steps 1 and 2 and the reward of step 2."""
    run_dir = tmp_path_factory.mktemp("base") / "run"
    run_dir.mkdir()
    for step in (1, 2):
        children.save_once(run_dir, step)
    return run_dir


@pytest.fixture(scope="module")
def operations(base, tmp_path_factory) -> list[str]:
    """What the save of step 3 does to files."""
    place = tmp_path_factory.mktemp("counted")
    shutil.copytree(base, place / "run")
    assert children.run(children.count_operations, place / "run", STEP, place / "answer") == 0
    log, _, unseen = (place / "answer").read_text().partition("\n\n")
    assert unseen == "", "the shim does not see everything that changes files"
    return log.split()


def loaded_step(run_dir: Path) -> int:
    """Returns the step that a resume would go on from, every byte of it checked."""

    def complain(message: str) -> None:
        raise AssertionError(message)  # a crash must leave nothing that looks damaged

    state, manifest = checkpoint.load_latest(run_dir / "checkpoints", children.TEMPLATE, complain)
    jax.tree.map(np.testing.assert_array_equal, state, children.make_state(manifest["step"]))
    return manifest["step"]


def reward_step(run_dir: Path) -> int:
    return read_artefact(run_dir / "reward").record["training"]["updates"]


def go_on(run_dir: Path) -> None:
    """What the next process does: it cleans up, saves, and leaves no trace of the crash."""
    remove_drafts(run_dir)
    children.save_once(run_dir, STEP + 1)
    assert loaded_step(run_dir) == reward_step(run_dir) == STEP + 1
    assert sorted(path.name for path in run_dir.iterdir()) == ["checkpoints", "reward"]
    assert all(path.name.startswith("step_") for path in (run_dir / "checkpoints").iterdir())


def test_the_shim_sees_a_save(operations):
    counts = {name: operations.count(name) for name in set(operations)}
    assert counts["write"] == 5  # state, manifest; arrays, record, card
    assert counts["fsync"] >= 5 + 4  # the files, two drafts and two parents
    assert counts["exchange"] == 1
    assert counts["rename"] == 2  # the new step in, the oldest out
    assert {"mkdir", "unlink", "rmdir", "open"} <= counts.keys()


def test_a_crash_at_every_file_operation_leaves_the_old_or_the_new(base, operations, tmp_path, trials):
    outcomes = []
    for number in range(1, len(operations) + 1):
        run_dir = Path(shutil.copytree(base, tmp_path / f"crash{number}"))
        assert children.run(children.crash_at, run_dir, STEP, number) == children.CRASHED
        trials()
        outcomes.append((loaded_step(run_dir), reward_step(run_dir)))
        go_on(run_dir)
        shutil.rmtree(run_dir)
    assert outcomes == sorted(outcomes)  # first the old, from some operation on the new
    assert set(outcomes) == {(2, 2), (3, 2), (3, 3)}


def test_a_crash_where_names_cannot_be_exchanged_never_costs_a_checkpoint(base, operations, tmp_path, trials):
    missing = 0
    for number in range(1, len(operations) + 4):
        run_dir = Path(shutil.copytree(base, tmp_path / f"crash{number}"))
        if children.run(children.crash_at_without_exchange, run_dir, STEP, number) != children.CRASHED:
            break
        trials()
        assert loaded_step(run_dir) in (2, 3)
        if (run_dir / "reward").exists():
            assert reward_step(run_dir) in (2, 3)
        else:
            missing += 1  # for an instant; a resume writes it again
        go_on(run_dir)
        shutil.rmtree(run_dir)
    assert missing == 1
    assert number > len(operations)


def kill_while_saving(run_dir: Path, rounds: int, seed: int, trial: Callable[[], None]) -> list[int]:
    """Starts and kills a process that saves as fast as it can; returns the newest step after each round."""
    noise = random.Random(seed)
    run_dir.mkdir()
    children.save_once(run_dir, 1)
    found = [1]
    for _ in range(rounds):
        process = children.start(children.save_forever, run_dir)
        while checkpoint.steps(run_dir / "checkpoints")[-1] == found[-1]:
            assert process.is_alive(), "it ended by itself"
            time.sleep(0.002)
        time.sleep(noise.random() * 0.02)  # a save takes some milliseconds: any moment of one
        process.kill()
        process.join(60)
        assert process.exitcode == -signal.SIGKILL
        trial()
        found.append(loaded_step(run_dir))
        assert reward_step(run_dir) <= found[-1]  # whole, of this step or an earlier one
    return found


def test_kill_9_while_saving(tmp_path, trials):
    found = kill_while_saving(tmp_path / "run", rounds=12, seed=1, trial=trials)
    assert found == sorted(set(found))  # every round got on


@pytest.mark.slow
def test_kill_9_while_saving_many_times(tmp_path, trials):
    found = kill_while_saving(tmp_path / "run", rounds=200, seed=2, trial=trials)
    assert found == sorted(set(found))


@pytest.fixture(scope="module")
def recorded(base, tmp_path_factory) -> tuple[Path, list[tuple]]:
    """The folder before the save of step 3, and every operation of that save."""
    place = tmp_path_factory.mktemp("recorded")
    run_dir = Path(shutil.copytree(base, place / "run"))
    assert children.run(children.record_save, run_dir, STEP, place / "answer") == 0
    shutil.rmtree(run_dir)
    shutil.copytree(base, run_dir)
    return run_dir, ast.literal_eval((place / "answer").read_text())


@pytest.mark.parametrize("kind", ["forgetful", "hasty", "journaled"])
def test_a_power_cut_after_every_file_operation_leaves_the_old_or_the_new(recorded, tmp_path, kind, trials):
    run_dir, operations = recorded
    disk = Disk(run_dir, kind)
    outcomes = []
    for number, operation in enumerate((("nothing",), *operations)):
        if number:
            disk.apply(operation)
        disk.leave(tmp_path / f"cut{number}")
        trials()
        outcomes.append((loaded_step(tmp_path / f"cut{number}"), reward_step(tmp_path / f"cut{number}")))
        shutil.rmtree(tmp_path / f"cut{number}")
    assert outcomes == sorted(outcomes)
    assert set(outcomes) == {(2, 2), (3, 2), (3, 3)}


def test_the_disk_forgets_what_was_not_flushed(tmp_path):
    # Otherwise the test above could not fail.
    create = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    stages: list[
        tuple[list[tuple], dict, dict, dict]
    ] = [  # operations, then what forgetful, hasty, journaled have left
        ([("opened", 9, "a", create), ("write", 9, b"x"), ("opened", 8, ".", os.O_RDONLY)], {}, {}, {"a": b""}),
        ([("fsync", 8)], {"a": b""}, {"a": b""}, {"a": b""}),
        ([("fsync", 9), ("rename", "a", "b")], {"a": b"x"}, {"a": b"x"}, {"b": b"x"}),
        ([("fsync", 8), ("remove", "b")], {"b": b"x"}, {}, {}),
        ([("fsync", 8)], {}, {}, {}),
    ]
    for column, kind in enumerate(("forgetful", "hasty", "journaled"), start=1):
        root = tmp_path / kind
        root.mkdir()
        disk = Disk(root, kind)
        for number, stage in enumerate(stages):
            for name, *rest in stage[0]:
                disk.apply((name, *(str(root / x) if isinstance(x, str) else x for x in rest)))
            disk.leave(tmp_path / f"{kind}{number}")
            left = {path.name: path.read_bytes() for path in (tmp_path / f"{kind}{number}").iterdir()}
            assert left == stage[column], (kind, number)
