"""A run: what it writes, how it goes on, and that going on changes no bit."""

import dataclasses
import functools
import hashlib
import json
import os
import re
import signal
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from safetensors.numpy import load_file

from orexis.config import HistoryNetConfig
from orexis.config_json import from_json
from orexis.errors import INTERRUPTED, OK, PREEMPTED, BadDataError, UsageError
from orexis.meta.chunks import AT_ONCE
from orexis.networks.clock import NUM_FEATURES
from orexis.storage import checkpoint
from orexis.storage.artefact import read_artefact
from orexis.storage.files import pack_arrays
from orexis.training import loop, setup
from orexis.training.outputs import Outputs
from orexis.training.train import train
from tests.training.tiny import (
    TINY,
    CompiledOnce,
    digest_of,
    remembered_engine,
    rows_of,
    train_undisturbed,
    with_updates,
)

MAKE_ENGINE = setup.make_engine


@pytest.fixture(autouse=True)
def compiled_once(monkeypatch):
    monkeypatch.setattr(setup, "make_engine", remembered_engine)


@pytest.fixture(scope="module")
def straight(tmp_path_factory) -> Path:
    """A run of twelve updates that nothing disturbed, its checkpoints every four."""
    return train_undisturbed(tmp_path_factory.mktemp("straight") / "run")


def state_at(run_dir: Path, step: int):
    template = jax.eval_shape(remembered_engine(TINY).init)
    return checkpoint.read(checkpoint.place_of(run_dir / "checkpoints", step), template)[0]


def patch_updates(monkeypatch, change) -> None:
    """Lets runs call `change(engine, state, number)` in place of the compiled updates."""

    def compile_updates(engine: CompiledOnce):
        updates = functools.partial(change, engine)
        return SimpleNamespace(lower=lambda state, number: SimpleNamespace(compile=lambda: updates))

    monkeypatch.setattr(CompiledOnce, "compile_updates", compile_updates)


def interfere(monkeypatch, at_update: int, act):
    """Calls `act` before the call that makes update `at_update` of the next run; returns the list of updates done."""
    updates: list[int] = []

    def change(engine: CompiledOnce, state, number):
        made = range(len(updates) + 1, len(updates) + 1 + int(number))
        updates.extend(made)
        if at_update in made:
            act()
        return engine._compiled(state, number)

    patch_updates(monkeypatch, change)
    return updates


def train_and_crash(run_dir: Path, at_update: int, **options) -> None:
    """Trains the tiny run until the process ends, without a word, before update `at_update`."""

    def crash():
        raise KeyError("the process ends here")

    with pytest.MonkeyPatch.context() as patch:
        interfere(patch, at_update, crash)
        with pytest.raises(KeyError):
            train(run_dir, TINY, resume=False, **options)


def assert_same_run(run_dir: Path, straight: Path) -> None:
    assert digest_of(run_dir, 12) == digest_of(straight, 12)
    assert rows_of(run_dir) == rows_of(straight)
    arrays = "reward/reward.safetensors"
    assert (run_dir / arrays).read_bytes() == (straight / arrays).read_bytes()


@pytest.mark.smoke
def test_a_run_leaves_what_it_promises(straight):
    assert {path.name for path in straight.iterdir()} == {
        *("config.json", "env.json", "metrics.csv", "log.txt", "checkpoints", "reward", "learner", ".lock")
    }
    assert checkpoint.steps(straight / "checkpoints") == [8, 12]
    updates = [row[0] for row in rows_of(straight)]
    assert updates == ["update", "3", "6", "9", "12"]
    config = json.loads((straight / "config.json").read_text())
    assert config.pop("format_version") == 1
    assert from_json(type(TINY), config) == TINY
    log = (straight / "log.txt").read_text()
    assert "done: 12 updates" in log
    saving, training = map(float, re.search(r"saving took (\S+) s of (\S+) s of training", log).groups())
    assert 0.0 < saving < training


@pytest.mark.smoke
@pytest.mark.parametrize("first", [1, 3, 4, 5, 6, 7, 11])
def test_stopping_by_number_and_going_on_changes_no_bit(tmp_path, straight, first: int):
    # log_every is 3 and checkpoint_every 4: on both, on one, on none of them.
    assert train(tmp_path, with_updates(first), resume=False) == OK
    ages = state_at(tmp_path, first).lifetimes.age
    assert (ages > 0).any()  # some are in the middle of a lifetime, and mostly one has just ended:
    assert (ages == 0).any() == (first in (1, 4, 5, 6, 7, 11)), ages
    assert train(tmp_path, TINY, resume=True) == OK
    assert_same_run(tmp_path, straight)


def test_a_run_whose_reward_sees_a_clock_goes_on_with_the_time_that_it_was(tmp_path):
    meta = dataclasses.replace(TINY.meta, reward=dataclasses.replace(TINY.meta.reward, sees_clock=True))
    config = dataclasses.replace(TINY, meta=meta)
    assert train(tmp_path / "straight", config, resume=False) == OK
    assert train(tmp_path / "halves", dataclasses.replace(config, updates=6), resume=False) == OK
    assert train(tmp_path / "halves", config, resume=True) == OK
    assert digest_of(tmp_path / "halves", 12) == digest_of(tmp_path / "straight", 12)
    found = read_artefact(tmp_path / "halves" / "reward")
    assert found.network == meta.reward
    assert (
        found.params["core"]["wx"].shape[0] == TINY.meta.reward.num_hidden + 2 + NUM_FEATURES + found.spec.num_actions
    )
    with pytest.raises(UsageError, match="sees_clock"):
        train(tmp_path / "halves", with_updates(14), resume=True)


@pytest.mark.parametrize("at_update", [1, 2, 6, 8])
@pytest.mark.parametrize("at_once", [1, 2, AT_ONCE])  # with 1 and 2 the run can stop in the middle of a row
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, PREEMPTED), (signal.SIGINT, INTERRUPTED)])
def test_a_signal_saves_and_going_on_changes_no_bit(
    tmp_path, straight, at_update: int, at_once: int, number, code: int
):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CompiledOnce, "at_once", at_once)
        updates = interfere(patch, at_update, lambda: os.kill(os.getpid(), number))
        assert train(tmp_path, TINY, resume=False) == code
    done = len(updates)
    assert at_update <= done < at_update + at_once
    assert checkpoint.steps(tmp_path / "checkpoints")[-1] == done
    assert read_artefact(tmp_path / "reward").record["training"]["updates"] == done
    assert f"stopped at update {done} and saved" in (tmp_path / "log.txt").read_text()
    assert train(tmp_path, TINY, resume=True) == OK
    assert_same_run(tmp_path, straight)


def test_many_updates_a_call_are_the_bits_of_one_a_call(tmp_path, monkeypatch):
    config = with_updates(24, log_every=12, checkpoint_every=24)  # calls of ten and of two
    assert train(tmp_path / "many", config, resume=False) == OK
    monkeypatch.setattr(CompiledOnce, "at_once", 1)
    assert train(tmp_path / "single", config, resume=False) == OK
    assert digest_of(tmp_path / "many", 24) == digest_of(tmp_path / "single", 24)
    assert rows_of(tmp_path / "many") == rows_of(tmp_path / "single")
    assert len(rows_of(tmp_path / "many")) == 3


@pytest.mark.parametrize("deterministic", [False, True])
def test_going_on_with_another_number_of_devices_is_said_where_it_matters(tmp_path, deterministic: bool):
    assert train(tmp_path, with_updates(2, deterministic=deterministic), resume=False) == OK
    path = tmp_path / "checkpoints" / "step_00000002" / "manifest.json"
    manifest = json.loads(path.read_text())
    assert manifest["devices"] == 4
    path.write_text(json.dumps(checkpoint.seal({**manifest, "devices": 2})))
    assert train(tmp_path, with_updates(4, deterministic=deterministic), resume=True) == OK
    said = "warning: trained on 2 devices so far and on 4 from here" in (tmp_path / "log.txt").read_text()
    assert said != deterministic


def test_a_run_from_before_deterministic_goes_on(tmp_path):
    assert train(tmp_path, with_updates(2), resume=False) == OK
    config = json.loads((tmp_path / "config.json").read_text())
    assert config.pop("deterministic") is False
    (tmp_path / "config.json").write_text(json.dumps(config))
    path = tmp_path / "checkpoints" / "step_00000002" / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["config"]["deterministic"], manifest["devices"]
    path.write_text(json.dumps(checkpoint.seal(manifest)))
    assert train(tmp_path, with_updates(4), resume=True) == OK
    assert "warning" not in (tmp_path / "log.txt").read_text()


def test_a_signal_during_the_last_update_ends_the_run_as_if_there_had_been_none(tmp_path, straight, monkeypatch):
    interfere(monkeypatch, 12, lambda: os.kill(os.getpid(), signal.SIGTERM))
    assert train(tmp_path, TINY, resume=False) == OK
    assert_same_run(tmp_path, straight)


@pytest.mark.parametrize("at_update", [2, 5, 10, 12])
def test_a_crash_and_going_on_changes_no_bit_and_writes_no_row_twice(tmp_path, straight, at_update: int):
    train_and_crash(tmp_path, at_update)
    assert checkpoint.steps(tmp_path / "checkpoints") == [step for step in (4, 8) if step < at_update]
    with (tmp_path / "metrics.csv").open("a") as file:
        file.write("9,1234,torn")
    assert train(tmp_path, TINY, resume=True) == OK
    assert_same_run(tmp_path, straight)


def test_what_is_saved_is_what_was_trained(straight):
    state, first = state_at(straight, 12), jax.tree.map(np.array, remembered_engine(TINY).init())
    params = read_artefact(straight / "reward").params
    jax.tree.map(np.testing.assert_array_equal, params, state.learner.eta_average)
    assert int(state.learner.update) == 12
    for layer, leaves in params.items():
        assert any((leaves[leaf] != first.learner.eta[layer][leaf]).any() for leaf in leaves), layer


def test_a_finished_run_that_is_resumed_ends_at_once(tmp_path, monkeypatch):
    assert train(tmp_path, with_updates(4), resume=False) == OK
    digest, rows = digest_of(tmp_path, 4), rows_of(tmp_path)
    made = interfere(monkeypatch, 1, lambda: None)
    assert train(tmp_path, with_updates(4), resume=True) == OK
    assert train(tmp_path, with_updates(2), resume=True) == OK  # asks for less than there is
    assert made == []
    assert "has 4 updates already: nothing to do" in (tmp_path / "log.txt").read_text()
    assert (digest_of(tmp_path, 4), rows_of(tmp_path)) == (digest, rows)


def test_a_kill_between_the_last_checkpoint_and_the_artefact_is_made_good(tmp_path, straight, monkeypatch):
    def killed(*arguments):
        raise KeyError("the process ends here")

    with monkeypatch.context() as patch:
        patch.setattr(Outputs, "write", killed)
        with pytest.raises(KeyError):
            train(tmp_path, with_updates(12, checkpoint_every=12), resume=False)
    assert checkpoint.steps(tmp_path / "checkpoints") == [12]
    assert not (tmp_path / "reward").exists()
    assert train(tmp_path, with_updates(12, checkpoint_every=12), resume=True) == OK
    assert_same_run(tmp_path, straight)


def test_resuming_where_nothing_was_saved_yet_starts_from_the_beginning(tmp_path, straight):
    assert train(tmp_path / "new", TINY, resume=True) == OK
    assert "starting bandit at update 0" in (tmp_path / "new" / "log.txt").read_text()
    assert_same_run(tmp_path / "new", straight)


def test_a_used_folder_is_not_used_again_unless_asked(tmp_path, straight):
    with pytest.raises(UsageError, match="holds a run already; add --resume"):
        train(straight, TINY, resume=False)
    (tmp_path / "checkpoints").mkdir()  # a run whose config.json was lost
    with pytest.raises(UsageError, match="holds a run already; add --resume"):
        train(tmp_path, TINY, resume=False)


def test_a_start_that_was_refused_leaves_the_folder_free(tmp_path, straight):
    lifetimes = dataclasses.replace(TINY.meta, lifetimes=2**31 - 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(setup, "make_engine", MAKE_ENGINE)
        with pytest.raises(UsageError, match=r"would take .* GB of memory and this machine has"):
            train(tmp_path, dataclasses.replace(TINY, meta=lifetimes), resume=False)
    assert train(tmp_path, TINY, resume=False) == OK
    assert_same_run(tmp_path, straight)


def test_another_config_is_refused_and_each_field_named(tmp_path):
    assert train(tmp_path, with_updates(2), resume=False) == OK
    outer = dataclasses.replace(TINY.meta.outer, discount=0.5)
    other = dataclasses.replace(TINY, seed=7, log_every=5, meta=dataclasses.replace(TINY.meta, outer=outer))
    with pytest.raises(UsageError) as refused:
        train(tmp_path, other, resume=True)
    for line in ("seed: 0 → 7", "log_every: 3 → 5", "meta.outer.discount: 0.99 → 0.5"):
        assert line in str(refused.value)
    assert "updates" not in str(refused.value)

    (tmp_path / "config.json").unlink()  # the checkpoint itself knows too
    with pytest.raises(UsageError, match="seed: 0 → 7"):
        train(tmp_path, other, resume=True)


def test_intervals_and_the_end_may_change_on_the_way(tmp_path, straight):
    assert train(tmp_path, with_updates(5, checkpoint_every=2), resume=False) == OK
    assert train(tmp_path, with_updates(12, checkpoint_every=100), resume=True) == OK
    assert_same_run(tmp_path, straight)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("env_steps", "many"), ("wall_s", None), ("wall_s", float("inf")), ("metrics_bytes", -1), ("config", 5)),
        *(("totals", {"count": 1}), ("totals", {"count": 1, "sums": {"x": float("nan")}, "maxima": {}})),
    ],
)
def test_a_manifest_that_makes_no_sense_is_refused(tmp_path, name: str, value):
    assert train(tmp_path, with_updates(2), resume=False) == OK
    path = tmp_path / "checkpoints" / "step_00000002" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest[name] = value
    path.write_text(json.dumps(checkpoint.seal(manifest)))
    with pytest.raises(BadDataError, match="the manifest of step 2 cannot be used"):
        train(tmp_path, TINY, resume=True)


@pytest.mark.parametrize(("at_once", "more"), [(1, loop.AHEAD - 1), (AT_ONCE, TINY.log_every - 1)])
def test_too_many_skipped_updates_in_a_row_stop_the_run_with_its_state_saved(tmp_path, monkeypatch, at_once, more):
    def change(engine: CompiledOnce, state, number):
        state, metrics = engine._compiled(state, number)
        ones, nans = np.ones(AT_ONCE, np.float32), np.full(AT_ONCE, np.nan, np.float32)
        return state, dataclasses.replace(metrics, skipped=ones, eta_gradient_norm=nans)

    patch_updates(monkeypatch, change)
    monkeypatch.setattr(CompiledOnce, "at_once", at_once)
    with pytest.raises(BadDataError, match=r"not finite in \d+ updates in a row.*norm of eta's nan"):
        train(tmp_path, with_updates(100), resume=False)
    step = checkpoint.steps(tmp_path / "checkpoints")[-1]
    assert loop.PATIENCE <= step <= loop.PATIENCE + more
    assert read_artefact(tmp_path / "reward").record["training"]["updates"] == step
    last = dict(zip(*(rows_of(tmp_path)[i] for i in (0, -1)), strict=True))
    assert last["eta_gradient_norm"] == ""
    assert float(last["skipped_updates"]) > 0


def test_single_skipped_updates_stop_nothing(tmp_path, monkeypatch):
    numbers = iter(range(1000))

    def change(engine: CompiledOnce, state, number):
        state, metrics = engine._compiled(state, number)
        skipped = [float(next(numbers) % 9 != 8) for _ in range(number)] + [0.0] * (AT_ONCE - number)
        return state, dataclasses.replace(metrics, skipped=np.array(skipped, np.float32))

    patch_updates(monkeypatch, change)
    assert train(tmp_path, with_updates(40), resume=False) == OK


def test_metrics_that_were_cut_keep_their_whole_lines(tmp_path, straight):
    assert train(tmp_path, with_updates(6), resume=False) == OK
    path = tmp_path / "metrics.csv"
    path.write_bytes(path.read_bytes()[:-10])  # into the row of update 6
    assert train(tmp_path, TINY, resume=True) == OK
    assert [row[0] for row in rows_of(tmp_path)] == ["update", "3", "9", "12"]
    assert digest_of(tmp_path, 12) == digest_of(straight, 12)
    assert "metrics.csv was cut" in (tmp_path / "log.txt").read_text()


def test_metrics_of_other_columns_are_kept_aside(tmp_path):
    assert train(tmp_path, with_updates(3), resume=False) == OK
    path = tmp_path / "metrics.csv"
    path.write_bytes(path.read_bytes().replace(b"env_steps", b"env_stops"))
    assert train(tmp_path, with_updates(6), resume=True) == OK
    assert [row[0] for row in rows_of(tmp_path)] == ["update", "6"]
    (aside,) = tmp_path.glob("metrics-until-*.csv")
    assert aside.read_text().count("\n") == 2


def test_a_listener_that_goes_away_does_not_end_the_run(tmp_path, straight, monkeypatch):
    def gone(*arguments, **options):
        raise BrokenPipeError

    monkeypatch.setattr("rich.console.Console.print", gone)
    assert train(tmp_path, TINY, resume=False) == OK
    assert_same_run(tmp_path, straight)


def test_a_task_that_breaks_its_contract_is_refused_before_anything_is_compiled(tmp_path, monkeypatch):
    monkeypatch.undo()
    config = dataclasses.replace(TINY, task="tests.training.test_train:NotATask")
    with pytest.raises(
        UsageError, match=r"task tests\.training\.test_train:NotATask cannot be used: task.spec must be"
    ):
        train(tmp_path, config, resume=False)


class NotATask:
    spec = None


def test_a_task_that_names_no_agents_plane_is_refused_before_anything_is_compiled():
    meta = dataclasses.replace(TINY.meta, reward=HistoryNetConfig(view="egocentric"))
    with pytest.raises(
        UsageError, match="task bandit cannot be used: the egocentric view needs to know where the agent"
    ):
        MAKE_ENGINE(dataclasses.replace(TINY, meta=meta))
    MAKE_ENGINE(dataclasses.replace(TINY, task="key-box", meta=meta))


def test_a_run_from_before_a_part_of_the_learner_goes_on_with_a_fresh_one(tmp_path, monkeypatch):
    assert train(tmp_path, with_updates(2), resume=False) == OK
    place = checkpoint.place_of(tmp_path / "checkpoints", 2)
    arrays = {name: array for name, array in load_file(place / "state.safetensors").items() if PART not in name}
    manifest = json.loads((place / "manifest.json").read_text())
    data = pack_arrays(arrays)
    (place / "state.safetensors").write_bytes(data)
    manifest["files"]["state.safetensors"] = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (place / "manifest.json").write_text(json.dumps(checkpoint.seal(manifest)))
    with pytest.raises(BadDataError, match=r"the first is \.learner\.phi_optimizer"):
        train(tmp_path, with_updates(4), resume=True)
    monkeypatch.setattr(checkpoint, "NEW_PARTS", (PART,))
    assert train(tmp_path, with_updates(4), resume=True) == OK
    assert int(state_at(tmp_path, 4).learner.phi_optimizer.count) == 2  # of four updates: it began again


PART = ".learner.phi_optimizer"
