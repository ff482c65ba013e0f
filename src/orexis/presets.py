"""The settings for each domain: the paper's table (appendix B.1) and, where it is silent, ours.

A preset is a value; change one with `dataclasses.replace`, or on the command line.
"""

import re

from orexis.config import AgentConfig, BonusConfig, HistoryNetConfig, MetaConfig, OuterConfig, PolicyNetConfig, Schedule

RANDOM_ABC = MetaConfig(
    outer=OuterConfig(
        advantage_trace=0.8,  # the paper's is 1; see docs/implementation_notes.md, section 4
        reward_learning_rate=Schedule(2e-3, 3e-4, 8000, begin=2000),
        entropy_cost=Schedule(0.12, 0.02, 6000),
    )
)
EMPTY_ROOMS = MetaConfig(
    agent=AgentConfig(
        rollout_length=8,
        entropy_cost=0.01,
        optimizer="sgd",
        learning_rate=0.01,  # the paper's 0.1 lets the critic diverge: see docs/implementation_notes.md, section 7
    ),
    outer=OuterConfig(
        advantage_trace=0.9,
        reward_learning_rate=Schedule(2e-3, 3e-4, 4000, begin=1500),
        entropy_cost=Schedule(0.12, 0.005, 2500),  # high at first, as a random reward makes agents stubborn
    ),
)
NONSTATIONARY_ABC = MetaConfig(
    agent=AgentConfig(rollout_length=4, entropy_cost=0.05, optimizer="sgd", learning_rate=0.1),
    outer=OuterConfig(
        advantage_trace=0.9,
        reward_learning_rate=Schedule(1e-3, 1e-4, 3500, begin=1500),
        entropy_cost=Schedule(0.5, 0.2, 8000),  # returns are several times larger than Random ABC's; see section 6
    ),
)
KEY_BOX = MetaConfig(agent=AgentConfig(rollout_length=16, entropy_cost=0.01, optimizer="adam", learning_rate=0.001))

_PROBE = MetaConfig(
    agent=AgentConfig(net=PolicyNetConfig(num_filters=4, num_hidden=16)),
    reward=HistoryNetConfig(num_filters=4, num_hidden=16, num_units=16),
    outer=OuterConfig(window=3, entropy_cost=Schedule(0.05, 0.01, 500)),
    lifetimes=16,
)

PRESETS: dict[str, MetaConfig] = {
    "empty-rooms": EMPTY_ROOMS,
    "random-abc": RANDOM_ABC,
    "nonstationary-abc": NONSTATIONARY_ABC,
    "key-box": KEY_BOX,
    "bandit": _PROBE,
    "delayed": _PROBE,
    "constant": _PROBE,
}


def preset(task: str) -> MetaConfig:
    """Returns the settings for the task called `task`; a task of your own starts from Random ABC's."""
    return PRESETS.get(task, RANDOM_ABC)


PAPER_TASKS = ("empty-rooms", "random-abc", "key-box", "nonstationary-abc")
"""The paper's four domains, in its order."""

BONUSES: dict[str, BonusConfig] = {
    "empty-rooms": BonusConfig(count_scale=0.1, icm_scale=0.003),
    "random-abc": BonusConfig(count_scale=0.001, icm_scale=0.001),
    "nonstationary-abc": BonusConfig(count_scale=0.1, icm_scale=0.03),
}
"""The scales of the hand-made bonuses, chosen for each task by the sweeps in results/sweeps."""


def bonus(task: str) -> BonusConfig:
    """Returns what the bonuses of `count` and `icm` weigh on the task called `task`."""
    return BONUSES.get(task, BonusConfig())


_USER_TASK = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def check_task_name(task: str) -> None:
    """Raises ValueError if `task` can be no task's name: neither one of ours nor `module:Class`."""
    if task not in PRESETS and not _USER_TASK.fullmatch(task):
        raise ValueError(f"unknown task {task!r}; tasks are {', '.join(PRESETS)}, or module:Class for your own")
