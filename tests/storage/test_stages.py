"""What records tell of the runs that a training went through."""

import pytest

from orexis.storage.card import write_card
from orexis.storage.stages import (
    MOST,
    all_env_steps,
    all_updates,
    check_stages,
    stages_of,
    updates_in_words,
)

FIRST = {"updates": 6, "seed": 1, "lifetimes": 4, "episodes": 60, "env_steps": 100}
OWN = {"updates": 2, "seed": 10, "lifetimes": 4, "env_steps": 30}


def record(**training) -> dict:
    return {"spec": {"episodes_per_lifetime": 200}, "training": {**OWN, **training}}


def test_the_stages_are_those_before_and_then_the_run_itself():
    told = record(stages=[FIRST])
    assert stages_of(told) == [FIRST, {**OWN, "episodes": 200}]
    assert (all_updates(told), all_env_steps(told), updates_in_words(told)) == (8, 130, "8")


def test_one_run_is_one_stage():
    for told in (record(), record(stages=[])):
        assert stages_of(told) == [{**OWN, "episodes": 200}]
        assert (all_updates(told), all_env_steps(told)) == (2, 30)


def test_steps_of_earlier_runs_that_alone_are_told_are_counted_and_their_updates_known_to_be_missing():
    told = record(earlier_env_steps=1000)
    assert stages_of(told)[0] == {"env_steps": 1000}
    assert (all_updates(told), all_env_steps(told)) == (2, 1030)
    assert updates_in_words(told) == "2 and those of earlier stages"


@pytest.mark.parametrize(
    "training", [{"env_steps": 10**400}, {"env_steps": -5}, {"env_steps": "many"}, {"env_steps": True}, 7, None, []]
)
def test_steps_that_nobody_can_have_acted_count_nothing(training):
    assert all_env_steps({"training": training}) == 0
    assert updates_in_words({"training": training}) == "?"
    if isinstance(training, dict):
        assert all_env_steps({"training": {**training, "stages": [FIRST]}}) == 100
        assert all_env_steps({"training": {**OWN, "stages": [training]}}) == 30


@pytest.mark.parametrize("spec", [None, 7, {"episodes_per_lifetime": "many"}])
def test_a_record_that_tells_no_episodes_has_stages_all_the_same(spec):
    assert stages_of({"training": OWN, "spec": spec}) == [OWN]


def test_no_record_grows_without_bound():
    told = stages_of(record(stages=[FIRST] * 1000))
    assert (len(told), told[-1]["updates"]) == (MOST, OWN["updates"])
    assert check_stages(told) == told  # what a run is begun with can be resumed from


@pytest.mark.parametrize("told", [None, {}, "many", [7], [{"updates": -1}], [{**FIRST, "path": "x"}], [FIRST] * 65])
def test_stages_of_a_manifest_that_orexis_does_not_write_are_refused(told):
    with pytest.raises(ValueError, match="stages must be"):
        check_stages(told)


def test_the_card_tells_every_stage():
    told = {"task": "t", "sha256": "0", "network": {"history": "none", "sees_action": True}}
    card = write_card({**told, **record(stages=[FIRST])})
    assert "| updates of the reward | 8 |" in card
    assert (
        "| in stages | 6 updates, lifetimes of 60 episodes, seed 1, 100 steps; then "
        "2 updates, lifetimes of 200 episodes, seed 10, 30 steps |"
    ) in card
    assert "| seed | 1, 10 |" in card
    assert "in stages" not in write_card({**told, **record()})
