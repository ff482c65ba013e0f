"""`orexis reproduce fig6`: verdicts follow the tables; end to end with the budget of smoke."""

import dataclasses
import json

import numpy as np
import pytest

from orexis import cli
from orexis.evaluation.table import SourceTable
from orexis.figures.swaps import Swaps
from orexis.reproduce.claims import claims_table
from orexis.reproduce.fig6_claims import CLAIMS, loosens, pays_less, pays_negative, recovers
from tests.figures.conftest import make_table

SWAPS = Swaps(250, 1000)
NAMES = ("learned", "extrinsic-ep", "extrinsic-life", "count", "icm")
EPISODES = np.arange(1000)
NUM = 8


def doctored(name: str, slow: int = 100, falls: float = 0.0, rises: float = 0.0) -> SourceTable:
    """Returns lifetimes that go to the best object at once, lose everything for `slow` episodes after each swap, and
    whose intrinsic return falls, and entropy rises, over the last fifty before it; give or take a hair."""
    table = make_table(name, NUM, 1000, seed=len(name))
    late = np.maximum(0, EPISODES % 250 - 199)
    hair = 0.01 * np.random.default_rng(3).normal(size=(NUM // 2, 1000))
    hair = np.concatenate([hair, -hair])
    extrinsic = np.where((EPISODES >= 250) & (slow > EPISODES % 250), -1.0, 1.0) * np.ones((NUM, 1))
    extrinsic[: NUM // 2, 250] = 1.0  # so that lifetimes differ
    day = EPISODES // 250 % 2
    first = np.arange(NUM) % 2  # who begins with C
    return dataclasses.replace(
        table,
        extrinsic=extrinsic,
        intrinsic=1.0 - falls * late + hair,
        entropy=0.5 + rises * late + hair,
        outcome=np.where((day + first[:, None]) % 2 == 0, 0, 2),
        task_params={"rewards": np.where(first[:, None] == 0, [1.0, -0.5, -1.0], [-1.0, -0.5, 1.0])},
    )


def tables_of(**learned) -> dict[str, SourceTable]:
    return {name: doctored(name, **(learned if name == "learned" else {})) for name in NAMES}


@pytest.mark.parametrize(("falls", "verdict"), [(0.01, "holds"), (-0.01, "does not"), (0.0, "undecided")])
def test_a_reward_that_pays_the_habit_less_and_less_anticipates(falls, verdict):
    claim = pays_less(tables_of(falls=falls), SWAPS)
    assert claim.verdict == verdict
    assert [one.what for one in claim.comparisons] == [f"swap at {swap} ({NUM} lifetimes)" for swap in (250, 500, 750)]
    for one in claim.comparisons:
        assert one.value == pytest.approx(-100 * falls, abs=0.05)


def test_only_episodes_at_the_habitual_object_count():
    tables = tables_of(falls=0.01)
    learned = tables["learned"]
    elsewhere = np.zeros((NUM, 1000), bool)
    elsewhere[:, ::7] = True
    rising = np.maximum(0, EPISODES % 250 - 199)
    intrinsic = np.where(elsewhere, rising, learned.intrinsic)
    away = np.where(elsewhere, 1, learned.outcome)
    tables["learned"] = dataclasses.replace(learned, intrinsic=intrinsic, outcome=away)
    assert pays_less(tables, SWAPS).verdict == "holds"
    tables["learned"] = dataclasses.replace(learned, intrinsic=intrinsic)
    assert pays_less(tables, SWAPS).verdict != "holds"
    tables["learned"] = dataclasses.replace(learned, outcome=np.ones((NUM, 1000), int))  # nobody ever goes there
    claim = pays_less(tables, SWAPS)
    assert claim.verdict == "undecided"
    assert "too few lifetimes to compare" in claims_table([claim])


@pytest.mark.parametrize(("falls", "verdict"), [(0.03, "holds"), (0.01, "does not")])
def test_negative_is_below_zero_in_the_last_ten(falls, verdict):
    claim = pays_negative(tables_of(falls=falls), SWAPS)
    assert claim.verdict == verdict
    assert claim.comparisons[0].value == pytest.approx(1.0 - falls * 45.5, abs=0.02)  # late is 41 … 50 there


@pytest.mark.parametrize(("rises", "verdict"), [(0.01, "holds"), (-0.01, "does not"), (0.0, "undecided")])
def test_entropy_that_rises_before_the_swap_anticipates(rises, verdict):
    assert loosens(tables_of(rises=rises), SWAPS).verdict == verdict


@pytest.mark.parametrize(("slow", "verdict"), [(40, "holds"), (150, "does not"), (100, "undecided")])
def test_recovery_is_compared_with_every_baseline_at_every_swap(slow, verdict):
    claim = recovers(tables_of(slow=slow), SWAPS)
    assert claim.verdict == verdict
    assert len(claim.comparisons) == 12
    assert claim.comparisons[0].value == pytest.approx(100 - slow)


def test_one_baseline_that_is_sooner_is_enough_to_refute():
    tables = tables_of(slow=40) | {"icm": doctored("icm", slow=10)}
    assert recovers(tables, SWAPS).verdict == "does not"


def test_lifetimes_that_had_nothing_to_lose_are_not_compared():
    tables = tables_of(slow=40)
    count = tables["count"]
    extrinsic = np.where(np.arange(NUM)[:, None] < 3, 0.1, count.extrinsic)
    tables["count"] = dataclasses.replace(count, extrinsic=extrinsic)
    claim = recovers(tables, SWAPS)
    assert "count − learned, swap at 250 (5 lifetimes)" in [one.what for one in claim.comparisons]
    assert claim.verdict == "holds"


def test_without_a_learned_reward_nothing_is_decided():
    tables = tables_of(slow=40)
    del tables["learned"]
    assert {claim(tables, SWAPS).missing for claim in CLAIMS} == {"no learned reward"}


@pytest.mark.slow
def test_smoke_has_swaps_and_is_redrawn_without_living_again(tmp_path, monkeypatch):
    monkeypatch.setattr("orexis.platform.prepare_jax", lambda num_devices=None: None)
    line = ["reproduce", "fig6", "--budget", "smoke", "--out", str(tmp_path), "--cache", str(tmp_path / "cache")]
    assert cli.main(line) == 0
    found = {path.name for path in (tmp_path / "fig6").iterdir()}
    assert found == {"fig6.png", "fig6.svg", "claims.json", "README.md"}
    document = json.loads((tmp_path / "fig6" / "claims.json").read_text())
    assert {claim["verdict"] for claim in document["claims"]} == {"undecided"}
    facts = document["tasks"]["nonstationary-abc"]
    assert (facts["episodes"], facts["swap_every"]) == (20, 5)
    assert {tuple(recovery) for recovery in facts["recovery"].values()} == {("5", "10", "15")}
    assert set(facts["mean_episode_return"]) == set(NAMES)
    monkeypatch.setattr("orexis.evaluation.evaluate.evaluate_lifetimes", lambda *a, **k: pytest.fail("lived again"))
    assert cli.main(line) == 0
