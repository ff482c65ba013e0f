"""Learned policies as sources: named like rewards, living beside them, on their own action space only."""

import dataclasses
from pathlib import Path

import jax
import numpy as np
import pytest

from orexis import cli
from orexis.agents.registry import POLICIES
from orexis.config import AgentConfig, Learn, MetaConfig, RunConfig
from orexis.config_json import to_json
from orexis.errors import USAGE, UsageError
from orexis.evaluation import cache
from orexis.evaluation.evaluate import evaluate, settle
from orexis.evaluation.sources import find_artefact, make_source
from orexis.interop.numpy_reward import load_reward
from orexis.storage.artefact import write_artefact
from orexis.tasks.abc import RandomABC
from orexis.types import Last
from tests.evaluation.test_evaluate_actions import write_reward
from tests.training.tiny import TINY_META

FIRST = 2  # the action that the policies below prefer


def write_policy(folder: Path, learn: Learn, task: str = "random-abc", agent: AgentConfig = TINY_META.agent) -> str:
    """Writes a policy that always takes action `FIRST`, at first at least, and returns its folder."""
    meta: MetaConfig = dataclasses.replace(TINY_META, learn=learn, agent=agent)
    spec = RandomABC().spec
    made = POLICIES[learn].factory(spec, meta.network, meta.agent).init(jax.random.key(0), ())
    params = jax.device_get(made.params if learn == "rl2" else made.theta)
    head = "head" if learn == "rl2" else "policy"
    bias = np.where(np.arange(spec.num_actions) == FIRST, 50.0, 0.0).astype(np.float32)
    params = {**params, head: {**params[head], "b": bias}}
    record = {"config": to_json(RunConfig(task=task, meta=meta))}
    write_artefact(folder, task, spec, meta.network, params, record, learn)
    return str(folder)


@pytest.fixture(params=["rl2", "maml"])
def policy(request, tmp_path) -> str:
    return write_policy(tmp_path / request.param, request.param)


def test_what_was_learned_acts_and_is_paid_what_the_task_pays(policy):
    setting = settle([policy], None)
    assert setting.task_name == "random-abc"
    source = make_source(policy, setting)
    state = source.agent.init(jax.random.key(1), source.learned)
    world = np.zeros(setting.task.spec.observation_shape, np.float32)
    action, _, logits, _ = source.agent.act(state, world, Last.nothing(), jax.random.key(0))
    assert int(action) == int(np.argmax(logits)) == FIRST
    (table,) = evaluate([policy], num_lifetimes=2)
    np.testing.assert_array_equal(table.intrinsic, table.extrinsic)
    assert table.entropy[:, 0].max() < 1e-3  # certain of its one action
    (permuted,) = evaluate([policy], num_lifetimes=2, actions="permuted")
    assert permuted.entropy[:, 0].max() < 1e-3


def test_a_policy_lives_beside_a_reward_whose_agents_are_others(tmp_path, policy):
    reward = write_reward(tmp_path / "reward", sees_action=True)
    other = write_policy(tmp_path / "other", "maml", agent=dataclasses.replace(TINY_META.agent, learning_rate=0.5))
    setting = settle([policy, reward, other], None)
    assert setting.config == TINY_META.agent
    assert make_source(other, setting).agent.config.learning_rate == 0.5


def test_a_policy_is_refused_on_another_action_space(policy, monkeypatch, capsys):
    monkeypatch.setattr("orexis.platform.prepare_jax", lambda num_devices=None: None)
    assert cli.main(["evaluate", policy, "--actions", "extended", "--lifetimes", "2"]) == USAGE
    printed = capsys.readouterr().err
    assert "a policy serves its own action space only" in printed
    assert printed.count("\n") == 1
    with pytest.raises(UsageError, match="was learned on observations of shape"):
        make_source(policy, settle([policy], "bandit"))


def test_a_policy_pays_nothing(policy):
    with pytest.raises(ValueError, match="is a policy, not a reward"):
        load_reward(policy)
    with pytest.raises(UsageError, match="is a policy, not a reward"):
        find_artefact(policy, "reward")


def test_tables_of_policies_are_known_by_their_agents_too(tmp_path):
    keys = set()
    for number, rate in enumerate((0.1, 0.2)):
        name = write_policy(
            tmp_path / str(number), "maml", agent=dataclasses.replace(AgentConfig(), learning_rate=rate)
        )
        setting = settle([name], None)
        keys.add(cache.key_of(make_source(name, setting), setting, 2, 3))
    assert len(keys) == 2
