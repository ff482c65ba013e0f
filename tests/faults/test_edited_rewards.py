"""Rewards whose record or arrays were edited and sealed again: whole to the byte, and still nothing to live under."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from orexis.cli import main
from orexis.config import RunConfig
from orexis.config_json import to_json
from orexis.errors import BAD_DATA, OK, USAGE
from orexis.evaluation.printing import print_summary, say_not_finite
from orexis.evaluation.scores import as_json, write_csv
from orexis.evaluation.table import SourceTable
from orexis.storage.artefact import write_artefact
from orexis.tasks.probes import Bandit
from orexis.tools.doctor import examine
from tests.faults import children
from tests.storage.rewards import random_params
from tests.training.tiny import TINY_META

SPEC = Bandit().spec
NETWORK = TINY_META.reward


def write_sealed(place: Path, agent: dict | None = None, weight: float | None = None) -> Path:
    """Writes a reward for the bandit, its agents' settings changed to `agent`, its weights to ±`weight`."""
    config = to_json(RunConfig(task="bandit", meta=TINY_META))
    config["meta"]["agent"] = _merged(config["meta"]["agent"], agent or {})
    params = random_params(SPEC, NETWORK)
    if weight is not None:
        params = {
            layer: {leaf: np.float32(weight) * np.sign(array) for leaf, array in leaves.items()}
            for layer, leaves in params.items()
        }
    write_artefact(place, "bandit", SPEC, NETWORK, params, {"config": config})
    return place


def _merged(config: dict, changes: dict) -> dict:
    return {
        name: _merged(value, changes.get(name, {})) if isinstance(value, dict) else changes.get(name, value)
        for name, value in config.items()
    }


TOO_LARGE = [
    {"rollout_length": 20_000_000},
    {"net": {"num_hidden": 2_000_000}},
    {"net": {"num_filters": 2_000_000}},
    {"net": {"num_filters": 20_000, "num_hidden": 40_000}},
    {"rollout_length": 2**31 - 1, "optimizer": "adam"},
]


def test_agents_too_large_for_any_machine_are_refused_at_once_with_little_memory(tmp_path, trials):
    folders = [write_sealed(tmp_path / str(number), agent) for number, agent in enumerate(TOO_LARGE)]
    assert children.run(children.refuse_evaluations, folders) == 0
    for folder in folders:
        trials()
        diagnosis = examine(folder)
        assert diagnosis.code == BAD_DATA
        assert "of memory a lifetime, and 134 MB are plausible" in diagnosis.findings[0].text
        assert diagnosis.outlook == "it cannot be used: train or fetch it again"


@pytest.mark.parametrize("place", [("updates",), ("meta", "outer", "window"), ("meta", "agent", "net", "num_hidden")])
def test_the_doctor_looks_at_the_whole_config(tmp_path, place: tuple[str, ...]):
    config = to_json(RunConfig(task="bandit", meta=TINY_META))
    part = config
    for name in place[:-1]:
        part = part[name]
    part[place[-1]] = -1
    write_artefact(tmp_path / "reward", "bandit", SPEC, NETWORK, random_params(SPEC, NETWORK), {"config": config})
    assert f"{place[-1]} must be positive, not -1" in examine(tmp_path / "reward").findings[0].text
    assert main(["evaluate", str(tmp_path / "reward")]) == BAD_DATA


def test_training_refuses_what_evaluation_would(tmp_path, capsys):
    line = ["train", "random-abc", "--run-dir", str(tmp_path / "run"), "--agent.net.num-hidden", "40000"]
    assert main(line) == USAGE
    assert "of memory a lifetime, and 134 MB are plausible" in capsys.readouterr().err


def test_more_lifetimes_at_once_than_fit_are_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("os.sysconf", lambda name: 100)  # a machine of ten kilobytes
    assert main(["evaluate", str(write_sealed(tmp_path / "reward")), "--lifetimes", "4", "--fresh"]) == USAGE
    assert "the lifetimes of an evaluation would take" in capsys.readouterr().err


@pytest.mark.parametrize(
    "edit",
    [{"weight": 3e38}, {"agent": {"learning_rate": 1e30}}, {"agent": {"entropy_cost": 1e38}}],
    ids=["weights", "learning rate", "entropy cost"],
)
def test_lifetimes_that_were_not_finite_are_counted_and_no_mean_is_made_of_them(tmp_path, capsys, edit: dict):
    folder = write_sealed(tmp_path / "reward", **edit)
    files = {name: tmp_path / f"evaluation.{name}" for name in ("json", "csv")}
    places = [f"--{name}={path}" for name, path in files.items()]
    assert main(["evaluate", str(folder), "random", "--lifetimes", "4", "--fresh", *places]) == OK
    told = json.loads(files["json"].read_text())["sources"]
    assert (told[str(folder)]["n"], told[str(folder)]["not_finite"]) == (4, 4)
    assert told[str(folder)]["mean_episode_return"] == {"mean": None, "ci95": [None, None]}
    assert told["random"]["paired_difference"][str(folder)]["mean"] is None
    assert told["random"]["not_finite"] == 0
    with files["csv"].open() as file:
        rows = list(csv.DictReader(file))
    assert {(row["source"], row["lifetime_finite"]) for row in rows} == {(str(folder), "0"), ("random", "1")}
    said = capsys.readouterr().out
    assert "4 of 4 lifetimes under" in said
    assert "there is no mean to give" in said


def test_a_q_learner_that_is_not_finite_is_counted_too(tmp_path, capsys):
    folder = write_sealed(tmp_path / "reward", weight=3e38)
    assert main(["evaluate", str(folder), "--lifetimes", "4", "--fresh", "--agent", "q-learning"]) == OK
    assert "4 of 4 lifetimes under" in capsys.readouterr().out


def table_of(source: str, extrinsic: np.ndarray, entropy: np.ndarray) -> SourceTable:
    zeros = np.zeros_like(extrinsic)
    return SourceTable(source, "bandit", 0, extrinsic, zeros, zeros + 1, entropy, zeros.astype(int) - 1, (), {})


def test_where_some_were_finite_the_means_are_over_these(tmp_path, capsys):
    extrinsic = np.array([[1.0, 2.0], [0.0, 0.0], [3.0, 4.0]])
    entropy = np.array([[0.5, 0.5], [0.5, np.nan], [0.5, 0.5]])
    tables = [table_of("mine", extrinsic, entropy), table_of("other", extrinsic - 1.0, np.full((3, 2), 0.5))]
    mine = as_json(tables)["sources"]["mine"]
    assert (mine["n"], mine["not_finite"]) == (3, 1)
    assert mine["episode_return"] == [2.0, 3.0]
    assert mine["mean_episode_return"]["mean"] == 2.5
    assert mine["paired_difference"]["other"]["mean"] == 1.0
    write_csv(tmp_path / "rows.csv", tables)
    rows = (tmp_path / "rows.csv").read_text().splitlines()
    assert rows[0].endswith(",lifetime_finite")
    assert [row[-1] for row in rows[1:7]] == list("110011")
    print_summary(tables)
    said = capsys.readouterr().out
    assert "not finite" in said
    assert "1 of 3" in said
    assert "the means are over the other 2" in said
    assert say_not_finite(tables[1]) is None
    print_summary(tables[1:])
    assert "not finite" not in capsys.readouterr().out
