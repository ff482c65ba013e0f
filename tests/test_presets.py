import pytest

from orexis.config import OuterConfig
from orexis.presets import ANY_TASK, PAPER_TASKS, POLICIES, TUNED, check_task_name, preset
from orexis.tasks.registry import TASKS, make_task

PAPER = {  # appendix B.1: time limit, episodes, T, entropy, optimiser, learning rate
    "empty-rooms": (100, 200, 8, 0.01, "sgd", 0.1),
    "random-abc": (10, 50, 4, 0.01, "sgd", 0.1),
    "key-box": (100, 5000, 16, 0.01, "adam", 0.001),
    "nonstationary-abc": (10, 1000, 4, 0.05, "sgd", 0.1),
}


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_recipe_has_the_settings_of_its_table_and_none_of_ours(name: str):
    spec, meta = make_task(name).spec, preset(name, "paper")
    agent = meta.agent
    found = (spec.time_limit, spec.episodes_per_lifetime, agent.rollout_length, agent.entropy_cost)
    assert (*found, agent.optimizer, agent.learning_rate) == PAPER[name]
    assert (meta.outer.window, agent.discount, meta.outer.discount, meta.lifetimes) == (5, 0.9, 0.99, 64)
    assert (agent.net.num_filters, agent.net.num_hidden) == (16, 64)
    assert (meta.reward.num_filters, meta.reward.num_hidden, meta.reward.num_units) == (16, 64, 64)
    assert meta.outer.value_learning_rate == 0.001
    rate = meta.outer.reward_learning_rate
    assert rate.init_value == rate.end_value == 0.001
    outer, plain = meta.outer, OuterConfig()
    ours = ("privileged_value", "reward_cost", "gradient_clip", "entropy_level", "normalize", "all_actions")
    assert all(getattr(outer, field) == getattr(plain, field) for field in ours)
    assert (agent.gradient_clip, outer.gae_lambda, meta.reward.view) == (None, 1.0, "planes")


@pytest.mark.parametrize("learn", POLICIES)
def test_policies_have_a_recipe_for_every_task_fair_to_the_rewards(learn: str):
    for name in (*TUNED, "mine:Task"):
        reward, policy = preset(name), preset(name, learn=learn)
        assert (policy.learn, policy.agent, policy.lifetimes) == (learn, reward.agent, reward.lifetimes)
        assert policy.outer.privileged_value == reward.outer.privileged_value  # the same critic for both
        assert (policy.outer.discount, policy.outer.reward_cost) == (reward.outer.discount, 0.0)
        assert policy.reward.view == ("planes" if learn == "rl2" else reward.reward.view)
        sizes = ("num_filters", "num_hidden", "num_units")
        assert all(getattr(policy.reward, size) == getattr(reward.reward, size) for size in sizes)
    with pytest.raises(ValueError, match=f"the paper tells no settings of {learn}"):
        preset("random-abc", "paper", learn)
    with pytest.raises(ValueError, match="what can be learned is reward, rl2, maml, not 'ppo'"):
        preset("random-abc", learn="ppo")


def test_the_paper_has_no_recipe_for_other_tasks_and_there_are_two_recipes():
    assert tuple(PAPER) == PAPER_TASKS
    with pytest.raises(ValueError, match="the paper has no settings for bandit"):
        preset("bandit", "paper")
    with pytest.raises(ValueError, match="recipes are tuned and paper, not 'best'"):
        preset("random-abc", "best")


def test_every_task_has_a_preset_and_the_reverse():
    assert set(TUNED) == set(TASKS)


def test_a_task_of_ones_own_has_settings_that_know_no_scale_of_rewards():
    assert preset("my_module:Mine") == ANY_TASK
    assert ANY_TASK.outer.normalize


@pytest.mark.parametrize("name", ["", "abc", "a:b:c", "../x:Y", "module:", ":Class", "mod ule:Class"])
def test_what_can_be_no_task_is_refused(name: str):
    with pytest.raises(ValueError, match="unknown task"):
        check_task_name(name)
