"""Every agent by its name: made for a task, and refused in a sentence where it has none."""

import re

import pytest

from orexis.agents.registry import AGENTS, LEARNERS
from orexis.config import AgentConfig
from orexis.tasks.abc import RandomABC
from orexis.tasks.probes import Bandit


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("actor-critic", "ActorCritic"),
        ("q-learning", "QLearning"),
        ("random", "RandomAgent"),
        ("near-optimal", "NearOptimalABC"),
    ],
)
def test_a_name_makes_its_agent_with_the_settings_rollouts(name: str, kind: str):
    agent = AGENTS[name].factory(RandomABC(), AgentConfig(rollout_length=3))
    assert (type(agent).__name__, agent.rollout_length) == (kind, 3)


def test_those_that_learn_are_apart_from_those_that_do_not():
    assert LEARNERS == ("actor-critic", "q-learning")
    assert set(AGENTS) - set(LEARNERS) == {"random", "near-optimal"}


def test_entries_are_filed_under_their_own_names_and_told_apart():
    assert all(name == entry.name for name, entry in AGENTS.items())
    colors = [entry.color for entry in AGENTS.values()]
    assert len(set(colors)) == len(colors)
    assert all(re.fullmatch("#[0-9A-F]{6}", color) for color in colors)


def test_a_strategy_for_one_task_is_refused_elsewhere():
    with pytest.raises(ValueError, match="known for random-abc with normal actions only"):
        AGENTS["near-optimal"].factory(Bandit(), AgentConfig())
