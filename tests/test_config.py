import dataclasses

import pytest

from orexis.config import AgentConfig, HistoryNetConfig, MetaConfig, OuterConfig, PolicyNetConfig, Schedule, TaskSpec

GOOD_SPEC = {"num_actions": 4, "observation_shape": (3, 3, 1), "time_limit": 10, "episodes_per_lifetime": 5}


@pytest.mark.parametrize(
    ("make", "bad", "message"),
    [
        (TaskSpec, {**GOOD_SPEC, "num_actions": 0}, "num_actions must be positive, not 0"),
        (TaskSpec, {**GOOD_SPEC, "observation_shape": (3, 3)}, "observation_shape"),
        (TaskSpec, {**GOOD_SPEC, "observation_shape": (3, 0, 1)}, "observation_shape"),
        (PolicyNetConfig, {"num_hidden": 0}, "num_hidden must be positive, not 0"),
        (PolicyNetConfig, {"head_gain": -0.1}, "head_gain must not be negative, not -0.1"),
        (HistoryNetConfig, {"history": "gru"}, "history must be one of lstm, none, not 'gru'"),
        (HistoryNetConfig, {"num_units": -1}, "num_units must be positive, not -1"),
        (AgentConfig, {"optimizer": "rmsprop"}, "optimizer must be one of sgd, adam, not 'rmsprop'"),
        (AgentConfig, {"learning_rate": 0.0}, "learning_rate must be positive, not 0.0"),
        (AgentConfig, {"discount": 1.1}, r"discount must be in \[0, 1\], not 1.1"),
        (AgentConfig, {"entropy_cost": -1.0}, "entropy_cost must not be negative, not -1.0"),
        (OuterConfig, {"objective": "life"}, "objective must be one of lifetime, episode, not 'life'"),
        (OuterConfig, {"window": 0}, "window must be positive, not 0"),
        (OuterConfig, {"value_learning_rate": 1e38}, r"value_learning_rate must be at most 1e6, not 1e\+38"),
        (OuterConfig, {"reward_learning_rate": Schedule(1e-3, 1e7)}, "reward_learning_rate must be at most 1e6"),
        (OuterConfig, {"average_power": 1e39}, "average_power must be at most 1e6"),
        (Schedule, {"init_value": 0.0, "end_value": 1.0}, "init_value must be positive, not 0.0"),  # geometric
        (Schedule, {"init_value": 1.0, "end_value": 1.0, "transition_begin": -1}, "transition_begin must not be neg"),
        (MetaConfig, {"lifetimes": 0}, "lifetimes must be positive, not 0"),
    ],
)
def test_a_bad_value_is_refused_when_the_config_is_made_and_named(make, bad: dict, message: str):
    with pytest.raises(ValueError, match=message):
        make(**bad)


def test_defaults_are_good_and_frozen():
    config = MetaConfig()
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.lifetimes = 8  # type: ignore[misc]
    assert hash(config) == hash(MetaConfig())
