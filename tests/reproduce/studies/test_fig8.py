"""`orexis reproduce fig8`: verdicts follow the tables, policies are found; end to end with the budget of smoke."""

import dataclasses
import json

import numpy as np
import pytest

from orexis import cli
from orexis.errors import UsageError
from orexis.evaluation.table import SourceTable
from orexis.presets import preset
from orexis.reproduce.base import Request
from orexis.reproduce.studies import policies
from orexis.reproduce.studies.base import BUDGETS
from orexis.reproduce.studies.fig8 import facts_table
from orexis.reproduce.studies.fig8_claims import (
    CLAIMS,
    ends_alike,
    outperforms_maml,
    policies_start_better,
    policy_collects_more,
)
from orexis.reproduce.studies.policies import equal_updates, find_policies, named_policies, told
from orexis.storage.artefact import Artefact
from orexis.zoo.registry import open_reward
from tests.figures.conftest import make_table

TASK = "random-abc"
NOISE = 0.01 * np.random.default_rng(2).normal(size=(16, 50))


def curve(name: str, first: float, later: float, last: float) -> SourceTable:
    """Returns lifetimes of 50 episodes that return about `first` in the first five, `last` in the last five."""
    returns = np.full((16, 50), later)
    returns[:, :5], returns[:, -5:] = first, last
    return dataclasses.replace(make_table(name, 16), extrinsic=returns + NOISE)


def tables_of(**changed: tuple[float, float, float]) -> dict[str, SourceTable]:
    """Returns tables as the paper has them, but for what is changed."""
    curves = {"learned": (0.0, 0.3, 0.38), "rl2": (0.3, 0.36, 0.39), "maml": (0.2, 0.25, 0.3)} | changed
    return {name: curve(name, *levels) for name, levels in curves.items()}


def test_as_the_paper_has_it_every_claim_holds():
    assert [claim(tables_of(), TASK).verdict for claim in CLAIMS] == ["holds"] * 4
    assert {claim(tables_of(), "key-box").task for claim in CLAIMS} == {"key-box"}


def test_rl2_that_collects_less_refutes():
    assert policy_collects_more(tables_of(rl2=(0.3, 0.2, 0.39)), TASK).verdict == "does not"


@pytest.mark.parametrize("slow", ["rl2", "maml"])
def test_one_policy_that_starts_no_better_refutes_and_only_the_start_counts(slow):
    assert policies_start_better(tables_of(**{slow: (-0.1, 0.5, 0.5)}), TASK).verdict == "does not"
    assert policies_start_better(tables_of(**{slow: (0.1, -0.5, -0.5)}), TASK).verdict == "holds"


def test_maml_that_collects_more_refutes():
    assert outperforms_maml(tables_of(maml=(0.3, 0.36, 0.39)), TASK).verdict == "does not"


@pytest.mark.parametrize(("end", "verdict"), [(0.44, "does not"), (0.42, "holds"), (0.34, "holds"), (0.32, "does not")])
def test_ends_are_alike_within_a_margin_on_either_side(end, verdict):
    claim = ends_alike(tables_of(rl2=(-5.0, -5.0, end)), TASK)
    assert claim.verdict == verdict
    assert [one.value for one in claim.comparisons] == pytest.approx([0.38 - end] * 2)
    assert [one.limit for one in claim.comparisons] == ["≥ -0.05", "≤ 0.05"]


def test_a_claim_without_its_policy_is_undecided_and_says_so():
    tables = tables_of()
    del tables["rl2"]
    missing = {claim.__name__: claim(tables, TASK).missing for claim in CLAIMS}
    assert missing.pop("outperforms_maml") == ""
    assert set(missing.values()) == {"not there: RL²"}


def request(tmp_path, **changes) -> Request:
    plain = Request("small", tmp_path, tasks=(TASK,), rewards={}, train=False, cache=None, command=())
    return dataclasses.replace(plain, **changes)


def a_policy(learn: str, task: str = TASK) -> Artefact:
    """Returns something that says it is a policy."""
    return dataclasses.replace(open_reward(TASK), task=task, learn=learn)


def test_policies_that_are_trained_have_as_many_steps_as_the_reward(tmp_path):
    reward = open_reward(TASK)
    steps = reward.record["training"]["env_steps"]
    for learn in ("rl2", "maml"):
        meta = preset(TASK, learn=learn)
        each = meta.lifetimes * meta.outer.window * meta.agent.rollout_length
        updates = equal_updates(request(tmp_path), TASK, learn, reward)
        assert updates * each == pytest.approx(steps, abs=each)
        alone = equal_updates(request(tmp_path), TASK, learn, None) * each
        own = preset(TASK)
        budget = BUDGETS["small"][TASK].updates * own.lifetimes * own.outer.window * own.agent.rollout_length
        assert alone == pytest.approx(budget, abs=each)
    assert equal_updates(request(tmp_path, budget="smoke"), TASK, "rl2", reward) == 2


def test_named_policies_come_before_shipped_ones_and_those_before_training(tmp_path, monkeypatch):
    monkeypatch.setattr(policies, "find_artefact", lambda name, kind: a_policy(name))
    monkeypatch.setattr(policies, "shipped_names", lambda: [f"{TASK}-rl2", f"{TASK}-maml"])
    found = find_policies(request(tmp_path, policies={TASK: ("rl2",)}), "fig8", TASK, None)
    assert found.runs == {"rl2": {0: "rl2"}, "maml": {0: f"{TASK}-maml"}}
    paper = find_policies(request(tmp_path, policies={TASK: ("rl2",)}, budget="paper"), "fig8", TASK, None)
    assert list(paper.runs) == ["rl2"]
    assert "orexis train random-abc --updates" in paper.missing["maml"]
    assert "--learn maml" in paper.missing["maml"]
    assert told(paper.missing)[-1].startswith("No MAML: not trained")


@pytest.mark.parametrize(
    ("made", "complaint"),
    [
        (lambda name: a_policy("rl2"), "names two by rl2: one and two"),
        (lambda name: a_policy(name, "key-box"), "one was not learned on random-abc"),
    ],
)
def test_policies_that_do_not_go_together_are_refused(made, complaint, tmp_path, monkeypatch):
    monkeypatch.setattr(policies, "find_artefact", lambda name, kind: made(name))
    with pytest.raises(UsageError, match=complaint):
        named_policies(request(tmp_path, policies={TASK: ("one", "two")}), TASK)


def test_the_page_tells_beginnings_ends_and_budgets():
    interval = {"mean": 0.25, "ci95": [0.2, 0.3]}
    names = ("learned", "rl2", "extrinsic-ep")
    facts = {part: dict.fromkeys(names, interval) for part in ("mean_episode_return", "first_tenth", "last_tenth")}
    spent = {"updates": 7, "env_steps": 1_200_000}
    lines = facts_table({**facts, "trainings": {"rl2": spent}, "missing": {"maml": "why"}})
    assert lines[3] == "| RL² | 0.25 (0.2 to 0.3) | 0.25 (0.2 to 0.3) | 0.25 (0.2 to 0.3) | 7 | 1.2e+06 |"
    assert lines[-1] == "No MAML: why."
    both = {"rl2": spent, "learned": {"updates": 5, "env_steps": 600_000}}
    lines = facts_table({**facts, "trainings": both, "missing": {}})
    assert lines[2].endswith("| 5 | 6e+05 |")
    assert lines[3].endswith("| 7 | 1.2e+06, 2.00 of the reward's |")


@pytest.mark.slow
def test_smoke_goes_from_training_to_claims_and_is_done_once(tmp_path, monkeypatch):
    monkeypatch.setattr("orexis.platform.prepare_jax", lambda num_devices=None: None)
    monkeypatch.setattr(policies, "shipped_names", list)  # so that they are trained
    line = ["--budget", "smoke", "--out", str(tmp_path), "--cache", str(tmp_path / "cache"), "--runs"]
    line += [str(tmp_path / "runs")]
    assert cli.main(["reproduce", "fig8", *line]) == 0
    folder = tmp_path / "fig8"
    assert {path.name for path in folder.iterdir()} == {"fig8.png", "fig8.svg", "claims.json", "README.md"}
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {f"{TASK}-{name}-seed0" for name in ("rl2", "maml")}
    document = json.loads((folder / "claims.json").read_text())
    assert {claim["verdict"] for claim in document["claims"]} == {"undecided"}
    assert all(claim["comparisons"] for claim in document["claims"])
    facts = document["tasks"][TASK]
    assert set(facts["mean_episode_return"]) == {"learned", "rl2", "maml", "extrinsic-ep"}
    assert {facts["trainings"][name]["updates"] for name in ("rl2", "maml")} == {2}
    assert cli.main(["reproduce", "fig9", *line]) == 0  # with the same policies
    document = json.loads((tmp_path / "fig9" / "claims.json").read_text())
    assert {claim["verdict"] for claim in document["claims"]} == {"undecided"}
    assert [len(claim["comparisons"]) for claim in document["claims"]] == [2, 1, 2]
    assert len(document["tasks"][TASK]["mean_episode_return"]) == 12
    monkeypatch.setattr("orexis.evaluation.evaluate.evaluate_lifetimes", lambda *a, **k: pytest.fail("lived again"))
    monkeypatch.setattr("orexis.reproduce.studies.base.train_arm", lambda *a, **k: pytest.fail("trained again"))
    for figure in ("fig8", "fig9"):
        assert cli.main(["reproduce", figure, *line, "--no-train"]) == 0
