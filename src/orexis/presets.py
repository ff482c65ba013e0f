"""The settings for each domain, as two recipes: the paper's (its table, appendix B.1), and the tuned one that learns.

The rivals of learned rewards, policies by RL² and MAML, have tuned recipes too: `POLICIES`.

A preset is a value; change one with `dataclasses.replace`, or on the command line.
"""

import dataclasses
import re
from typing import Any, Literal

from orexis.config import (
    LEARN,
    AgentConfig,
    BonusConfig,
    EntropyLevel,
    HistoryNetConfig,
    MetaConfig,
    OuterConfig,
    PolicyNetConfig,
    Schedule,
)

_OUTER = OuterConfig(
    gae_lambda=0.95,
    privileged_value=True,
    reward_cost=0.05,
    gradient_clip=3.0,
)
"""What all tuned recipes share: a lifetime value that knows more, rewards that stay small, no spikes."""

RANDOM_ABC = MetaConfig(
    agent=AgentConfig(gradient_clip=2.0),
    outer=dataclasses.replace(
        _OUTER,
        reward_cost=0.02,
        reward_learning_rate=Schedule(2e-3, 3e-4, 10000, transition_begin=2000),
        entropy_cost=Schedule(0.12, 0.01, 8000),
    ),
)
EMPTY_ROOMS = MetaConfig(
    agent=AgentConfig(rollout_length=8, learning_rate=0.03),
    reward=HistoryNetConfig(head_gain=0.2),
    outer=dataclasses.replace(
        _OUTER,
        reward_learning_rate=Schedule(5e-4, 5e-4),
        entropy_cost=Schedule(0.03, 0.005, 4000),
    ),
)
NONSTATIONARY_ABC = MetaConfig(
    agent=AgentConfig(entropy_cost=0.05, gradient_clip=1.5),
    outer=dataclasses.replace(
        _OUTER,
        reward_cost=0.1,
        reward_learning_rate=Schedule(7e-4, 2e-4, 4000, transition_begin=2000),
        entropy_cost=Schedule(0.2, 0.2),
        entropy_level=EntropyLevel(share=0.577),  # 0.8 nats: below, agents do not unlearn at the next swap
    ),
)
KEY_BOX = MetaConfig(
    agent=AgentConfig(rollout_length=2, entropy_cost=0.05, gradient_clip=2.0),
    reward=HistoryNetConfig(view="egocentric", keeps_ledger=True, sees_action=False, head_gain=0.2),
    outer=dataclasses.replace(
        _OUTER,
        window=10,
        reward_cost=0.005,
        reward_learning_rate=Schedule(2e-3, 2e-3),
        entropy_cost=Schedule(0.003, 0.003),
        entropy_level=EntropyLevel(share=0.577),
    ),
)
ANY_TASK = MetaConfig(
    agent=AgentConfig(gradient_clip=1.0),
    outer=dataclasses.replace(
        _OUTER,
        normalize=True,
        reward_learning_rate=Schedule(1e-3, 3e-4, 8000, transition_begin=2000),
        entropy_cost=Schedule(0.1, 0.1),
        entropy_level=EntropyLevel(share=0.5),
    ),
)
"""For a task that nobody tuned for: nothing in it knows the size of the rewards or the number of actions."""

_PROBE = MetaConfig(
    agent=AgentConfig(net=PolicyNetConfig(num_filters=4, num_hidden=16)),
    reward=HistoryNetConfig(num_filters=4, num_hidden=16, num_units=16),
    outer=OuterConfig(window=3, entropy_cost=Schedule(0.05, 0.01, 500)),
    lifetimes=16,
)

TUNED: dict[str, MetaConfig] = {
    "empty-rooms": EMPTY_ROOMS,
    "random-abc": RANDOM_ABC,
    "nonstationary-abc": NONSTATIONARY_ABC,
    "key-box": KEY_BOX,
    "bandit": _PROBE,
    "delayed": _PROBE,
    "constant": _PROBE,
}
"""Our recipes; what each part of them buys is measured in results/sweeps."""


def _paper(rollout_length: int, entropy_cost: float, optimizer: Literal["sgd", "adam"], rate: float) -> MetaConfig:
    """Returns a column of the paper's table; what it leaves open as a plain implementation of its day has it."""
    return MetaConfig(
        agent=AgentConfig(
            net=PolicyNetConfig(conv_gain=1.0, hidden_gain=1.0, head_gain=1.0),
            rollout_length=rollout_length,
            entropy_cost=entropy_cost,
            optimizer=optimizer,
            learning_rate=rate,
        ),
        reward=HistoryNetConfig(conv_gain=1.0, hidden_gain=1.0),
        outer=OuterConfig(
            reward_learning_rate=Schedule(1e-3, 1e-3),
            entropy_cost=Schedule(0.01, 0.01),
            average_power=1e6,  # the artefact is the last eta
        ),
    )


PAPER: dict[str, MetaConfig] = {
    "empty-rooms": _paper(8, 0.01, "sgd", 0.1),
    "random-abc": _paper(4, 0.01, "sgd", 0.1),
    "key-box": _paper(16, 0.01, "adam", 0.001),
    "nonstationary-abc": _paper(4, 0.05, "sgd", 0.1),
}
"""The paper's algorithm and table to the letter (appendix B.1): no clip, no GAE, constant rates, planes."""


def _rl2(reward: MetaConfig, steps: int, **outer: Any) -> MetaConfig:
    """Returns the settings of RL² beside those of a reward: windows of about `steps` steps, no cost on rewards."""
    return dataclasses.replace(
        reward,
        reward=dataclasses.replace(
            reward.reward, view="planes", keeps_ledger=False, sees_clock=False, sees_action=True, head_gain=0.1
        ),
        outer=dataclasses.replace(
            reward.outer,
            window=max(1, steps // reward.agent.rollout_length),
            reward_cost=0.0,
            **outer,
        ),
        learn="rl2",
    )


def _maml(reward: MetaConfig, **outer: Any) -> MetaConfig:
    """Returns the settings of MAML beside those of a reward: the same agents, no cost on rewards."""
    settings: dict[str, Any] = {"reward_cost": 0.0, **outer}
    return dataclasses.replace(reward, outer=dataclasses.replace(reward.outer, **settings), learn="maml")


_RATE = Schedule(1e-3, 2e-4, 10000)
_RL2: dict[str, Any] = {
    "reward_learning_rate": Schedule(5e-4, 1e-4, 10000),
    "gradient_clip": 1.0,
    "entropy_cost": Schedule(0.02, 0.005, 4000),
    "entropy_level": EntropyLevel(),
}
_HELD: dict[str, Any] = {
    "entropy_cost": Schedule(0.05, 0.05),
    "entropy_level": EntropyLevel(share=0.6),
}  # else C is all they know
POLICIES: dict[str, dict[str, MetaConfig]] = {
    "rl2": {task: _rl2(reward, 50, **_RL2) for task, reward in TUNED.items()},
    "maml": {
        **{task: _maml(reward, reward_learning_rate=_RATE) for task, reward in TUNED.items()},
        "random-abc": _maml(RANDOM_ABC, reward_learning_rate=Schedule(1e-3, 2e-4, 4000), **_HELD),
    },
}
"""The recipes of policies, by how they are learned; what was tried is in docs/explanation/policies.md."""
_ANY_POLICY: dict[str, MetaConfig] = {
    "rl2": _rl2(ANY_TASK, 50, reward_learning_rate=_RATE),
    "maml": _maml(ANY_TASK, reward_learning_rate=_RATE),
}

RECIPES = ("tuned", "paper")

VALIDATE_EVERY = 500
"""Updates between two validations of a run, unless it asks for others or, with None, for none."""
EVALUATION_LIFETIMES = 256
"""Fresh lifetimes of an evaluation that does not say how many."""

_EPISODES = {"empty-rooms": 60, "key-box": 60}


def training_episodes(task: str, recipe: str = "tuned") -> int | None:
    """Returns how many episodes a lifetime has while a reward is trained; None: as many as the task's own.

    Short lifetimes meet more tasks in the same time, and what is learned on them serves the long ones.
    """
    return _EPISODES.get(task) if recipe == "tuned" else None


def preset(task: str, recipe: str = "tuned", learn: str = "reward") -> MetaConfig:
    """Returns the settings for the task called `task`; a task of your own has those of `ANY_TASK`.

    Raises ValueError for a recipe that the task, or what is to be learned, does not have.
    """
    if learn not in LEARN:
        raise ValueError(f"what can be learned is {', '.join(LEARN)}, not {learn!r}")
    if learn != "reward":
        if recipe != "tuned":
            raise ValueError(f"the paper tells no settings of {learn}; leave the recipe out")
        return POLICIES[learn].get(task, _ANY_POLICY[learn])
    if recipe == "tuned":
        return TUNED.get(task, ANY_TASK)
    if recipe != "paper":
        raise ValueError(f"recipes are {' and '.join(RECIPES)}, not {recipe!r}")
    if task not in PAPER:
        raise ValueError(f"the paper has no settings for {task}; its tasks are {', '.join(PAPER)}")
    return PAPER[task]


PAPER_TASKS = tuple(PAPER)
"""The paper's four domains, in its order."""

BONUSES: dict[str, BonusConfig] = {
    "empty-rooms": BonusConfig({"count": 0.3, "icm": 0.03}),
    "random-abc": BonusConfig({"count": 0.001, "icm": 0.001}),
    "nonstationary-abc": BonusConfig({"count": 0.01, "icm": 0.003}),
    "key-box": BonusConfig({"count": 0.001, "icm": 0.001}),
}
"""The scales of the hand-made bonuses, chosen for each task by the sweeps in results/sweeps."""

PAPER_BONUSES: dict[str, BonusConfig] = {
    **BONUSES,
    "empty-rooms": BonusConfig({"count": 0.1, "icm": 0.03}),
    "key-box": BonusConfig({"count": 0.03, "icm": 0.003}),
}
"""The same for the agents of the paper's recipe, where figure 3 shows them."""


def bonus(task: str, recipe: str = "tuned") -> BonusConfig:
    """Returns what the bonuses of `count` and `icm` weigh on the task called `task`, for the agents of `recipe`."""
    return (PAPER_BONUSES if recipe == "paper" else BONUSES).get(task, BonusConfig())


_USER_TASK = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def check_task_name(task: str) -> None:
    """Raises ValueError if `task` can be no task's name: neither one of ours nor `module:Class`."""
    if task not in TUNED and not _USER_TASK.fullmatch(task):
        raise ValueError(f"unknown task {task!r}; tasks are {', '.join(TUNED)}, or module:Class for your own")
