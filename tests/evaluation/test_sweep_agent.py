"""Sweeps of agents: which settings, how they are named, what is scored, and what is written."""

import csv
import dataclasses

import jax
import numpy as np
import pytest

from orexis import cli
from orexis.config import AgentConfig, BonusConfig, PolicyNetConfig
from orexis.errors import UsageError
from orexis.evaluation.evaluate import Plan, evaluate_source
from orexis.evaluation.lifetimes import evaluate_batch
from orexis.evaluation.sources import Setting, make_source
from orexis.evaluation.sweep_agent import (
    PAPERS,
    PRESET,
    describe,
    differing,
    flatten,
    list_settings,
    parse_changes,
    sweep_agent,
    variations,
    weigh,
    with_changes,
    write_agent_sweep,
)
from orexis.presets import TUNED, preset
from orexis.tasks.probes import Bandit
from tests.instances import norm, small_task
from tests.training.tiny import TINY_META

SETTING = Setting("random-abc", small_task(episodes=4), TINY_META.agent, BonusConfig({"teacher": 0.2}))
PLAN = Plan(num_lifetimes=3, seed=9000)
AGENTS = [("preset", SETTING.config), ("learning_rate 0.4", dataclasses.replace(SETTING.config, learning_rate=0.4))]


@pytest.fixture(scope="module")
def rows():
    return sweep_agent(SETTING, AGENTS, PLAN)


@pytest.mark.parametrize("task", TUNED)
def test_variations_change_one_or_two_things_and_never_twice_the_same(task: str):
    config = TUNED[task].agent
    configs = [with_changes(config, changes) for changes in variations(config)]
    assert config not in configs
    assert len(set(configs)) == len(configs)
    for changes in variations(config):
        assert 1 <= len({name.partition(".")[0] for name in changes}) <= 2
    varied = {name for changes in variations(config) for name in changes}
    assert varied >= {"learning_rate", "rollout_length", "value_cost", "entropy_cost", "gradient_clip", "net.conv_gain"}


def test_rates_and_lengths_vary_around_what_they_are():
    config = AgentConfig(learning_rate=0.01, rollout_length=8)
    rates = [changes["learning_rate"] for changes in variations(config) if list(changes) == ["learning_rate"]]
    assert rates == [0.001, 0.003, 0.03, 0.1]
    lengths = [changes["rollout_length"] for changes in variations(config) if list(changes) == ["rollout_length"]]
    assert lengths == [2, 4, 16]


def test_changes_reach_the_agent_and_its_network_and_read_well():
    config = AgentConfig(net=PolicyNetConfig(hidden_gain=2.0), learning_rate=0.1)
    changes = parse_changes(["net.hidden_gain=1", "gradient_clip=2", "optimizer=adam", "learning_rate=0.1"])
    changed = with_changes(config, changes)
    assert (changed.net.hidden_gain, changed.gradient_clip, changed.optimizer) == (1.0, 2.0, "adam")
    assert differing(changes, config) == {"net.hidden_gain": 1, "gradient_clip": 2, "optimizer": "adam"}
    assert describe(differing(changes, config)) == "net.hidden_gain 1, gradient_clip 2, optimizer adam"
    assert with_changes(changed, {"gradient_clip": None}).gradient_clip is None
    assert with_changes(config, flatten(changed)) == changed


@pytest.mark.parametrize(
    ("texts", "complaint"),
    [
        (["gradient_clip"], "FIELD=VALUE"),
        (["gradient_clip="], "FIELD=VALUE"),
        (["speed=2"], "no setting 'speed'"),
        (["net=2"], "no setting 'net'"),
        (["gradient_clip=-1"], "gradient_clip must be positive"),
        (["rollout_length=2.5"], "rollout_length must be int"),
        (["optimizer=newton"], "optimizer must be one of"),
    ],
)
def test_a_bad_base_is_refused(texts: list[str], complaint: str):
    with pytest.raises(UsageError, match=complaint):
        with_changes(AgentConfig(), parse_changes(texts))


def test_the_preset_stands_beside_another_base_and_only_what_may_vary_varies():
    config = AgentConfig()
    everything = list_settings(config, {}, ())
    assert [changed for changed, _ in everything[:1]] == [PRESET]
    assert len(everything) == 1 + len(variations(config))
    some = list_settings(config, {"gradient_clip": 2.0}, ("learning_rate", "net"))
    assert [changed for changed, _ in some[:2]] == [PRESET, "base: gradient_clip 2"]
    assert some[0][1] == config
    assert all(agent.gradient_clip == 2.0 for _, agent in some[1:])
    assert {agent.learning_rate for _, agent in some} == {0.1, 0.01, 0.03, 0.3, 1.0}
    assert {agent.net.conv_gain for _, agent in some} == {1.0, 2.0, 3.0, 4.0}
    assert {agent.rollout_length for _, agent in some} == {config.rollout_length}
    beside = list_settings(config, {}, (), preset("key-box", "paper"))
    assert beside[1] == (PAPERS, preset("key-box", "paper").agent)
    assert [beside[0], *beside[2:]] == everything
    with pytest.raises(UsageError, match="no setting 'speed' to vary"):
        list_settings(config, {}, ("speed",))


def test_a_row_is_the_evaluation_of_its_agent_under_both_sources(rows):
    assert {row.changed for row in rows} == {"preset", "learning_rate 0.4"}
    assert rows[0].both >= rows[1].both
    for row in rows:
        where = dataclasses.replace(SETTING, config=row.config)
        for source in ("extrinsic-ep", "teacher"):
            table, _ = evaluate_source(source, where, PLAN)
            assert row.scores[source].mean == pytest.approx(table.extrinsic.mean(), abs=1e-6)
            assert row.scores[source].low <= row.scores[source].mean <= row.scores[source].high


def test_growth_is_the_largest_norm_at_the_end_over_that_at_birth():
    setting = dataclasses.replace(SETTING, config=dataclasses.replace(SETTING.config, learning_rate=30.0))
    source = make_source("teacher", setting)
    lives = evaluate_batch(setting.task, source.agent, (), source.reward, source.params, 9000, np.arange(3))
    at_end = max(norm(jax.tree.map(lambda x, i=i: x[i], lives.agent.theta)) for i in range(3))
    keys = jax.random.split(jax.random.key(9000), 8)
    at_birth = np.mean([norm(source.agent.init(key, ()).theta) for key in keys])
    assert at_end > 2 * at_birth  # such steps do not go unseen
    assert weigh("teacher", setting, PLAN) == pytest.approx(at_end / at_birth, rel=1e-3)


def test_a_task_without_a_teacher_is_swept_for_the_extrinsic_reward_alone():
    (row,) = sweep_agent(Setting("bandit", Bandit(episodes=2), TINY_META.agent), AGENTS[:1], PLAN)
    assert list(row.scores) == ["extrinsic-ep"]


def test_the_tables_say_the_same_and_the_command(rows, tmp_path):
    page = write_agent_sweep(tmp_path / "new", "random-abc", rows, ["orexis", "sweep", "agent"])
    text = page.read_text()
    assert "    orexis sweep agent\n" in text
    assert "| **preset** | " in text
    with page.with_suffix(".csv").open() as file:
        read = list(csv.DictReader(file))
    for row, cells in zip(rows, read, strict=True):
        assert cells["changed"] == row.changed
        assert float(cells["learning_rate"]) == row.config.learning_rate
        assert cells["gradient_clip"] == "None"
        assert float(cells["teacher mean"]) == pytest.approx(row.scores["teacher"].mean, abs=1e-4)
        assert f"{row.scores['extrinsic-ep'].mean:.3f} (" in text


def test_the_command_writes_both_files(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("orexis.platform.prepare_jax", lambda num_devices=None: None)
    scales = []

    def swept(setting: Setting, *rest):
        scales.append(setting.bonus.scales["teacher"])
        return sweep_agent(setting, *rest)

    monkeypatch.setattr("orexis.evaluation.sweep_agent.sweep_agent", swept)
    line = ["sweep", "agent", "--task", "random-abc", "--lifetimes", "2", "--episodes", "1", "--out", str(tmp_path)]
    line += ["--cache", str(tmp_path / "cache"), "--base", "net.num_filters=2", "net.num_hidden=4"]
    assert cli.main([*line, "--vary", "optimizer", "--teacher-scale", "0.2"]) == 0
    assert scales == [0.2]
    assert {path.name for path in tmp_path.iterdir()} == {"random-abc-agent.csv", "random-abc-agent.md", "cache"}
    said = capsys.readouterr().out
    assert "--base net.num_filters=2 net.num_hidden=4 --vary optimizer --teacher-scale 0.2" in said
    assert said.count("**") == 6  # three rows, the preset, the paper's and the base
    assert cli.main(["sweep", "count", "--task", "random-abc", "--vary", "net"]) == 2
    assert "belong to orexis sweep agent" in capsys.readouterr().err
    assert cli.main(["sweep", "agent", "--task", "random-abc", "--teacher-scale", "-1"]) == 2
    assert "teacher_scale must not be negative" in capsys.readouterr().err
