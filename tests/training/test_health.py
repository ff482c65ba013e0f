"""Signs of a run that goes wrong: each from rows made by hand, each said once, and real agents that diverge."""

import dataclasses
import math
import re

import pytest

from orexis.cli import Train
from orexis.config import RunConfig, TaskSpec
from orexis.errors import OK
from orexis.training import setup
from orexis.training.health import SIGNS, Health, find_signs
from orexis.training.train import train
from tests.training.tiny import TINY, remembered_engine, with_updates

SPEC = TaskSpec(4, (1, 2, 1), time_limit=1, episodes_per_lifetime=20)
HEALTHY = {
    "theta_norm_p99": 20.0,
    "recorded_value_max": 5.0,
    "intrinsic_magnitude": 0.3,
    "policy_entropy": 0.8,
    "lifetime_value_rmse": 0.5,
    "eta_gradient_norm": 2.0,
    "skipped_updates": 0.0,
    "dropped_lifetimes": 0.0,
}
SICK = {
    "diverging agents": {"theta_norm_p99": 100.1},
    "runaway values": {"recorded_value_max": 79.0},  # 5 · 1.571 / (1 − 0.9) is 78.5
    "saturated rewards": {"intrinsic_magnitude": 1.21},
    "stubborn policies": {"policy_entropy": 0.069},  # 5 % of log 4 is 0.0693
    "dropped lifetimes": {"dropped_lifetimes": 1.0},
    "skipped updates": {"skipped_updates": 1.0},
    "no gradient": {"eta_gradient_norm": 0.0},
    "large gradient": {"eta_gradient_norm": 1001.0},
    "lost value": {"lifetime_value_rmse": 5.1},
}
STILL_WELL = (
    *({"theta_norm_p99": 99.0}, {"intrinsic_magnitude": 1.19}, {"policy_entropy": 0.07}),
    {"recorded_value_max": 78.0},
    *({"eta_gradient_norm": 999.0}, {"lifetime_value_rmse": 4.9}),
)


def signs(row: dict, first: dict = HEALTHY, config: RunConfig = TINY, spec: TaskSpec = SPEC) -> dict[str, str]:
    return find_signs(first, {**HEALTHY, **row}, config, spec)


def test_every_sign_is_tried():
    assert set(SICK) == set(SIGNS)


@pytest.mark.parametrize("name", SICK)
def test_a_sick_row_has_its_sign_and_no_other(name: str):
    assert list(signs(SICK[name])) == [name]


@pytest.mark.parametrize("row", [{}, *STILL_WELL, dict.fromkeys(HEALTHY, math.nan)])
def test_a_row_that_is_well_has_none(row: dict):
    assert signs(row) == {}


def test_a_memory_may_fill_and_a_task_may_pay_much_where_a_policy_is_learned():
    for learn, well in (("rl2", "diverging agents"), ("maml", "saturated rewards")):
        config = dataclasses.replace(TINY, meta=dataclasses.replace(TINY.meta, learn=learn))
        found = {name for name, row in SICK.items() if signs(row, config=config)}
        assert well not in found
        assert found >= {"no gradient", "stubborn policies", "lost value"}


def test_an_error_that_was_tiny_at_first_may_grow():
    assert signs({"lifetime_value_rmse": 0.9}, {**HEALTHY, "lifetime_value_rmse": 0.01}) == {}


def test_a_single_action_has_no_entropy_to_lose():
    assert signs({"policy_entropy": 0.0}, spec=dataclasses.replace(SPEC, num_actions=1)) == {}


@pytest.mark.parametrize("name", SICK)
@pytest.mark.parametrize("steady", [False, True])
def test_every_option_that_is_named_exists(name: str, steady: bool):
    agent = dataclasses.replace(TINY.meta.agent, gradient_clip=2.0 if steady else None)
    outer = dataclasses.replace(TINY.meta.outer, gradient_clip=3.0 if steady else None, reward_cost=0.1 * steady)
    meta = dataclasses.replace(TINY.meta, agent=agent, outer=outer)
    (sentence,) = signs(SICK[name], config=dataclasses.replace(TINY, meta=meta)).values()
    options = re.findall(r"--([\w.-]*\w)", sentence)
    assert options
    for option in options:
        place = Train("bandit")
        for part in option.replace("-", "_").split("."):
            assert hasattr(place, part), option
            place = getattr(place, part)


def test_where_the_option_is_in_use_another_value_is_named():
    agent = dataclasses.replace(TINY.meta.agent, gradient_clip=2.0)
    config = dataclasses.replace(TINY, meta=dataclasses.replace(TINY.meta, agent=agent))
    assert "an --agent.gradient-clip below 2" in signs(SICK["diverging agents"], config=config)["diverging agents"]


def test_each_is_said_once_also_after_a_resume():
    health = Health()
    assert health.look(HEALTHY, TINY, SPEC) == []
    bad = {**HEALTHY, **SICK["diverging agents"]}
    assert len(health.look(bad, TINY, SPEC)) == 1
    assert health.look(bad, TINY, SPEC) == []
    again = Health.from_json(health.to_json())
    assert again == health
    assert again.look(bad, TINY, SPEC) == []
    assert len(again.look({**bad, **SICK["lost value"]}, TINY, SPEC)) == 1
    assert Health.from_json(None) == Health()


@pytest.mark.parametrize(
    "told",
    [
        5,
        {},
        {"first": {}, "said": 1},
        {"first": {"x": 1.0}, "said": []},
        {"first": {"theta_norm_p99": "a"}, "said": []},
    ],
)
def test_what_makes_no_sense_is_refused(told):
    with pytest.raises(ValueError, match="health"):
        Health.from_json(told)


def test_a_run_whose_agents_diverge_says_so_once(tmp_path, monkeypatch):
    monkeypatch.setattr(setup, "make_engine", remembered_engine)
    agent = dataclasses.replace(TINY.meta.agent, learning_rate=30.0)
    wild = with_updates(24, meta=dataclasses.replace(TINY.meta, agent=agent), log_every=1)
    assert train(tmp_path, dataclasses.replace(wild, updates=12), resume=False) == OK
    assert train(tmp_path, wild, resume=True) == OK
    log = (tmp_path / "log.txt").read_text()
    assert log.count("warning: agents diverge") == 1
    assert "try --agent.gradient-clip 2" in log
