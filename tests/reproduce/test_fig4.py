"""`orexis reproduce fig4`: verdicts follow the steps of lifetimes; end to end with the budget of smoke."""

import dataclasses
import json

import jax
import numpy as np
import pytest

from orexis import cli
from orexis.config import RunConfig
from orexis.config_json import to_json
from orexis.presets import preset
from orexis.reproduce.claims import claims_table
from orexis.reproduce.fig4_claims import CLAIMS, bonuses_explore, exploits, explores
from orexis.rewards.learned import LearnedReward
from orexis.storage.artefact import write_artefact
from orexis.tasks.empty_rooms import EmptyRooms
from tests.figures.searches import TASK, make_search

NAMES = ("learned", "extrinsic-ep", "count", "icm")
NUM = 12


def searches_of(seen=None, until=None, straight=None):
    """Returns lifetimes of every source that see so many new cells, one a step, find the goal in step `until`, and go
    straight to it in that share of the ten episodes that follow, give or take one."""
    seen, until, straight = seen or {}, until or {}, straight or {}
    searches = {}
    for name in NAMES:
        cells = 30 + np.minimum(np.arange(100), np.full((NUM, 1), seen.get(name, 20)))  # not the start, which is 22
        goals = np.array(TASK.goals)[np.arange(NUM) % 2]
        length = np.full((NUM, 11), 99.0)
        direct = round(10 * straight.get(name, 0.5)) + np.arange(NUM) // 2 % 2
        length[:, 1:][np.arange(10) < direct[:, None]] = 4.0
        found = np.full(NUM, until.get(name, 100))
        searches[name] = make_search(cells, found, goals, length, name)
    return searches


def test_more_cells_seen_while_nobody_has_found_the_goal_is_exploration():
    claim = explores(searches_of(seen={"learned": 40}))
    assert claim.verdict == "holds"
    assert claim.comparisons[0].value == pytest.approx(20)
    assert "(6 lifetimes)" in claim.comparisons[0].what  # those with the far goal
    assert explores(searches_of(seen={"learned": 10})).verdict == "does not"
    assert bonuses_explore(searches_of(seen={"count": 40, "icm": 40})).verdict == "holds"
    assert bonuses_explore(searches_of(seen={"count": 40, "icm": 10})).verdict == "does not"


@pytest.mark.parametrize("finder", ["learned", "extrinsic-ep"])
def test_cells_seen_after_either_agent_found_the_goal_do_not_count(finder):
    searches = searches_of(seen={"learned": 40}, until={finder: 15})
    assert explores(searches).comparisons[0].value == 0
    assert explores(searches).verdict == "undecided"
    assert explores(searches_of(seen={"learned": 40}, until={finder: 30})).comparisons[0].value == 30 - 21


def test_lifetimes_with_the_near_goal_do_not_tell_of_exploration():
    searches = searches_of(seen={"learned": 40})
    near = (searches["learned"].goal == TASK.goals[1]).all(axis=1)
    searches["learned"].cell[near] = 0
    assert explores(searches).comparisons[0].value == pytest.approx(20)


def test_going_straight_more_often_than_under_each_bonus_is_exploitation():
    claim = exploits(searches_of(straight={"learned": 0.8}))
    assert claim.verdict == "holds"
    assert len(claim.comparisons) == 4  # two goals, two bonuses
    assert [round(one.value, 6) for one in claim.comparisons] == [0.3] * 4
    assert exploits(searches_of(straight={"learned": 0.8, "icm": 0.9})).verdict == "does not"
    assert exploits(searches_of(straight={"extrinsic-ep": 0.9, "learned": 0.8})).verdict == "holds"


def test_a_goal_that_hardly_anybody_finds_twice_leaves_it_undecided():
    searches = searches_of(straight={"learned": 0.8})
    table = searches["icm"].table
    outcome = np.where((searches["icm"].goal == TASK.goals[0]).all(axis=1)[:, None], -1, table.outcome)
    searches["icm"] = dataclasses.replace(searches["icm"], table=dataclasses.replace(table, outcome=outcome))
    claim = exploits(searches)
    assert claim.verdict == "undecided"
    assert "too few lifetimes to compare" in claims_table([claim])
    assert len(claim.comparisons) == 3


def test_without_a_learned_reward_nothing_about_it_is_decided():
    searches = searches_of(seen={"count": 40, "icm": 40})
    del searches["learned"]
    assert [claim(searches).verdict for claim in CLAIMS] == ["undecided", "holds", "undecided"]


@pytest.mark.slow
def test_smoke_goes_from_lifetimes_to_claims_and_is_redrawn_without_living_again(tmp_path, monkeypatch):
    monkeypatch.setattr("orexis.platform.prepare_jax", lambda num_devices=None: None)
    task, meta = EmptyRooms(), preset("empty-rooms")
    params = LearnedReward(task.spec, meta.reward).init(jax.random.key(0))
    record = {"config": to_json(RunConfig(task="empty-rooms", meta=meta))}
    write_artefact(tmp_path / "reward", "empty-rooms", task.spec, meta.reward, params, record)
    line = ["reproduce", "fig4", "--budget", "smoke", "--out", str(tmp_path), "--cache", str(tmp_path / "cache")]
    line += ["--rewards", f"empty-rooms={tmp_path / 'reward'}"]
    assert cli.main(line) == 0
    found = {path.name for path in (tmp_path / "fig4").iterdir()}
    assert found == {"fig4.png", "fig4.svg", "claims.json", "README.md"}
    document = json.loads((tmp_path / "fig4" / "claims.json").read_text())
    assert {claim["verdict"] for claim in document["claims"]} == {"undecided"}
    facts = document["tasks"]["empty-rooms"]
    assert [set(sources) for sources in facts["goals"].values()] == [set(NAMES)] * 2
    counts = [sources["count"]["lifetimes"] for sources in facts["goals"].values()]
    assert sum(counts) == facts["lifetimes"] == 10
    assert min(counts) > 0
    monkeypatch.setattr("orexis.evaluation.evaluate.evaluate_lifetimes", lambda *a, **k: pytest.fail("lived again"))
    assert cli.main(line) == 0
