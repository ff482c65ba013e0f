"""`orexis train --seeds`: each seed its own run, signals and exit codes of the group, Slurm arrays."""

import dataclasses
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from orexis.cli import main
from orexis.commands.train import ARRAY_TASK, Train, pick_seed
from orexis.errors import BAD_DATA, OK, PREEMPTED, USAGE, BadDataError, MachineError, UsageError
from orexis.storage import checkpoint
from orexis.tools import seeds as seeds_module
from orexis.tools.seeds import train_seeds
from orexis.training import setup
from tests.tools.test_runs import write_run
from tests.training.test_train import interfere
from tests.training.tiny import TINY, digest_of, remembered_engine, rows_of, train_undisturbed


def runs_in(folder: Path, *seeds: int):
    return [(folder / f"seed{seed}", dataclasses.replace(TINY, seed=seed)) for seed in seeds]


@pytest.fixture(autouse=True)
def no_array(monkeypatch):
    monkeypatch.delenv(ARRAY_TASK, raising=False)


@pytest.fixture
def compiled_once(monkeypatch):
    monkeypatch.setattr(setup, "make_engine", remembered_engine)


@pytest.fixture(scope="module")
def straight(tmp_path_factory) -> dict[int, Path]:
    """Runs of seeds 0 and 1 that were trained alone and undisturbed."""
    folder = tmp_path_factory.mktemp("straight")
    return {config.seed: train_undisturbed(run_dir, config) for run_dir, config in runs_in(folder, 0, 1)}


def assert_same_runs(folder: Path, straight: dict[int, Path]) -> None:
    for seed, alone in straight.items():
        assert digest_of(folder / f"seed{seed}", 12) == digest_of(alone, 12)
        assert rows_of(folder / f"seed{seed}") == rows_of(alone)


def test_a_group_is_its_runs_one_by_one_and_a_summary(tmp_path, straight, compiled_once, capsys):
    assert train_seeds(runs_in(tmp_path, 0, 1), resume=False) == OK
    assert_same_runs(tmp_path, straight)
    said = capsys.readouterr().out
    assert f"seed 1, 2 of 2, in {tmp_path / 'seed1'}" in said
    assert "bandit, 12 updates, seeds 0 1: mean and 95 % interval over seeds" in said
    # With --seeds, --run-dir is the folder of all: what each says of going on must be right of the whole command.
    assert said.count("the same command with `--updates 24 --resume` goes on") == 2
    assert "--run-dir" not in said


@pytest.mark.parametrize("at_update", [5, 17])  # in the first run, in the second
def test_a_signal_saves_the_run_that_trains_and_resume_goes_on_with_the_rest(
    tmp_path, straight, compiled_once, capsys, at_update: int
):
    with pytest.MonkeyPatch.context() as patch:
        updates = interfere(patch, at_update, lambda: os.kill(os.getpid(), signal.SIGTERM))
        assert train_seeds(runs_in(tmp_path, 0, 1), resume=False) == PREEMPTED
    stopped = 0 if at_update < 12 else 1
    assert checkpoint.steps(tmp_path / f"seed{stopped}" / "checkpoints")[-1] == len(updates) - 12 * stopped
    assert (tmp_path / "seed1").exists() == (stopped == 1)
    assert f"stopped in seed {stopped}: the same command with --resume goes on" in capsys.readouterr().out
    made = []
    with pytest.MonkeyPatch.context() as patch:
        made = interfere(patch, -1, lambda: None)
        assert train_seeds(runs_in(tmp_path, 0, 1), resume=True) == OK
    assert len(made) == 24 - len(updates)  # nothing is trained twice
    assert ("seed 0, 1 of 2" in (said := capsys.readouterr().out) and "finished before" in said) == (stopped == 1)
    assert_same_runs(tmp_path, straight)


def fake_train(monkeypatch, *ends):
    """Lets runs end as told, an exit code or an exception each; returns the seeds that were trained."""
    trained, left = [], list(ends)

    def train(run_dir, config, resume, devices, log):
        trained.append(config.seed)
        end = left.pop(0)
        if isinstance(end, Exception):
            raise end
        write_run(run_dir, step=config.updates, config=config)
        return end

    monkeypatch.setattr(seeds_module, "train", train)
    return trained


def test_a_run_that_diverges_does_not_keep_the_others_from_training(tmp_path, monkeypatch, capsys):
    trained = fake_train(monkeypatch, OK, BadDataError("it was not finite"), OK)
    assert train_seeds(runs_in(tmp_path, 0, 1, 2), resume=False) == BAD_DATA
    assert trained == [0, 1, 2]
    said = capsys.readouterr()
    assert said.err == "orexis: seed 1: it was not finite\n"
    assert "seeds 0 2: mean" in said.out


def test_a_full_disk_ends_the_group(tmp_path, monkeypatch):
    trained = fake_train(monkeypatch, OK, MachineError("no space"), OK)
    with pytest.raises(MachineError):
        train_seeds(runs_in(tmp_path, 0, 1, 2), resume=False)
    assert trained == [0, 1]


def test_what_would_be_refused_later_is_refused_before_the_first(tmp_path, monkeypatch):
    trained = fake_train(monkeypatch)
    write_run(tmp_path / "seed2", config=dataclasses.replace(TINY, seed=2))
    with pytest.raises(UsageError, match="seed2 holds a run already; add --resume"):
        train_seeds(runs_in(tmp_path, 0, 1, 2), resume=False)
    write_run(tmp_path / "other" / "seed1", config=dataclasses.replace(TINY, seed=7))
    with pytest.raises(UsageError, match=r"cannot resume .*seed1 with another config: seed: 7 → 1"):
        train_seeds(runs_in(tmp_path / "other", 0, 1), resume=True)
    assert trained == []


def test_more_updates_are_trained_where_all_were_finished(tmp_path, monkeypatch):
    for seed in (0, 1):
        write_run(tmp_path / f"seed{seed}", 12 + seed, config=dataclasses.replace(TINY, seed=seed))
    runs = [(run_dir, dataclasses.replace(config, updates=13)) for run_dir, config in runs_in(tmp_path, 0, 1)]
    trained = fake_train(monkeypatch, PREEMPTED)
    monkeypatch.setattr(seeds_module, "train", lambda *told, log: trained.append(told[1].seed) or OK)
    assert train_seeds(runs, resume=True) == OK
    assert trained == [0]


def test_a_signal_between_two_runs_ends_the_group_with_its_code(tmp_path):
    code = f"""
import os, signal
from pathlib import Path
from orexis.tools import seeds
from orexis.config import RunConfig
def train(run_dir, *arguments, log):
    print("trained", flush=True)
    return 0
seeds.train = train
seeds.gc.unfreeze = lambda: os.kill(os.getpid(), signal.SIGTERM)  # what comes after a run, and before the next
seeds.train_seeds([(Path({str(tmp_path)!r}) / str(seed), RunConfig("bandit", seed)) for seed in (0, 1)], False)
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert process.returncode == PREEMPTED, process.stderr
    assert process.stdout.count("trained") == 1
    assert process.stderr == "orexis: stopped between two runs; the same command with --resume goes on\n"


def seeds_asked(monkeypatch, *line: str):
    """Returns the exit code of a command line and what it asked `train_seeds` for."""
    asked = []
    monkeypatch.setattr(seeds_module, "train_seeds", lambda *told: asked.append(told) or OK)
    return main(["train", "bandit", *line]), asked


def test_each_seed_has_a_folder_of_its_own(monkeypatch):
    code, ((runs, resume, devices, log),) = seeds_asked(monkeypatch, "--seeds", "3", "0", "--resume", "--updates", "7")
    assert code == OK
    assert [(str(run_dir), config.seed, config.updates) for run_dir, config in runs] == [
        ("runs/bandit-seed3", 3, 7),
        ("runs/bandit-seed0", 0, 7),
    ]
    assert (resume, devices, log) == (True, None, None)
    _, ((runs, *_),) = seeds_asked(monkeypatch, "--seeds", "3", "0", "--run-dir", "here")
    assert [str(run_dir) for run_dir, _ in runs] == ["here/seed3", "here/seed0"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--seeds 0 1 --seed 0", "--seed and --seeds do not go together"),
        ("--seeds 0 1 0", "--seeds names a seed twice: 0 1 0"),
        ("--seeds 0 -1", "seed must be between 0 and 2^32 - 1, not -1"),
        (
            "--seeds 0 1 --coordinator a:1 --num-processes 2 --process-id 0",
            "several processes train one seed at a time",
        ),
        ("--seeds 0 1 --run-dir used", "--run-dir used is a run itself; with --seeds, name a folder for several"),
    ],
)
def test_seeds_that_make_no_sense_are_refused(tmp_path, monkeypatch, capsys, line: str, said: str):
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "used")
    assert seeds_asked(monkeypatch, *line.split()) == (USAGE, [])
    assert said in capsys.readouterr().err


def test_a_task_of_a_slurm_array_trains_one_of_the_seeds(monkeypatch, capsys):
    import orexis.training.train as train_module

    asked = []
    monkeypatch.setattr(train_module, "train", lambda *told: asked.append(told) or OK)
    monkeypatch.setenv(ARRAY_TASK, "1")
    assert main(["train", "bandit", "--seeds", "3", "5", "8", "--run-dir", "here", "--resume"]) == OK
    ((run_dir, config, resume, *_),) = asked
    assert (str(run_dir), config.seed, resume) == ("here/seed5", 5, True)
    assert "seed 5 of 3 5 8, picked by SLURM_ARRAY_TASK_ID" in capsys.readouterr().out
    for task in ("3", "-1", "x"):
        monkeypatch.setenv(ARRAY_TASK, task)
        assert main(["train", "bandit", "--seeds", "3", "5", "8"]) == USAGE
        assert "there are 3 seeds: use sbatch --array=0-2" in capsys.readouterr().err
    assert len(asked) == 1


def test_without_seeds_an_array_changes_nothing(monkeypatch):
    monkeypatch.setenv(ARRAY_TASK, "1")
    assert Train("bandit").config().seed == 0
    assert pick_seed([4, 5], None) is None
