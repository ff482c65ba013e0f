"""`orexis reproduce fig7`: verdicts follow the tables, arms are what they say; end to end with the budget of smoke."""

import dataclasses
import json

import numpy as np
import pytest
from matplotlib.figure import Figure

from orexis import cli
from orexis.config_json import differences
from orexis.errors import BadDataError, UsageError
from orexis.evaluation.table import SourceTable
from orexis.presets import PAPER_TASKS, preset
from orexis.reproduce.base import Request, Results, compose_page
from orexis.reproduce.claims import claims_table
from orexis.reproduce.studies import base
from orexis.reproduce.studies.base import BUDGETS, average_seeds, common_updates, find_arms
from orexis.reproduce.studies.fig7 import OPTIONS, STYLES, arms_of, check_arms, facts_table
from orexis.reproduce.studies.fig7_claims import CLAIMS, LABELS, needs_history, needs_lifetime, needs_no_privilege
from orexis.tools.arms import Arm
from orexis.zoo.registry import open_reward
from tests.figures.conftest import make_table

TASK = "random-abc"


def doctored(levels: dict[str, float]) -> dict[str, SourceTable]:
    """Returns a table for each arm whose lifetimes return about `levels`, all alike but for a small common noise."""
    noise = 0.1 * np.random.default_rng(5).normal(size=(16, 50))
    return {name: dataclasses.replace(make_table(name, 16), extrinsic=noise + level) for name, level in levels.items()}


AS_THE_PAPER = {
    "lstm-lifetime": 0.3,
    "lstm-episode": 0.2,
    "ff-lifetime": 0.1,
    "ff-episode": 0.1,
    "lstm-lifetime-unprivileged": 0.28,
}


@pytest.mark.parametrize(
    ("claim", "lower", "number"),
    [
        (needs_history, "ff-lifetime", 2),
        (needs_history, "ff-episode", 2),
        (needs_lifetime, "lstm-episode", 1),
        (needs_no_privilege, "ff-episode", 3),
        (needs_no_privilege, "lstm-episode", 3),
    ],
)
def test_an_arm_that_collects_as_much_or_more_turns_the_verdict(claim, lower, number):
    found = claim(doctored(AS_THE_PAPER), TASK)
    assert found.verdict == "holds"
    assert len(found.comparisons) == number
    assert claim(doctored(AS_THE_PAPER | {lower: 0.35}), TASK).verdict == "does not"
    level = AS_THE_PAPER["lstm-lifetime-unprivileged" if claim is needs_no_privilege else "lstm-lifetime"]
    same = doctored(AS_THE_PAPER)
    wobble = np.where(np.arange(16) % 2, 0.01, -0.01)[:, None]  # more here, less there: nobody can tell
    same[lower] = dataclasses.replace(
        same[lower], extrinsic=same[lower].extrinsic - AS_THE_PAPER[lower] + level + wobble
    )
    assert claim(same, TASK).verdict == "undecided"


def test_differences_are_paired_by_lifetime():
    """Lifetimes differ far more than arms do: unpaired, nothing could be told apart."""
    tables = doctored(AS_THE_PAPER | {"lstm-episode": 0.29})
    luck = np.linspace(-5, 5, 16)[:, None]
    tables = {name: dataclasses.replace(one, extrinsic=one.extrinsic + luck) for name, one in tables.items()}
    (one,) = needs_lifetime(tables, TASK).comparisons
    assert one.value == pytest.approx(0.01)
    assert one.verdict == "holds"


def test_without_an_arm_nothing_is_decided_and_the_page_says_which():
    tables = doctored(AS_THE_PAPER)
    del tables["ff-episode"]
    claim = needs_history(tables, TASK)
    assert (claim.verdict, claim.missing) == ("undecided", "not trained: FF, episode")
    assert "not trained: FF, episode" in claims_table([claim])
    assert needs_lifetime(tables, TASK).verdict == "holds"


def test_the_paper_s_claims_are_judged_where_it_makes_them():
    assert set(CLAIMS) == set(PAPER_TASKS)
    assert all(needs_history in claims for claims in CLAIMS.values())
    assert [task for task, claims in CLAIMS.items() if needs_lifetime not in claims] == ["empty-rooms"]
    assert [task for task, claims in CLAIMS.items() if needs_no_privilege in claims] == ["random-abc"]


def request(tmp_path, **changes) -> Request:
    plain = Request("small", tmp_path, tasks=(TASK,), rewards={}, train=False, cache=None, command=())
    return dataclasses.replace(plain, **changes)


@pytest.mark.parametrize("task", PAPER_TASKS)
def test_arms_differ_from_the_recipe_in_what_they_are_called_after_and_have_one_budget(task, tmp_path):
    arms = arms_of(request(tmp_path, seeds=(0, 4)), task)
    changed = {}
    for name, seeds in arms.items():
        assert [arm.seed for arm in seeds] == [0, 4]
        assert {arm.updates for arm in seeds} == {BUDGETS["small"][task].updates}
        config = cli._parse(seeds[0].command()[1:]).config()
        changed[name] = {line.split(":")[0] for line in differences(preset(task), config.meta)}
    plain = {"lstm-lifetime-unprivileged": {"outer.privileged_value"}} if task == TASK else {}
    assert changed == {
        "lstm-lifetime": set(),
        "lstm-episode": {"outer.objective"},
        "ff-lifetime": {"reward.history"},
        "ff-episode": {"reward.history", "outer.objective"},
        **plain,
    }


def test_every_arm_has_a_name_and_a_look_of_its_own():
    assert set(OPTIONS) == set(LABELS) == set(STYLES)
    looks = [(style.color, style.dashes) for style in STYLES.values()]
    assert len(set(looks)) == len(looks)


def test_seeds_are_averaged_lifetime_by_lifetime():
    one, two = make_table("x", seed=1), make_table("y", seed=2)
    table = average_seeds("both", [one, two])
    assert table.source == "both"
    np.testing.assert_allclose(table.extrinsic, (one.extrinsic + two.extrinsic) / 2)
    np.testing.assert_allclose(average_seeds("x", [one]).extrinsic, one.extrinsic)


def test_without_training_an_arm_is_used_if_it_is_finished(tmp_path, monkeypatch):
    monkeypatch.setattr(base, "train_arm", lambda *a, **k: pytest.fail("trained"))
    done = open_reward(TASK)
    monkeypatch.setattr(base, "find_artefact", lambda name: done)
    enough = base.trained_updates(done)
    arms = {name: [Arm(name, TASK, updates)] for name, updates in (("a", enough), ("b", enough + 1), ("c", 1))}
    for name in ("a", "b"):
        arms[name][0].place(tmp_path / "fig7" / "runs").mkdir(parents=True)
    found = find_arms(request(tmp_path), "fig7", arms)
    assert list(found.runs) == ["a"]
    assert list(found.missing) == ["b", "c"]
    assert "not trained: orexis train random-abc" in found.missing["b"]


def test_a_training_that_was_given_up_is_a_missing_arm(tmp_path, monkeypatch):
    def train(arm, place, **_):
        if arm.name == "b":
            raise BadDataError("nothing was finite")
        return place

    monkeypatch.setattr(base, "train_arm", train)
    arms = {name: [Arm(name, TASK, 1, seed) for seed in (0, 1)] for name in "ab"}
    found = find_arms(request(tmp_path, train=True, runs=tmp_path / "kept"), "fig7", arms)
    assert found.runs == {"a": {seed: str(tmp_path / "kept" / f"{TASK}-a-seed{seed}") for seed in (0, 1)}}
    assert found.missing == {"b": "nothing was finite"}


def test_arms_of_different_budgets_are_not_compared():
    one = open_reward(TASK)
    more = dataclasses.replace(one, record={**one.record, "training": {"updates": 1}})
    assert common_updates({"a": one, "b": one}) == base.trained_updates(one)
    with pytest.raises(UsageError, match=r"different budgets, in updates: a \d+, b 1; choose another --runs"):
        common_updates({"a": one, "b": more})


def test_a_run_of_another_arm_is_refused():
    reward = open_reward(TASK)  # LSTM, for the lifetime
    check_arms({"lstm-lifetime/0": reward})
    for name in ("ff-lifetime", "lstm-episode"):
        with pytest.raises(BadDataError, match=f"the reward of {name}/0 is none: it was trained with history lstm"):
            check_arms({f"{name}/0": reward})


def test_the_page_tells_each_arm_and_what_is_missing():
    interval = {"mean": 0.25, "ci95": [0.2, 0.3]}
    lines = facts_table(
        {
            "mean_episode_return": {"lstm-lifetime": interval, "lstm-episode": interval, "extrinsic-ep": interval},
            "lifetime_return": dict.fromkeys(("lstm-lifetime", "lstm-episode", "extrinsic-ep"), interval),
            "more_than_whole": {"lstm-episode": {"mean": -0.1, "ci95": [-0.2, -0.05]}},
            "seed_means": {"lstm-lifetime": [0.24, 0.26]},
            "trainings": {"lstm-lifetime/0": {"env_steps": 100}, "lstm-lifetime/1": {"env_steps": 120}},
            "missing": {"ff-episode": "why"},
        }
    )
    assert lines[2] == "| LSTM, lifetime | 0.25 (0.2 to 0.3) | 0.25 (0.2 to 0.3) |  | 0.240, 0.260 | 120 |"
    assert "-0.1 (-0.2 to -0.05)" in lines[3]
    assert lines[4].startswith("| extrinsic-ep |")
    assert lines[-1] == "No FF, episode: why."


def test_the_page_says_that_every_arm_had_the_same_budget():
    facts = {"of": "each arm", "reward": "7 updates", "lifetimes": 4, "episodes": 50, "seconds": 1.0}
    results = Results("fig7", "heading", (), Figure(), {TASK: facts}, {TASK: []}, [], 1.0)
    document = {"versions": {}, "command": "x", "budget": "small", "seed": 0, "seconds": 1.0, "tasks": {TASK: facts}}
    assert "4 lifetimes of 50 episodes, 1 s; each arm: 7 updates." in compose_page(results, document)


@pytest.mark.slow
def test_smoke_goes_from_training_to_claims_and_is_done_once(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("orexis.platform.prepare_jax", lambda num_devices=None: None)
    line = ["reproduce", "fig7", "--budget", "smoke", "--out", str(tmp_path), "--cache", str(tmp_path / "cache")]
    assert cli.main(line) == 0
    folder = tmp_path / "fig7"
    assert {path.name for path in folder.iterdir()} == {"fig7.png", "fig7.svg", "claims.json", "README.md", "runs"}
    assert {path.name for path in (folder / "runs").iterdir()} == {f"random-abc-{name}-seed0" for name in OPTIONS}
    document = json.loads((folder / "claims.json").read_text())
    assert {claim["verdict"] for claim in document["claims"]} == {"undecided"}
    assert all(claim["comparisons"] for claim in document["claims"])
    facts = document["tasks"][TASK]
    assert set(facts["mean_episode_return"]) == {*OPTIONS, "extrinsic-ep"}
    assert {one["updates"] for one in facts["trainings"].values()} == {2}
    assert len({one["sha256"] for one in facts["trainings"].values()}) == len(OPTIONS)
    assert str(tmp_path) not in (folder / "claims.json").read_text().replace(document["command"], "")
    monkeypatch.setattr("orexis.evaluation.evaluate.evaluate_lifetimes", lambda *a, **k: pytest.fail("lived again"))
    monkeypatch.setattr(base, "train_arm", lambda *a, **k: pytest.fail("trained again"))
    assert cli.main([*line, "--no-train"]) == 0
