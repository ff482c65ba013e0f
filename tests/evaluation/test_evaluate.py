"""Evaluation end to end on tiny lifetimes: files, traces and the cache."""

import csv
import dataclasses
import json

import numpy as np
import pytest

from orexis import cli
from orexis.config import BonusConfig
from orexis.errors import UsageError
from orexis.evaluation import cache
from orexis.evaluation.evaluate import Plan, evaluate_all, evaluate_source, settle
from orexis.evaluation.scores import as_json, write_csv, write_trace
from orexis.evaluation.sources import SOURCES, Setting, make_source
from orexis.presets import preset
from orexis.tasks.abc import RandomABC
from orexis.tasks.probes import Bandit

TASK = Bandit(episodes=6)
SETTING = Setting("bandit", TASK, dataclasses.replace(preset("bandit").agent, rollout_length=4))
NAMES = ["random", "extrinsic-ep"]
RANDOM = make_source("random", SETTING)
PLAN = Plan(num_lifetimes=5, seed=3, traced=True)


@pytest.fixture(scope="module")
def evaluated():
    return evaluate_all(NAMES, SETTING, PLAN)


def test_a_trace_adds_up_to_the_table(evaluated, tmp_path):
    tables, traces = evaluated
    write_trace(tmp_path / "trace.npz", traces)
    with np.load(tmp_path / "trace.npz") as file:
        trace = {name: file[name] for name in file.files}
    assert list(trace["sources"]) == NAMES
    np.testing.assert_array_equal(trace["arrival"], trace["next_observation"])  # as scripts have read it
    for k, table in enumerate(tables):
        for column in ("extrinsic", "intrinsic"):
            returns = np.zeros_like(table.extrinsic)
            lived = trace["episode"][k] >= 0
            lifetimes = np.broadcast_to(np.arange(5)[:, None], lived.shape)
            np.add.at(returns, (lifetimes[lived], trace["episode"][k][lived]), trace[column][k][lived])
            np.testing.assert_allclose(returns, getattr(table, column), rtol=1e-5)
        assert lived.sum() == table.length.sum()
        assert set(np.unique(trace["action"][k][lived])) <= set(range(TASK.spec.num_actions))
        assert (trace["action"][k][~lived] == -1).all()


@pytest.mark.smoke
def test_the_summary_keeps_to_its_contract(evaluated):
    tables, _ = evaluated
    summary = as_json(tables)
    assert set(summary) == {"task", "seed", "sources"}
    assert list(summary["sources"]) == NAMES
    for table in tables:
        part = summary["sources"][table.source]
        np.testing.assert_allclose(part["episode_return"], table.extrinsic.mean(axis=0), rtol=1e-6)
        assert np.shape(part["ci95"]) == (6, 2)
        assert part["n"] == 5
        lifetime = part["lifetime_return"]
        assert lifetime["ci95"][0] <= lifetime["mean"] <= lifetime["ci95"][1]
        assert lifetime["iqm_ci95"][0] <= lifetime["iqm"] <= lifetime["iqm_ci95"][1]
    one, other = (summary["sources"][a]["probability_of_improvement"][b]["value"] for a, b in (NAMES, reversed(NAMES)))
    assert one + other == pytest.approx(1.0)
    gain = summary["sources"][NAMES[0]]["paired_difference"][NAMES[1]]
    paired = tables[0].extrinsic.mean(axis=1) - tables[1].extrinsic.mean(axis=1)
    assert gain["mean"] == pytest.approx(paired.mean(), abs=1e-6)
    assert paired.min() - 1e-6 <= gain["ci95"][0] <= gain["mean"] <= gain["ci95"][1] <= paired.max() + 1e-6
    json.dumps(summary, allow_nan=False)


def test_the_csv_has_a_row_for_each_source_lifetime_and_episode(evaluated, tmp_path):
    tables, _ = evaluated
    write_csv(tmp_path / "rows.csv", tables)
    with (tmp_path / "rows.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 5 * 6
    assert float(rows[7]["extrinsic_return"]) == pytest.approx(tables[0].extrinsic[1, 1], rel=1e-5)
    assert (rows[7]["source"], rows[7]["lifetime"], rows[7]["episode"], rows[7]["seed"]) == ("random", "1", "1", "3")


def test_the_cache_gives_back_what_was_lived_and_lives_no_more(evaluated, tmp_path, monkeypatch):
    table = evaluated[0][1]
    plan = dataclasses.replace(PLAN, traced=False, cache=tmp_path)
    key = cache.key_of(make_source("extrinsic-ep", SETTING), SETTING, 5, 3)
    cache.save(tmp_path, key, table)
    monkeypatch.setattr("orexis.evaluation.evaluate.evaluate_lifetimes", lambda *a, **k: pytest.fail("lived again"))
    found, _ = evaluate_source("extrinsic-ep", SETTING, plan)
    for field in dataclasses.fields(table):
        one, other = getattr(found, field.name), getattr(table, field.name)
        if field.name == "task_params":
            assert one.keys() == other.keys()
        np.testing.assert_equal(one, other)


@pytest.mark.parametrize(
    "change",
    [
        {"source": RANDOM},
        {"num_lifetimes": 6},
        {"seed": 4},
        {"num_steps": 8},
        {"setting": dataclasses.replace(SETTING, task=Bandit(episodes=7))},
        {"setting": dataclasses.replace(SETTING, config=dataclasses.replace(SETTING.config, learning_rate=0.2))},
        {"setting": dataclasses.replace(SETTING, bonus=BonusConfig({"count": 0.7}))},
        {"setting": dataclasses.replace(SETTING, lifetime_discount=0.9)},
    ],
)
def test_whatever_changes_the_table_changes_its_key(change):
    same = {"source": make_source("extrinsic-ep", SETTING), "setting": SETTING, "num_lifetimes": 5, "seed": 3}
    assert cache.key_of(**same) == cache.key_of(**same)
    assert cache.key_of(**(same | change)) != cache.key_of(**same)


def test_other_code_makes_another_key(monkeypatch):
    before = cache.key_of(RANDOM, SETTING, 5, 3)
    monkeypatch.setattr(cache, "code_version", lambda: "another")
    assert cache.key_of(RANDOM, SETTING, 5, 3) != before


def test_a_task_of_the_users_own_is_not_cached():
    assert cache.key_of(RANDOM, dataclasses.replace(SETTING, task_name="mine:Task"), 5, 3) is None


@pytest.mark.parametrize("damage", [b"", b"PK no zip", b"PK\x03\x04", None])
def test_a_damaged_or_missing_table_is_lived_again(evaluated, tmp_path, damage):
    if damage is not None:
        for name in ("key.npz", f"key{cache.BESIDE_TABLE}.npz"):
            (tmp_path / name).write_bytes(damage)
    assert cache.load(tmp_path, "key", "random") is None
    assert cache.load_trace(tmp_path, "key", 5) is None


def test_a_trace_is_kept_beside_its_table(evaluated, tmp_path, monkeypatch):
    plan = dataclasses.replace(PLAN, cache=tmp_path)
    evaluate_source("random", SETTING, plan)
    monkeypatch.setattr("orexis.evaluation.evaluate.evaluate_lifetimes", lambda *a, **k: pytest.fail("lived again"))
    table, trace = evaluate_source("random", SETTING, plan)
    np.testing.assert_equal(table.extrinsic, evaluated[0][0].extrinsic)
    for column in cache.TRACE_COLUMNS:
        np.testing.assert_array_equal(getattr(trace, column), getattr(evaluated[1]["random"], column))
    assert evaluate_source("random", SETTING, dataclasses.replace(plan, traced=False))[1] == ()


def test_a_table_without_its_trace_is_lived_again(evaluated, tmp_path, monkeypatch):
    key = cache.key_of(RANDOM, SETTING, 5, 3)
    cache.save(tmp_path, key, evaluated[0][0])
    monkeypatch.setattr("orexis.evaluation.evaluate.evaluate_lifetimes", lambda *a, **k: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        evaluate_source("random", SETTING, dataclasses.replace(PLAN, cache=tmp_path))


@pytest.mark.parametrize("num_steps", [1, 5, 1000])
def test_the_first_steps_of_a_lifetime_are_the_same_whether_it_goes_on_or_not(evaluated, num_steps):
    (whole_table,), whole = evaluated[0][1:], evaluated[1]["extrinsic-ep"]
    table, first = evaluate_source("extrinsic-ep", SETTING, dataclasses.replace(PLAN, num_steps=num_steps))
    kept = min(-(-num_steps // 4) * 4, whole.episode.shape[1])  # whole rollouts, of four steps
    for column in cache.TRACE_COLUMNS:
        np.testing.assert_array_equal(getattr(first, column), getattr(whole, column)[:, :kept])
    lengths = [[np.sum(row == episode) for episode in range(6)] for row in first.episode]
    np.testing.assert_array_equal(table.length, lengths)
    assert (table.extrinsic[table.length == 0] == 0).all()
    assert (table.length <= whole_table.length).all()


@pytest.mark.parametrize(
    "change",
    [
        {"action": np.zeros((5, 3), np.int32)},
        {"action": np.full((5, 24), "up")},
        {"action": np.full((5, 24), None)},  # objects: reading them could run code
        {"extra": np.zeros((5, 24))},
        dict.fromkeys(cache.TRACE_COLUMNS, np.zeros((4, 24))),
        dict.fromkeys(cache.TRACE_COLUMNS, np.zeros(5)),
    ],
)
def test_a_trace_of_other_shapes_is_lived_again(tmp_path, change):
    columns = {name: np.zeros((5, 24)) for name in cache.TRACE_COLUMNS}
    np.savez(tmp_path / f"key{cache.BESIDE_TABLE}.npz", **columns)
    assert cache.load_trace(tmp_path, "key", 5) is not None
    np.savez(tmp_path / f"key{cache.BESIDE_TABLE}.npz", **(columns | change))
    assert cache.load_trace(tmp_path, "key", 5) is None


def test_a_lifetime_of_no_steps_is_refused():
    with pytest.raises(ValueError, match="at least 1 step, not 0"):
        Plan(num_steps=0)


def test_a_cache_that_cannot_be_written_costs_nothing(evaluated, tmp_path):
    place = tmp_path / "file"
    place.write_text("in the way")
    cache.save(place, "key", evaluated[0][0])
    assert cache.load(place, "key", "random") is None


def test_every_source_is_a_pair_that_lives(evaluated):
    del evaluated
    for name in SOURCES:
        if name in ("near-optimal", "teacher"):  # have no strategy for the bandit
            continue
        source = make_source(name, SETTING)
        assert hash(source.agent) == hash(make_source(name, SETTING).agent)
        assert source.reward == make_source(name, SETTING).reward


def test_a_teacher_lives_where_there_is_one_and_is_refused_in_one_sentence_elsewhere():
    task = RandomABC(episodes=3)
    setting = Setting("random-abc", task, SETTING.config, BonusConfig({"teacher": 0.25}))
    table, _ = evaluate_source("teacher", setting, Plan(num_lifetimes=2, seed=3))
    steps = table.intrinsic / 0.25  # as many more nearer than not
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-5)
    np.testing.assert_array_equal(np.round(steps) % 2, table.length % 2)
    with pytest.raises(UsageError, match="teacher cannot be used on bandit: Bandit has no teacher"):
        evaluate_source("teacher", SETTING, PLAN)


def test_a_cache_that_is_a_file_is_refused(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    line = ["evaluate", "random", "--task", "bandit", "--cache", str(tmp_path / "file")]
    assert cli.main(line) == 2
    assert "is a file; name a folder" in capsys.readouterr().err


def test_a_recipe_and_a_number_of_episodes_decide_who_lives_and_how_long():
    named = settle(["random-abc", "nonstationary-abc"], "random-abc", episodes=7, recipe="paper")
    assert named.config == preset("random-abc", "paper").agent
    assert named.task.spec.episodes_per_lifetime == 7
    assert settle(["extrinsic-ep"], "random-abc").config == preset("random-abc").agent
    with pytest.raises(UsageError, match="--recipe paper: the paper has no settings for bandit"):
        settle(["extrinsic-ep"], "bandit", recipe="paper")
