"""Learners of their own, and runs that begin with one."""

import dataclasses
import json
import shutil
from pathlib import Path

import jax
import numpy as np
import pytest

from orexis.errors import BAD_DATA, OK, BadDataError, UsageError
from orexis.evaluation.evaluate import evaluate
from orexis.storage import checkpoint
from orexis.storage.artefact import read_artefact
from orexis.storage.reading import MAX_BYTES, DamagedError, seal
from orexis.storage.stages import all_env_steps
from orexis.tasks.registry import make_task
from orexis.training import learners, loop, setup
from orexis.training.learners import fit, merge, read_beginning, read_learner
from orexis.training.train import train
from tests.training.tiny import OPTIONS, TINY, digest_of, remembered_engine, train_undisturbed, with_updates

LONGER = dataclasses.replace(TINY, episodes=30, seed=5, updates=4)
"""Another run: another seed, longer lifetimes."""


@pytest.fixture(autouse=True)
def compiled_once(monkeypatch):
    monkeypatch.setattr(setup, "make_engine", remembered_engine)


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    return train_undisturbed(tmp_path_factory.mktemp("trained") / "run")


def learner_at(run_dir: Path, step: int, config=TINY):
    template = jax.eval_shape(remembered_engine(config).init)
    return checkpoint.read(checkpoint.place_of(run_dir / "checkpoints", step), template)[0].learner


def beginnings_of(run_dir: Path, config, begin_with: Path | str) -> tuple:
    """Returns the learner that a run begins with, and the run's own."""
    run = loop.Run(run_dir, dataclasses.replace(config, begin_with=str(begin_with)), remembered_engine(config), None)
    said: list[str] = []
    assert run._load(said.append) is None
    return jax.device_get(run._begin().learner), jax.device_get(run.engine.init().learner), said


def steps_of(run_dir: Path, step: int = 12) -> int:
    """Returns how many environment steps a run had acted by a checkpoint."""
    return checkpoint.read_manifest(checkpoint.place_of(run_dir / "checkpoints", step))["env_steps"]


def assert_equal(ours, expected) -> None:
    jax.tree.map(np.testing.assert_array_equal, ours, expected)


def copy_without(trained: Path, place: Path, *names: str) -> Path:
    shutil.copytree(trained, place)
    for name in names:
        shutil.rmtree(place / name)
    return place


@pytest.mark.parametrize("what", ["run", "learner", "checkpoint"])
def test_a_learner_is_begun_with_whole_but_for_its_count_of_updates(tmp_path, trained, what: str):
    place = {"run": trained, "learner": trained / "learner"}.get(what)
    place = place or copy_without(trained, tmp_path / "old", "learner", "reward")
    begun, _, said = beginnings_of(tmp_path / "new", LONGER, place)
    saved = learner_at(trained, 12)
    assert said == []
    (stage,) = read_beginning(str(place)).stages
    assert (stage["updates"], stage["seed"], stage["env_steps"]) == (12, 0, steps_of(trained))
    assert int(begun.update) == 0
    assert int(begun.eta_optimizer.count) == int(begun.phi_optimizer.count) == 12
    assert_equal(dataclasses.replace(begun, update=saved.update), saved)


def test_of_a_reward_eta_alone_is_begun_with(tmp_path, trained):
    begun, fresh, said = beginnings_of(tmp_path, LONGER, trained / "reward")
    eta = read_artefact(trained / "reward").params
    assert said == []
    assert_equal(begun, dataclasses.replace(fresh, eta=eta, eta_average=eta))
    assert np.any(begun.eta["head"]["w"] != fresh.eta["head"]["w"])


def test_a_shipped_reward_is_known_by_its_name():
    assert read_beginning("random-abc").kind == "reward"


def test_a_run_that_begins_with_another_tells_of_it_and_resumes_without_it(tmp_path, trained):
    config = dataclasses.replace(LONGER, begin_with=str(trained))
    assert train(tmp_path / "straight", config, resume=False) == OK
    moved = tmp_path / "moved"
    shutil.copytree(trained, moved)
    there = dataclasses.replace(config, begin_with=str(moved))
    assert train(tmp_path / "halves", dataclasses.replace(there, updates=2), resume=False) == OK
    shutil.rmtree(moved)
    assert train(tmp_path / "halves", there, resume=True) == OK
    assert digest_of(tmp_path / "halves", 4) == digest_of(tmp_path / "straight", 4)
    digest = json.loads((trained / "learner" / "learner.json").read_text())["sha256"]
    for run_dir, name in ((tmp_path / "straight", trained.name), (tmp_path / "halves", "moved")):
        told = read_artefact(run_dir / "reward").record["training"]
        assert told["begun_with"] == {"name": name, "kind": "learner", "sha256": digest}
        first = {"updates": 12, "seed": 0, "lifetimes": 4, "episodes": 20, "env_steps": steps_of(trained)}
        assert told["stages"] == [first]
        card = (run_dir / "reward" / "README.md").read_text()
        assert "| updates of the reward | 16 |" in card
        assert f"| environment steps | {steps_of(trained) + told['env_steps']} |" in card
        for stage in ("12 updates, lifetimes of 20 episodes, seed 0, ", "; then 4 updates, lifetimes of 30 "):
            assert stage in card
    further = dataclasses.replace(LONGER, begin_with=str(tmp_path / "straight" / "reward"))
    assert train(tmp_path / "further", further, resume=False) == OK
    last = read_artefact(tmp_path / "further" / "reward").record
    assert [stage["updates"] for stage in last["training"]["stages"]] == [12, 4]
    assert all_env_steps(last) == steps_of(trained) + told["env_steps"] + last["training"]["env_steps"]
    plain = tmp_path / "plain"
    assert train(plain, LONGER, resume=False) == OK
    assert digest_of(plain, 4) != digest_of(tmp_path / "straight", 4)
    with pytest.raises(UsageError, match="begin_with"):
        train(plain, dataclasses.replace(config, updates=6), resume=True)


def test_the_spec_tells_the_episodes_and_the_reward_serves_lifetimes_of_any_length(tmp_path):
    assert train(tmp_path, LONGER, resume=False) == OK
    assert read_artefact(tmp_path / "reward").spec.episodes_per_lifetime == 30
    (table,) = evaluate([str(tmp_path)], num_lifetimes=2)
    assert table.extrinsic.shape == (2, 20)


def test_what_does_not_fit_is_refused_and_the_first_array_named(tmp_path, trained):
    reward = dataclasses.replace(TINY.meta.reward, num_units=5)
    other = dataclasses.replace(TINY, meta=dataclasses.replace(TINY.meta, reward=reward))
    other = dataclasses.replace(other, begin_with=str(trained))
    message = r"its array \.eta\['core'\]\['b'\] is float32\(16,\), this run's is float32\(20,\)"
    with pytest.raises(UsageError, match=message):
        train(tmp_path, other, resume=False)


def test_a_reward_with_a_clock_is_begun_with_on_lifetimes_of_another_length_and_not_without_a_clock(tmp_path):
    meta = dataclasses.replace(TINY.meta, reward=dataclasses.replace(TINY.meta.reward, sees_clock=True))
    clocked, place = dataclasses.replace(TINY, updates=4, meta=meta), str(tmp_path / "clocked")
    assert train(tmp_path / "clocked", clocked, resume=False) == OK
    longer = dataclasses.replace(LONGER, meta=meta, begin_with=place)
    assert train(tmp_path / "longer", longer, resume=False) == OK
    found = read_artefact(tmp_path / "longer" / "reward")
    assert (found.network.sees_clock, found.spec.episodes_per_lifetime) == (True, 30)
    with pytest.raises(UsageError, match="core"):
        train(tmp_path / "without", dataclasses.replace(TINY, begin_with=place), resume=False)


def test_a_lifetime_value_of_another_kind_starts_fresh_and_that_is_said(trained):
    template = jax.device_get(remembered_engine(TINY).init().learner)
    beginning = read_beginning(str(trained))
    arrays = {**beginning.arrays, ".phi['privileged']['w']": np.zeros((3, 2), np.float32)}
    taken, said = fit(template, dataclasses.replace(beginning, arrays=arrays))
    assert len(said) == 1
    assert ".phi['privileged']['w'] is float32(3, 2), this run's is absent): it starts fresh" in said[0]
    merged = merge(template, taken)
    saved = learner_at(trained, 12)
    assert_equal((merged.phi, merged.phi_optimizer), (template.phi, template.phi_optimizer))
    assert_equal((merged.eta, merged.eta_optimizer), (saved.eta, saved.eta_optimizer))


def test_nothing_is_no_beginning(tmp_path):
    with pytest.raises(UsageError, match="neither the folder of a run, a learner, a reward or a policy nor a shipped"):
        read_beginning(str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match="no reward in"):
        read_beginning(str(tmp_path))


def rewrite(place: Path, change) -> None:
    """Changes the arrays of a learner and makes its record agree."""
    arrays, record = read_learner(place)
    record = {name: value for name, value in record.items() if name not in ("format_version", "sha256")}
    record.pop("record_sha256")
    _write(place, change(arrays), record)


def _write(place: Path, arrays: dict, record: dict) -> None:
    data = learners.pack_arrays(arrays)
    (place / "learner.safetensors").write_bytes(data)
    digest = learners.hashlib.sha256(data).hexdigest()
    (place / "learner.json").write_text(json.dumps(seal({"format_version": 1, "sha256": digest, **record})))


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def enlarge(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(9 * MAX_BYTES)


HOSTILE = {
    "flipped arrays": lambda place: flip(place / "learner.safetensors"),
    "flipped record": lambda place: flip(place / "learner.json"),
    "changed record": lambda place: change(place / "learner.json", '"bandit"', '"bundit"'),
    "no arrays": lambda place: (place / "learner.safetensors").unlink(),
    "no record": lambda place: (place / "learner.json").unlink(),
    "a folder": lambda place: [(place / "learner.json").unlink(), (place / "learner.json").mkdir()],
    "huge": lambda place: enlarge(place / "learner.safetensors"),
    "deep": lambda place: (place / "learner.json").write_text("[" * 100_000),
    "no tensors": lambda place: (place / "learner.safetensors").write_bytes(b"\x80\x04pickle"),
    "not finite": lambda place: rewrite(place, lambda arrays: {**arrays, ".eta['head']['b']": np.float32([np.nan])}),
    "texts": lambda place: rewrite(place, lambda arrays: {**arrays, ".eta['head']['b']": np.array([True])}),
}


@pytest.mark.parametrize("attack", HOSTILE)
def test_a_hostile_learner_is_bad_data(tmp_path, trained, attack: str):
    shutil.copytree(trained / "learner", tmp_path / "learner")
    read_beginning(str(tmp_path))
    HOSTILE[attack](tmp_path / "learner")
    with pytest.raises(BadDataError, match="--begin-with"):
        read_beginning(str(tmp_path))
    with pytest.raises(DamagedError):
        read_learner(tmp_path / "learner")


def test_the_newest_good_checkpoint_counts_where_there_is_no_learner(tmp_path, trained):
    old = copy_without(trained, tmp_path / "old", "learner")
    flip(old / "checkpoints" / "step_00000012" / "state.safetensors")
    assert int(read_beginning(str(old)).arrays[".update"]) == 8
    flip(old / "checkpoints" / "step_00000008" / "state.safetensors")
    with pytest.raises(BadDataError, match="sha256 is not the one in the manifest"):
        read_beginning(str(old))


@pytest.mark.parametrize("name", ["learner", "reward"])
def test_what_a_kill_kept_from_being_written_is_written_by_a_resume(tmp_path, trained, name: str):
    assert train(tmp_path, with_updates(4), resume=False) == OK
    shutil.rmtree(tmp_path / name)
    assert train(tmp_path, with_updates(4), resume=True) == OK
    assert (tmp_path / name / f"{name}.json").is_file()


def test_on_the_command_line_a_hostile_learner_ends_with_bad_data(tmp_path, trained, capsys):
    from orexis.cli import main

    shutil.copytree(trained / "learner", tmp_path / "learner")
    flip(tmp_path / "learner" / "learner.safetensors")
    line = ["train", "bandit", *OPTIONS, "--run-dir", str(tmp_path / "new"), "--begin-with", str(tmp_path / "learner")]
    assert main(line) == BAD_DATA
    assert "its sha256 is not the one in learner.json" in capsys.readouterr().err


class Stubborn:
    """A task whose lifetimes have the length that they have."""

    def __init__(self) -> None:
        self.spec = make_task("bandit").spec


@pytest.mark.parametrize("name", ["Stubborn", "make_stubborn"])
def test_a_task_that_does_not_take_episodes_is_refused(name: str):
    config = dataclasses.replace(TINY, task=f"tests.training.test_learners:{name}", episodes=7)
    with pytest.raises(
        UsageError, match=r"cannot be made with --episodes|asked for lifetimes of 7 episodes and has 20"
    ):
        setup.make_run_task(config)


def make_stubborn(episodes: int) -> Stubborn:
    del episodes
    return Stubborn()


def test_a_task_is_trained_with_options_of_its_own():
    config = dataclasses.replace(TINY, task="key-box", task_options=("room=5", "time_limit=30"), episodes=7)
    task = setup.make_run_task(config)
    assert (task.room, task.spec.time_limit, task.spec.episodes_per_lifetime) == (5, 30, 7)
    with pytest.raises(UsageError, match="key-box cannot be made with --task-options"):
        setup.make_run_task(dataclasses.replace(TINY, task="key-box", task_options=("doors=2",)))
    for text in ("room", "=5", "a b=1"):
        with pytest.raises(UsageError, match="--task-options takes NAME=VALUE"):
            setup.make_run_task(dataclasses.replace(TINY, task="key-box", task_options=(text,)))
