"""Rewards on other action spaces (the paper's ninth figure), and names that are found in files."""

import dataclasses
import json
from pathlib import Path

import jax
import pytest

from orexis import cli
from orexis.agents.q_learning import QLearning
from orexis.config import RunConfig
from orexis.config_json import to_json
from orexis.errors import USAGE, UsageError
from orexis.evaluation.evaluate import evaluate, settle
from orexis.evaluation.sources import Setting, make_source
from orexis.rewards.learned import LearnedReward
from orexis.storage.artefact import write_artefact
from orexis.tasks.abc import RandomABC
from orexis.tasks.actions import with_actions
from tests.training.tiny import TINY_META


def write_reward(
    folder: Path, sees_action: bool, task: str = "random-abc", view: str = "planes", agent_plane: int = 0
) -> str:
    network = dataclasses.replace(TINY_META.reward, sees_action=sees_action, view=view)
    spec = dataclasses.replace(RandomABC().spec, agent_plane=agent_plane)
    params = LearnedReward(spec, network).init(jax.random.key(0))
    config = to_json(RunConfig(task=task, meta=dataclasses.replace(TINY_META, reward=network)))
    write_artefact(folder, task, spec, network, params, {"config": config})
    return str(folder)


@pytest.mark.parametrize("actions", ["permuted", "extended"])
def test_a_reward_that_sees_the_action_is_refused_where_actions_mean_something_else(
    tmp_path, actions, monkeypatch, capsys
):
    name = write_reward(tmp_path / "reward", sees_action=True)
    monkeypatch.setattr("orexis.platform.prepare_jax", lambda num_devices=None: None)
    assert cli.main(["evaluate", name, "--actions", actions, "--lifetimes", "2"]) == USAGE
    assert "use a reward that does not see the action" in capsys.readouterr().err


@pytest.mark.parametrize("view", ["planes", "egocentric"])
@pytest.mark.parametrize(("actions", "num_actions"), [("normal", 4), ("permuted", 4), ("extended", 8)])
def test_a_reward_that_does_not_see_the_action_serves_every_action_space(tmp_path, view, actions, num_actions):
    name = write_reward(tmp_path / "reward", sees_action=False, view=view)
    source = make_source(
        name, Setting("random-abc", with_actions(RandomABC(), actions), TINY_META.agent, actions=actions)
    )
    assert source.agent.spec.num_actions == num_actions


def test_agents_with_diagonals_live_under_an_egocentric_reward(tmp_path):
    name = write_reward(tmp_path / "reward", sees_action=False, view="egocentric")
    (table,) = evaluate([name], "random-abc", num_lifetimes=2, actions="extended")
    assert abs(table.intrinsic).max() > 0.0


def test_an_egocentric_reward_needs_the_agent_in_its_plane(tmp_path):
    name = write_reward(tmp_path / "reward", sees_action=False, view="egocentric", agent_plane=2)
    with pytest.raises(UsageError, match="sees from the agent in plane 2, the task has it in 0"):
        make_source(name, Setting("random-abc", RandomABC(), TINY_META.agent))


def test_agents_live_with_diagonals():
    (table,) = evaluate(["random"], "random-abc", num_lifetimes=2, actions="extended")
    assert table.extrinsic.shape == (2, 50)
    # A corner is two diagonals away: never closer, and with 8 actions some episode is that short.
    assert table.length.min() == 2


@pytest.mark.parametrize(
    ("sources", "task", "actions", "complaint"),
    [
        (["near-optimal"], "random-abc", "permuted", "random-abc with normal actions only"),
        (["random"], "bandit", "extended", "task bandit cannot be used with extended actions"),
    ],
)
def test_what_makes_no_sense_is_refused(sources, task, actions, complaint):
    with pytest.raises(UsageError, match=complaint):
        evaluate(sources, task, 2, actions=actions)


def test_a_task_that_is_named_in_a_file_is_not_imported_unasked(tmp_path):
    name = write_reward(tmp_path / "reward", sees_action=True, task="antigravity:Task")
    with pytest.raises(UsageError, match="add --task antigravity:Task"):
        settle([name], None)
    assert settle([name], "random-abc").task_name == "random-abc"


@pytest.mark.parametrize(("actions", "num_actions"), [("normal", 4), ("permuted", 4), ("extended", 8)])
def test_q_learning_lives_through_the_same_doors(tmp_path, actions, num_actions):
    name = write_reward(tmp_path / "reward", sees_action=False)
    setting = settle([name, "q-extrinsic"], None, actions, "q-learning")
    for source in (name, "q-extrinsic", "extrinsic-ep"):
        agent = make_source(source, setting).agent
        assert isinstance(agent, QLearning)
        assert agent.spec.num_actions == num_actions
        assert (agent.rollout_length, agent.config.net) == (TINY_META.agent.rollout_length, TINY_META.agent.net)
    paid = (make_source(source, setting).reward for source in (name, "q-extrinsic"))
    assert [type(reward).__name__ for reward in paid] == ["LearnedReward", "Extrinsic"]


def test_the_command_line_lets_q_learners_live(tmp_path, monkeypatch, capsys):
    name = write_reward(tmp_path / "reward", sees_action=False)
    monkeypatch.setattr("orexis.platform.prepare_jax", lambda num_devices=None: None)
    line = ["evaluate", name, "--agent", "q-learning", "--actions", "permuted", "--lifetimes", "2", "--fresh"]
    assert cli.main([*line, "--json", str(tmp_path / "result.json")]) == 0
    result = json.loads((tmp_path / "result.json").read_text())
    assert (result["agent"], result["actions"]) == ("q-learning", "permuted")
    assert len(result["sources"][name]["episode_return"]) == 50
