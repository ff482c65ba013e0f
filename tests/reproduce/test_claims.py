"""Verdicts follow from intervals, and the claims of the third figure read the right columns of the tables."""

import dataclasses
import json

import numpy as np
import pytest

from orexis.evaluation.table import SourceTable
from orexis.presets import PAPER_TASKS
from orexis.reproduce.claims import Claim, Comparison, claims_table, measure
from orexis.reproduce.fig3 import judge
from orexis.reproduce.fig3_claims import (
    CLAIMS,
    better_at_the_end,
    better_at_the_end_than_icm,
    better_in_key_box,
    better_in_key_box_at_the_end,
    more_efficient,
    more_efficient_than_icm,
    near_optimal,
    near_optimal_at_the_end,
    near_optimal_in_key_box,
    near_optimal_in_key_box_at_the_end,
    near_optimal_in_these_key_boxes,
    opens_no_box,
    recovers_sooner,
)
from orexis.rewards.registry import LEARNED
from tests.figures.conftest import make_table

NAMES = (LEARNED, "extrinsic-ep", "extrinsic-life", "count", "icm", "random", "near-optimal")


@pytest.mark.parametrize(
    ("low", "high", "at_least", "verdict"),
    [
        (0.1, 0.2, True, "holds"),
        (-0.2, -0.1, True, "does not"),
        (-0.1, 0.3, True, "undecided"),
        (0.1, 0.2, False, "does not"),
        (-0.2, -0.1, False, "holds"),
        (-0.1, 0.3, False, "undecided"),
    ],
)
def test_the_interval_decides(low, high, at_least, verdict):
    assert Comparison("x", 0.5 * (low + high), low, high, 0.0, at_least).verdict == verdict


def claim_of(*verdicts: str, missing: str = "") -> Claim:
    signs = {"holds": 1.0, "does not": -1.0, "undecided": 0.0}
    parts = tuple(Comparison("x", signs[v], signs[v] - 0.1, signs[v] + 0.1, 0.0) for v in verdicts)
    return Claim("task", "sentence", "reading", parts, missing)


@pytest.mark.parametrize(
    ("verdicts", "whole"),
    [
        (("holds", "holds"), "holds"),
        (("holds", "undecided"), "undecided"),
        (("holds", "undecided", "does not"), "does not"),
        ((), "undecided"),
    ],
)
def test_a_claim_holds_only_if_all_of_it_does(verdicts, whole):
    assert claim_of(*verdicts).verdict == whole
    in_part = claim_of(*verdicts, missing="no learned reward")
    assert in_part.verdict == "undecided"
    assert {one["verdict"] for one in in_part.as_json()["comparisons"]} <= {"undecided"}
    assert not {"holds", "does not"} & {cell.strip() for cell in claims_table([in_part]).split("|")}


def test_a_smoke_run_decides_nothing():
    assert judge("smoke", claim_of("holds")).verdict == "undecided"
    assert judge("small", claim_of("holds")).verdict == "holds"
    assert judge("smoke", claim_of(missing="no learned reward")).missing == "no learned reward"


def test_a_measure_is_the_mean_over_lifetimes_with_its_interval():
    one = measure("x", np.array([0.0, 1.0, 2.0, 3.0]), 0.0)
    assert one.value == 1.5
    assert 0.0 < one.low < 1.5 < one.high < 3.0


def flat(source: str, height: float, num_episodes: int = 1000, opened: float = 0.0) -> SourceTable:
    """Returns a table whose episodes all return about `height`, a share of them ending in a box."""
    table = make_table(source, 8, num_episodes, seed=3)
    outcome = np.full(table.outcome.shape, -1)
    outcome[:, : round(opened * num_episodes)] = 0
    return dataclasses.replace(table, extrinsic=height + 0.001 * table.extrinsic, outcome=outcome[:, ::-1])


def tables_of(**heights: float) -> dict[str, SourceTable]:
    return {name: flat(name, heights.get(name.replace("-", "_"), 0.0)) for name in NAMES}


def test_more_efficient_is_more_than_every_rival():
    assert more_efficient(tables_of(learned=0.5), 1.0).verdict == "holds"
    assert more_efficient(tables_of(learned=0.5, count=0.6), 1.0).verdict == "does not"
    assert more_efficient(tables_of(learned=0.5, random=0.6), 1.0).verdict == "holds"  # the paper does not name it


def test_in_empty_rooms_icm_is_judged_apart_because_the_sentence_does_not_name_it():
    tables = tables_of(learned=0.5, icm=0.6)
    assert more_efficient(tables, 1.0).verdict == better_at_the_end(tables, 1.0).verdict == "holds"
    assert more_efficient_than_icm(tables, 1.0).verdict == "does not"
    assert better_at_the_end_than_icm(tables, 1.0).verdict == "does not"
    tables[LEARNED].extrinsic[:, 900:] = 0.7
    assert more_efficient_than_icm(tables, 1.0).verdict == "does not"
    assert better_at_the_end_than_icm(tables, 1.0).verdict == "holds"
    assert more_efficient_than_icm(tables_of(learned=0.7, icm=0.6), 1.0).verdict == "holds"


@pytest.mark.parametrize(("height", "verdict"), [(0.38, "holds"), (0.30, "does not")])
def test_near_optimal_is_ninety_percent_of_the_hand_made_strategy(height, verdict):
    claim = near_optimal(tables_of(learned=height, near_optimal=0.4), 99.0)
    assert claim.verdict == verdict
    assert claim.comparisons[0].value == pytest.approx(height / 0.4, abs=0.01)


def test_key_box_is_judged_on_its_second_half():
    tables = tables_of(learned=0.38)
    tables[LEARNED].extrinsic[:, :500] = -1.0
    assert near_optimal_in_key_box(tables, 0.4).verdict == "holds"
    tables[LEARNED].extrinsic[:, 500:] = 0.2
    assert near_optimal_in_key_box(tables, 0.4).verdict == "does not"


def test_key_box_is_judged_by_the_best_box_of_its_own_lifetimes_too():
    tables = tables_of(learned=0.1)
    worth = np.array([[0.5, -0.2, 0.1], [-0.4, -0.3, -0.1]] * 4)  # the best boxes: 0.5, and none
    table = tables[LEARNED] = dataclasses.replace(tables[LEARNED], task_params={"rewards": worth})
    table.extrinsic[0::2, 900:], table.extrinsic[1::2, 900:] = 0.48, 0.0
    claim = near_optimal_in_these_key_boxes(tables, 99.0)
    assert claim.verdict == "holds"
    assert claim.comparisons[0].value == pytest.approx(0.5 * (0.48 - 0.9 * 0.5), abs=1e-6)
    table.extrinsic[0::2, 900:] = 0.2
    assert near_optimal_in_these_key_boxes(tables, 99.0).verdict == "does not"


def test_the_last_tenth_is_judged_beside_the_lifetime():
    tables = tables_of(learned=0.1, extrinsic_ep=0.2, near_optimal=0.4)
    for judge_end in (better_at_the_end, near_optimal_at_the_end, near_optimal_in_key_box_at_the_end):
        assert judge_end(tables, 0.4).verdict == "does not"
        assert "last tenth" in judge_end(tables, 0.4).reading
    tables[LEARNED].extrinsic[:, 900:] = 0.39
    for judge_end in (better_at_the_end, near_optimal_at_the_end, near_optimal_in_key_box_at_the_end):
        assert judge_end(tables, 0.4).verdict == "holds"
    assert more_efficient(tables, 0.4).verdict == near_optimal(tables, 0.4).verdict == "does not"


def test_in_key_box_the_reward_is_held_against_every_baseline_too():
    tables = tables_of(learned=0.1, icm=0.2)
    assert better_in_key_box(tables, 0.4).verdict == better_in_key_box_at_the_end(tables, 0.4).verdict == "does not"
    tables[LEARNED].extrinsic[:, 900:] = 0.3
    assert better_in_key_box(tables, 0.4).verdict == "does not"
    assert better_in_key_box_at_the_end(tables, 0.4).verdict == "holds"
    assert better_in_key_box(tables_of(learned=0.3, icm=0.2), 0.4).verdict == "holds"
    assert len(better_in_key_box(tables, 0.4).comparisons) == 4


@pytest.mark.parametrize(("opened", "verdict"), [(0.0, "holds"), (0.1, "does not")])
def test_opening_boxes_is_measured_against_chance(opened, verdict):
    tables = tables_of() | {"extrinsic-ep": flat("extrinsic-ep", 0.0, opened=opened)}
    assert opens_no_box(tables, 0.4).verdict == verdict
    tables["random"] = flat("random", 0.0, opened=opened)
    assert opens_no_box(tables, 0.4).verdict == "holds"


def test_recovery_is_judged_in_the_episodes_after_a_swap_only():
    tables = tables_of(learned=-1.0)
    for swap in (250, 500, 750):
        tables[LEARNED].extrinsic[:, swap : swap + 50] = 0.5
    assert recovers_sooner(tables, 1.0).verdict == "holds"
    tables[LEARNED].extrinsic[:, 250:300] = -5.0
    assert recovers_sooner(tables, 1.0).verdict == "does not"


def test_without_a_learned_reward_nothing_about_it_is_decided():
    tables = tables_of()
    del tables[LEARNED]
    claims = [claim(tables, 1.0) for task in PAPER_TASKS for claim in CLAIMS[task]]
    about_learned = [claim for claim in claims if "extrinsic rewards did not" not in claim.sentence]
    assert len(about_learned) == 12
    assert all(claim.verdict == "undecided" and "no learned reward" in claims_table([claim]) for claim in about_learned)


def test_the_table_and_the_json_tell_every_comparison():
    claim = recovers_sooner(tables_of(learned=1.0), 1.0)
    assert len(claims_table([claim]).splitlines()) == 2 + 4
    found = json.loads(json.dumps(claim.as_json()))
    assert found["verdict"] == "holds"
    assert [one["verdict"] for one in found["comparisons"]] == ["holds"] * 4
