"""Validation: fixed lifetimes, the best is kept, and a run that was interrupted validates like one that was not."""

import dataclasses
import json
import os
import signal
from pathlib import Path

import jax
import numpy as np
import pytest

from orexis.agents.actor_critic import ActorCritic
from orexis.errors import OK, PREEMPTED, UsageError
from orexis.evaluation.evaluate import evaluate
from orexis.evaluation.lifetimes import evaluate_lifetimes
from orexis.meta.engine import make_mesh
from orexis.rewards.learned import LearnedReward
from orexis.storage import checkpoint
from orexis.storage.artefact import read_artefact
from orexis.tasks.registry import make_task
from orexis.tools.doctor import examine
from orexis.training import setup
from orexis.training.choosing import validation
from orexis.training.choosing.best import Score
from orexis.training.choosing.validation import VALIDATION_SEED, Validator, score_of
from orexis.training.train import train
from tests.training.tiny import TINY, TINY_META, digest_of, remembered_engine, rows_of

VALIDATED = dataclasses.replace(TINY, validate_every=2, validation_lifetimes=11)
"""Validations at 2, 4, ... 12; rows at 3, 6, 9, 12; checkpoints at 4, 8, 12."""


@pytest.fixture(autouse=True)
def compiled_once(monkeypatch):
    monkeypatch.setattr(setup, "make_engine", remembered_engine)


@pytest.fixture(scope="module")
def straight(tmp_path_factory) -> Path:
    run_dir = tmp_path_factory.mktemp("straight") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(setup, "make_engine", remembered_engine)
        assert train(run_dir, VALIDATED, resume=False) == OK
    return run_dir


def manifest_of(run_dir: Path, step: int = 12) -> dict:
    return json.loads((run_dir / "checkpoints" / f"step_{step:08d}" / "manifest.json").read_text())


def column(run_dir: Path, name: str) -> list[str]:
    rows = rows_of(run_dir)
    return [row[rows[0].index(name)] for row in rows[1:]]


def assert_same_run(run_dir: Path, straight: Path) -> None:
    assert digest_of(run_dir, 12) == digest_of(straight, 12)
    assert rows_of(run_dir) == rows_of(straight)
    assert manifest_of(run_dir)["validation"] == manifest_of(straight)["validation"]
    for name in ("reward", "best"):
        ours, theirs = (read_artefact(folder / name).record for folder in (run_dir, straight))
        assert ours["sha256"] == theirs["sha256"]
        del ours["training"]["wall_s"], theirs["training"]["wall_s"]
        assert ours["training"] == theirs["training"]


def give_scores(monkeypatch, *values: float) -> None:
    """Lets validations find these scores, one after the other."""
    left = iter(values)
    monkeypatch.setattr(Validator, "score", lambda self, eta, must_stop: Score(next(left), 0.0, 0.0, 5))


def test_a_score_by_hand():
    extrinsic = np.zeros((2, 20))
    extrinsic[0, :] = 1.0
    extrinsic[1, -1] = 5.0  # lifetimes' means 1 and 0.25; the last two episodes 1, 1, 0, 5
    found = score_of(extrinsic, np.full((2, 20), 3.0))
    # standard deviation of 1 and 0.25 is 0.75/√2, its error 0.75/2
    assert dataclasses.astuple(found) == pytest.approx((0.625, 1.75, 0.375, 120))


def test_the_score_is_that_of_evaluation_on_lifetimes_of_its_own_on_any_devices():
    task = make_task("bandit")
    source = LearnedReward(task.spec, TINY_META.reward)
    eta = jax.device_get(source.init(jax.random.key(3)))
    found = [Validator(task, TINY_META, 11, jax.devices()[:n]).score(eta) for n in (1, 2, 4)]
    assert found[0] == found[1] == found[2]
    agent = ActorCritic(task.spec, TINY_META.agent)
    _, episodes, _ = evaluate_lifetimes(task, agent, (), source, eta, VALIDATION_SEED, 11, make_mesh(jax.devices()[:1]))
    assert found[0].episode_return == pytest.approx(episodes.extrinsic.mean())
    assert found[0].last_tenth == pytest.approx(episodes.extrinsic[:, -2:].mean())
    assert found[0].env_steps == 11 * 20


def test_every_validation_is_in_its_row_and_the_best_is_kept(straight):
    # Row 3 has that of update 2, row 6 those of 4 and 6: the later one is told.
    assert all(column(straight, "validation_return"))
    told = manifest_of(straight)["validation"]
    assert told["env_steps"] == 6 * 11 * 20
    best = read_artefact(straight / "best").record["training"]
    assert best["updates"] == told["update"]
    assert best["validation"]["episode_return"] == told["score"]
    assert best["validation_env_steps"] == told["update"] // 2 * 220
    assert read_artefact(straight / "reward").record["training"]["validation_env_steps"] == 1320
    log = (straight / "log.txt").read_text()
    assert log.count("validated at update") == 6
    assert f"fresh agents collect {told['score']:.4f} ± {told['error']:.4f} an episode" in log


def test_one_lifetime_has_no_standard_error(tmp_path):
    assert train(tmp_path, dataclasses.replace(VALIDATED, updates=2, validation_lifetimes=1), resume=False) == OK
    log = (tmp_path / "log.txt").read_text()
    assert "fresh agents collect " in log
    assert " ± " not in log.split("fresh agents collect ")[1]


def test_the_averaged_reward_is_what_is_validated(tmp_path, monkeypatch):
    seen = []

    def score(self, eta, must_stop):
        seen.append(eta)
        return Score(float(len(seen)), 0.0, 0.0, 5)

    monkeypatch.setattr(Validator, "score", score)
    assert train(tmp_path, dataclasses.replace(VALIDATED, updates=4), resume=False) == OK
    jax.tree.map(np.testing.assert_array_equal, seen[-1], read_artefact(tmp_path / "reward").params)
    jax.tree.map(np.testing.assert_array_equal, seen[-1], read_artefact(tmp_path / "best").params)


def test_best_stays_where_later_ones_are_worse(tmp_path, monkeypatch):
    give_scores(monkeypatch, 0.1, 0.5, 0.4, 0.5, 0.3, 0.2)
    assert train(tmp_path, VALIDATED, resume=False) == OK
    assert column(tmp_path, "validation_return") == ["0.1", "0.4", "0.5", "0.2"]
    assert read_artefact(tmp_path / "best").record["training"]["updates"] == 4
    assert read_artefact(tmp_path / "reward").record["training"]["updates"] == 12


def test_a_row_without_a_validation_is_empty_there(tmp_path):
    config = dataclasses.replace(VALIDATED, validate_every=6)
    assert train(tmp_path, config, resume=False) == OK
    assert [bool(cell) for cell in column(tmp_path, "validation_last_tenth")] == [False, True, False, True]


def test_without_validation_there_is_no_best(tmp_path):
    assert train(tmp_path, dataclasses.replace(TINY, updates=4), resume=False) == OK
    assert not (tmp_path / "best").exists()


@pytest.mark.parametrize("first", [1, 2, 4, 5, 6, 8])
def test_stopping_by_number_and_going_on_changes_nothing(tmp_path, straight, first: int):
    assert train(tmp_path, dataclasses.replace(VALIDATED, updates=first), resume=False) == OK
    assert train(tmp_path, VALIDATED, resume=True) == OK
    assert_same_run(tmp_path, straight)


@pytest.mark.parametrize("at", [1, 2, 3, 6])
def test_a_signal_while_it_validates_leaves_the_validation_owed(tmp_path, straight, at: int):
    # Validation number 2 is at a checkpoint, 3 and 6 at a row, 6 at the end.
    with pytest.MonkeyPatch.context() as patch:
        count = 0

        def score(self, eta, must_stop, plain=Validator.score):
            nonlocal count
            count += 1
            if count == at:
                os.kill(os.getpid(), signal.SIGTERM)
            return plain(self, eta, must_stop)

        patch.setattr(Validator, "score", score)
        assert train(tmp_path, VALIDATED, resume=False) == PREEMPTED
    assert checkpoint.steps(tmp_path / "checkpoints")[-1] == 2 * at
    assert manifest_of(tmp_path, 2 * at)["validation"]["owed"]
    assert train(tmp_path, VALIDATED, resume=True) == OK
    assert_same_run(tmp_path, straight)


@pytest.mark.parametrize("at", [2, 3, 4])
def test_a_crash_while_it_validates_and_going_on_changes_nothing(tmp_path, straight, at: int):
    with pytest.MonkeyPatch.context() as patch:
        count = 0

        def score(self, eta, must_stop, plain=Validator.score):
            nonlocal count
            count += 1
            if count == at:
                raise KeyError("the process ends here")
            return plain(self, eta, must_stop)

        patch.setattr(Validator, "score", score)
        with pytest.raises(KeyError):
            train(tmp_path, VALIDATED, resume=False)
    assert train(tmp_path, VALIDATED, resume=True) == OK
    assert_same_run(tmp_path, straight)


def test_how_often_may_change_and_on_what_may_not(tmp_path):
    assert train(tmp_path, dataclasses.replace(VALIDATED, updates=4), resume=False) == OK
    with pytest.raises(UsageError, match="validation_lifetimes: 11 → 12"):
        train(tmp_path, dataclasses.replace(VALIDATED, validation_lifetimes=12), resume=True)
    config = dataclasses.replace(VALIDATED, updates=8, validate_every=3)
    assert train(tmp_path, config, resume=True) == OK
    assert manifest_of(tmp_path, 8)["validation"]["env_steps"] == 3 * 220


def test_a_run_from_before_validation_goes_on_and_is_validated_from_there(tmp_path):
    assert train(tmp_path, dataclasses.replace(TINY, updates=4), resume=False) == OK
    path = tmp_path / "checkpoints" / "step_00000004" / "manifest.json"
    manifest = json.loads(path.read_text())
    for name in ("validation", "begun_with", "stages"):
        del manifest[name]
    for name in ("validate_every", "validation_lifetimes", "stop_on_collapse", "begin_with", "episodes"):
        del manifest["config"][name]
    path.write_text(json.dumps(checkpoint.seal(manifest)))
    config = dataclasses.replace(TINY, updates=8, validate_every=4)
    assert train(tmp_path, dataclasses.replace(config, updates=4), resume=True) == OK  # done: nothing is validated
    assert not (tmp_path / "best").exists()
    assert train(tmp_path, config, resume=True) == OK
    assert manifest_of(tmp_path, 8)["validation"]["update"] == 8


def test_a_best_that_was_lost_is_said_and_the_next_is_the_best(tmp_path, monkeypatch):
    give_scores(monkeypatch, 0.5, 0.4, 0.3, 0.2)
    assert train(tmp_path, dataclasses.replace(VALIDATED, updates=4), resume=False) == OK
    (tmp_path / "best" / "reward.safetensors").write_bytes(b"damaged")
    assert train(tmp_path, dataclasses.replace(VALIDATED, updates=8), resume=True) == OK
    assert "best/ is lost" in (tmp_path / "log.txt").read_text()
    assert read_artefact(tmp_path / "best").record["training"]["updates"] == 6


def test_best_is_a_source_and_the_run_still_means_its_last(straight):
    table, other = evaluate([str(straight / "best"), str(straight)], num_lifetimes=3)
    assert table.extrinsic.shape == other.extrinsic.shape == (3, 20)
    assert examine(straight).code == OK


def test_the_seed_is_apart_from_reports_and_sweeps():
    from orexis.cli import Evaluate, Sweep

    assert validation.VALIDATION_SEED not in (Evaluate.seed, Sweep.seed)


COLLAPSING = (0.1, 0.9, 0.3, 0.3, 0.3, 0.3)


def test_a_run_that_collapses_says_so_once_and_goes_on(tmp_path, monkeypatch):
    give_scores(monkeypatch, *COLLAPSING)
    assert train(tmp_path, VALIDATED, resume=False) == OK
    log = (tmp_path / "log.txt").read_text()
    assert log.count("the run has collapsed") == 1
    assert f"below the best 0.9000 at update 4, which is kept in {tmp_path / 'best'}" in log
    assert "done: 12 updates" in log


def test_a_run_that_is_to_stop_then_is_saved_and_stays_so_until_asked_to_go_on(tmp_path, monkeypatch):
    give_scores(monkeypatch, *COLLAPSING)
    config = dataclasses.replace(VALIDATED, stop_on_collapse=True)
    assert train(tmp_path, config, resume=False) == OK
    assert checkpoint.steps(tmp_path / "checkpoints")[-1] == 8
    assert read_artefact(tmp_path / "best").record["training"]["updates"] == 4
    assert (
        "ended at update 8, because it has collapsed; the best 0.9000 at update 4" in (tmp_path / "log.txt").read_text()
    )
    assert train(tmp_path, config, resume=True) == OK
    assert checkpoint.steps(tmp_path / "checkpoints")[-1] == 8
    assert train(tmp_path, VALIDATED, resume=True) == OK
    assert checkpoint.steps(tmp_path / "checkpoints")[-1] == 12
    assert (tmp_path / "log.txt").read_text().count("the run has collapsed") == 1
    assert [row[0] for row in rows_of(tmp_path)] == ["update", "3", "6", "9", "12"]


def test_validation_that_may_cost_much_is_said_with_what_would_be_cheaper(tmp_path):
    # 11 lifetimes of 20 steps for 2 updates of 4 lifetimes, N 2, T 2: 220 for 32 steps, 6.875.
    assert validation.share_of_steps(VALIDATED, make_task("bandit").spec) == 220 / 32
    assert validation.share_of_steps(TINY, make_task("bandit").spec) == 0.0
    assert train(tmp_path, dataclasses.replace(VALIDATED, updates=1), resume=False) == OK
    assert "up to 688% as many steps as training; with --validate-every 55" in (tmp_path / "log.txt").read_text()
    config = dataclasses.replace(VALIDATED, validate_every=55)
    assert validation.share_of_steps(config, make_task("bandit").spec) == 0.25
