"""`orexis reproduce fig3`: what is asked for and refused; end to end with the budget of smoke."""

import dataclasses
import json

import numpy as np
import pytest

from orexis import cli
from orexis.evaluation.scores import as_json
from orexis.figures.evaluation import Panel
from orexis.presets import PAPER_TASKS
from orexis.reproduce import fig3
from orexis.reproduce.base import BUDGETS, TITLES, Request, evaluate_sources, find_reward
from orexis.reproduce.fig3 import PAPER_AGENT, Lived, summary, table_of
from tests.figures.conftest import make_table


def test_every_budget_knows_every_task():
    assert set(TITLES) == set(PAPER_TASKS)
    for budget in BUDGETS.values():
        assert set(budget) == set(PAPER_TASKS)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--tasks", "bandit"], "no panel for 'bandit'"),
        (["--tasks", "random-abc", "random-abc"], "none twice"),
        (["--rewards", "random-abc"], "TASK=SOURCE"),
        (["--rewards", "random-abc=nowhere"], "unknown source 'nowhere'"),
    ],
)
def test_a_bad_line_is_refused_in_one_sentence(options, complaint, capsys, tmp_path):
    assert cli.main(["reproduce", "fig3", "--out", str(tmp_path), *options]) == 2
    assert complaint in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def request(tmp_path, **changes) -> Request:
    plain = Request("small", tmp_path, tasks=(), rewards={}, train=False, cache=None, command=())
    return dataclasses.replace(plain, **changes)


def test_a_named_reward_comes_before_a_shipped_one_and_none_is_trained_unasked(tmp_path, monkeypatch):
    assert find_reward(request(tmp_path), "random-abc", tmp_path) == "random-abc"
    named = request(tmp_path, rewards={"random-abc": "random-abc"}, budget="paper")
    assert find_reward(named, "random-abc", tmp_path) == "random-abc"
    monkeypatch.setattr("orexis.reproduce.base.shipped_names", lambda: ["random-abc"])
    assert find_reward(request(tmp_path), "empty-rooms", tmp_path) is None


def test_a_reward_of_another_task_is_refused(tmp_path):
    with pytest.raises(Exception, match="was not learned on key-box"):
        find_reward(request(tmp_path, rewards={"key-box": "random-abc"}), "key-box", tmp_path)


def test_the_summary_of_long_lifetimes_is_what_is_drawn_and_that_of_short_ones_is_whole():
    long, short = make_table("count", 8, 1000, seed=3), make_table("count", 8, 50, seed=3)
    found = summary([long])["sources"]["count"]
    assert len(found["episode_return"]) == len(found["ci95"]) == len(found["episode"]) == 100
    assert found["episode"][:2] == [5.5, 15.5]
    assert found["episode_return"][1] == pytest.approx(long.extrinsic[:, 10:20].mean(), abs=1e-6)
    assert found["ci95"][1][0] < found["episode_return"][1] < found["ci95"][1][1]
    assert summary([short]) == as_json([short])


def test_the_page_tells_how_many_episodes_reached_an_end_in_the_last_tenth():
    table = make_table("count", 8, 50, seed=3)
    outcome = np.full(table.outcome.shape, 2)
    outcome[:, -5:] = [-1, -1, 0, 1, -1]  # the time ends three of the last five
    panel = Panel("Key-Box", (dataclasses.replace(table, outcome=outcome),))
    facts = Lived(panel, artefact=None, optimum=1.0, seconds=0.0).facts()
    assert facts["ended_in_last_tenth"]["count"]["mean"] == pytest.approx(0.4)
    assert table_of(facts)[-1].endswith("| 0.4 (0.4 to 0.4) |")


@pytest.mark.slow
def test_smoke_goes_from_training_to_claims(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("orexis.platform.prepare_jax", lambda num_devices=None: None)
    monkeypatch.setattr("orexis.reproduce.base.shipped_names", lambda: ["random-abc"])  # the others are to be trained
    line = ["reproduce", "fig3", "--budget", "smoke", "--out", str(tmp_path), "--cache", str(tmp_path / "cache")]
    asked: list[tuple[str, str | None]] = []

    def note(request, task, *rest, recipe):
        asked.append((task, recipe))
        return evaluate_sources(request, task, *rest, recipe=recipe)

    monkeypatch.setattr(fig3, "evaluate_sources", note)
    assert cli.main(line) == 0
    found = {path.name for path in (tmp_path / "fig3").iterdir()}
    assert found == {
        *("fig3.png", "fig3.svg", "claims.json", "README.md", "runs"),
        *(f"{task}.json" for task in PAPER_TASKS),
        *(f"{task}-paper-agent.json" for task in PAPER_AGENT),
    }
    document = json.loads((tmp_path / "fig3" / "claims.json").read_text())
    assert list(dict.fromkeys(claim["task"] for claim in document["claims"])) == [
        *PAPER_TASKS,
        *(f"{task}, paper agent" for task in PAPER_AGENT),
    ]
    assert all(claim["comparisons"] for claim in document["claims"])
    assert {claim["verdict"] for claim in document["claims"]} == {"undecided"}  # nothing was learned in two updates
    for task in PAPER_TASKS:
        assert set(document["tasks"][task]["mean_episode_return"]) == {
            *("learned", "extrinsic-ep", "extrinsic-life", "count", "icm", "random", "teacher"),
            *(["near-optimal"] if task == "random-abc" else []),
        }
    assert {task: facts["episodes"] for task, facts in document["tasks"].items()} == {
        "empty-rooms": 4,
        "random-abc": 50,
        "key-box": 4,
        "nonstationary-abc": 20,
        "empty-rooms, paper agent": 4,
        "key-box, paper agent": 4,
    }
    page = (tmp_path / "fig3" / "README.md").read_text()
    assert "## Key-Box\n" in page
    assert "## Key-Box, the paper's agent\n" in page
    tuned, paper = (document["tasks"][name]["last_tenth"] for name in ("empty-rooms", "empty-rooms, paper agent"))
    assert tuned.keys() == paper.keys() == document["tasks"]["empty-rooms"]["mean_episode_return"].keys()
    assert asked == [(task, None) for task in PAPER_TASKS] + [(task, "paper") for task in PAPER_AGENT]
    assert str(tmp_path) not in (tmp_path / "fig3" / "random-abc.json").read_text()
    monkeypatch.setattr("orexis.evaluation.evaluate.evaluate_lifetimes", lambda *a, **k: pytest.fail("lived again"))
    assert cli.main(line) == 0  # redrawn from the cache
