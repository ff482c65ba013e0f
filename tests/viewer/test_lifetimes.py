"""The page's record of a lifetime: every number where the page looks for it."""

import dataclasses
import json

import numpy as np
import pytest

from orexis.viewer.lifetimes import UNIT, hidden_parameters, lifetimes_data
from tests.viewer.domains import DOMAINS, EXTRINSIC, LEARNED, NUMBER, SEED, extrinsic_life, learned_life, record


@pytest.mark.parametrize("name", DOMAINS)
def test_columns_have_a_number_for_each_step_and_each_moment(name: str):
    told = record(name)
    assert told["shown"] == list(range(told["num_episodes"]))
    for source, life in zip(told["sources"], (learned_life(name), extrinsic_life(name)), strict=True):
        num_steps = len(life.trace.action)
        assert sum(source["episodes"]["length"]) == num_steps
        assert {len(column) for key, column in source["steps"].items() if key != "would_pay"} == {num_steps}
        assert [len(column) for column in source["steps"]["would_pay"]] == 4 * [num_steps]
        assert {len(column) for column in source["moments"].values()} == {num_steps + told["num_episodes"]}
        assert np.array(source["steps"]["intrinsic"]) / UNIT == pytest.approx(life.trace.intrinsic, abs=6e-5)
        assert pytest.approx(life.intrinsic, abs=6e-5) == np.array(source["steps"]["would_pay"]).T / UNIT
        returns = [life.trace.extrinsic[life.trace.episode == episode].sum() for episode in told["shown"]]
        assert source["episodes"]["extrinsic"] == pytest.approx(returns, abs=1e-4)
    json.dumps(told, allow_nan=False)


def test_the_agent_walks_from_the_start_to_where_the_steps_lead():
    told, life = record("random-abc"), learned_life("random-abc")
    source = told["sources"][0]
    cells, place = source["moments"]["cell"], 0
    for episode, length in enumerate(source["episodes"]["length"]):
        arrivals = life.trace.next_observation[life.trace.episode == episode]
        assert cells[place : place + length + 1] == [12, *arrivals]  # the start is the middle of 5×5
        place += length + 1
    assert told["scenes"] == ["A...B" + 15 * "." + "C...."]


def test_the_hidden_goal_is_revealed_and_not_seen():
    told, life = record("empty-rooms"), learned_life("empty-rooms")
    row, column = life.params.goal
    assert "*" not in "".join(told["scenes"])
    assert {scene.index("*") for scene in told["revealed"]} == {11 * row + column}
    assert told["hidden"] == [{"name": "goal", "labels": None, "values": [[row, column]]}]


def test_a_parameter_that_changes_is_told_for_each_episode():
    told = record("nonstationary-abc")
    (rewards,) = told["hidden"]
    assert rewards["labels"] == ["A", "B", "C"]
    first = rewards["values"][0]
    assert sorted(first) == [-1, -0.5, 1]
    assert rewards["values"] == [first, first, first[::-1], first[::-1], first, first]  # swapped every two episodes
    assert hidden_parameters(DOMAINS["nonstationary-abc"].task, learned_life("nonstationary-abc"))[0].changes() == [
        2,
        4,
    ]


def test_a_lifetime_is_thinned_and_its_charts_are_not():
    lives = {LEARNED: learned_life("random-abc"), EXTRINSIC: extrinsic_life("random-abc")}
    told = lifetimes_data(DOMAINS["random-abc"].task, "random-abc", SEED, NUMBER, lives, limit=2)
    assert told["shown_in_words"] == ", ".join(str(episode + 1) for episode in told["shown"])
    assert len(told["shown"]) == 2
    source = told["sources"][0]
    assert len(source["episodes"]["extrinsic"]) == 5
    assert len(source["steps"]["action"]) == sum(source["episodes"]["length"][episode] for episode in told["shown"])


def test_a_source_that_cannot_be_asked_says_so():
    silent = dataclasses.replace(learned_life("random-abc"), intrinsic=None)
    told = lifetimes_data(DOMAINS["random-abc"].task, "random-abc", SEED, NUMBER, {LEARNED: silent})
    assert told["sources"][0]["steps"]["would_pay"] is None
