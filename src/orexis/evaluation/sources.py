"""Who lives, and what it is paid: the names one types, each a pair of an agent and a reward source.

JAX is imported only when a source is made, so that the command line knows every name at once.
"""

import dataclasses
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from orexis.config import AgentConfig, BonusConfig, QLearningConfig
from orexis.errors import BadDataError, UsageError
from orexis.presets import preset
from orexis.storage.artefact import Artefact
from orexis.storage.reading import DamagedError
from orexis.zoo.registry import open_reward, shipped_names

if TYPE_CHECKING:
    from orexis.agents.base import Agent
    from orexis.rewards.base import RewardSource
    from orexis.tasks.base import Task
    from orexis.types import PyTree


@dataclasses.dataclass(frozen=True)
class Source:
    """Who lives, and what it is paid."""

    agent: "Agent"
    reward: "RewardSource"
    params: "PyTree" = ()  # of the reward source


@dataclasses.dataclass(frozen=True)
class Setting:
    """Where a source is to live."""

    task_name: str
    task: "Task"
    config: AgentConfig  # of the agent that learns
    bonus: BonusConfig = BonusConfig()
    agent: str = "actor-critic"  # one of `AGENTS`: who learns
    actions: str = "normal"  # the action space that `task` was given, see `orexis.tasks.actions`

    def learner(self) -> "Agent":
        """Returns the agent that learns, the same one for every reward source."""
        return AGENTS[self.agent](self.task, self.config)


def _actor_critic(task: "Task", config: AgentConfig) -> "Agent":
    from orexis.agents.actor_critic import ActorCritic

    return ActorCritic(task.spec, config)


def _q_learning(task: "Task", config: AgentConfig) -> "Agent":
    from orexis.agents.q_learning import QLearning

    shared = {name: getattr(config, name) for name in ("net", "rollout_length", "discount")}
    return QLearning(task.spec, QLearningConfig(**shared))


AGENTS: dict[str, Callable[["Task", AgentConfig], "Agent"]] = {
    "actor-critic": _actor_critic,
    "q-learning": _q_learning,
}
"""The agents that learn from whatever they are paid, by the name one types."""


def _extrinsic_ep(setting: Setting) -> Source:
    from orexis.rewards.extrinsic import Extrinsic

    return Source(setting.learner(), Extrinsic())


def _q_extrinsic(setting: Setting) -> Source:
    return _extrinsic_ep(dataclasses.replace(setting, agent="q-learning"))


def _extrinsic_life(setting: Setting) -> Source:
    from orexis.rewards.base import Returns
    from orexis.rewards.extrinsic import Extrinsic

    lifetime_discount = preset(setting.task_name).outer.discount
    return Source(setting.learner(), Extrinsic(Returns(discount=lifetime_discount, through_episodes=True)))


def _count(setting: Setting) -> Source:
    from orexis.rewards.count import Count

    return _with_params(setting, Count(setting.task, setting.bonus.count_scale))


def _icm(setting: Setting) -> Source:
    from orexis.rewards.icm import Icm

    return _with_params(setting, Icm(setting.task.spec, setting.bonus.curiosity, setting.bonus.icm_scale))


def _teacher(setting: Setting) -> Source:
    from orexis.rewards.teachers import make_teacher

    try:
        return _with_params(setting, make_teacher(setting.task, setting.bonus.teacher_scale))
    except ValueError as error:
        raise UsageError(f"teacher cannot be used on {setting.task_name}: {error}") from error


def _with_params(setting: Setting, reward: "RewardSource") -> Source:
    import jax

    return Source(setting.learner(), reward, reward.init(jax.random.key(0)))


def _random(setting: Setting) -> Source:
    from orexis.agents.scripted import RandomAgent
    from orexis.rewards.extrinsic import Extrinsic

    return Source(RandomAgent(setting.task.spec, setting.config.rollout_length), Extrinsic())


def _near_optimal(setting: Setting) -> Source:
    from orexis.agents.scripted import NearOptimalABC
    from orexis.rewards.extrinsic import Extrinsic
    from orexis.tasks.abc import RandomABC

    if not isinstance(setting.task, RandomABC):
        raise UsageError("near-optimal is known for random-abc with normal actions only")
    return Source(NearOptimalABC(setting.task.spec, setting.config.rollout_length), Extrinsic())


SOURCES: dict[str, Callable[[Setting], Source]] = {
    "extrinsic-ep": _extrinsic_ep,
    "q-extrinsic": _q_extrinsic,
    "extrinsic-life": _extrinsic_life,
    "count": _count,
    "icm": _icm,
    "teacher": _teacher,
    "random": _random,
    "near-optimal": _near_optimal,
}
"""The sources that need no training, by the name one types."""


def check_source_name(name: str) -> None:
    """Raises UsageError if `name` can be no source: neither a name of ours nor a folder. Needs no JAX."""
    names = (*SOURCES, *shipped_names())
    if name in names:
        return
    if os.path.isfile(name):
        raise UsageError(f"{name} is a file; name a run folder or a reward folder")
    if not os.path.isdir(name):
        raise UsageError(f"unknown source {name!r}: neither a folder nor one of {', '.join(names)}")


def find_artefact(name: str) -> Artefact:
    """Returns the reward called `name`: shipped, or in a reward or run folder. Raises CommandError if there is none."""
    check_source_name(name)
    try:
        return open_reward(name)
    except DamagedError as error:
        raise BadDataError(f"{error}; train or fetch it again") from error
    except FileNotFoundError as error:
        raise UsageError(f"{error}; has the run saved a checkpoint yet?") from error


def make_source(name: str, setting: Setting) -> Source:
    """Returns the source called `name`: one of `SOURCES`, a shipped reward, a run folder or a reward folder."""
    return SOURCES[name](setting) if name in SOURCES else _learned(name, setting)


def _learned(name: str, setting: Setting) -> Source:
    """Returns the learned reward in the folder `name`. Raises UsageError where it does not fit the task."""
    from orexis.rewards.learned import LearnedReward

    artefact, spec = find_artefact(name), setting.task.spec
    if artefact.spec.observation_shape != spec.observation_shape:
        raise UsageError(
            f"the reward {name} was learned on observations of shape {artefact.spec.observation_shape}, "
            f"the task has {spec.observation_shape}"
        )
    if artefact.network.sees_action and artefact.spec.num_actions != spec.num_actions:
        raise UsageError(
            f"the reward {name} sees the action and knows {artefact.spec.num_actions} of them, "
            f"the task has {spec.num_actions}; use a reward that does not see the action"
        )
    if artefact.network.sees_action and setting.actions != "normal":
        raise UsageError(
            f"the reward {name} sees the action, and {setting.actions} actions mean something else; "
            "use a reward that does not see the action (train with --no-reward-sees-action)"
        )
    if artefact.network.view == "egocentric" and artefact.spec.agent_plane != spec.agent_plane:
        raise UsageError(
            f"the reward {name} sees from the agent in plane {artefact.spec.agent_plane}, "
            f"the task has it in {spec.agent_plane}"
        )
    reward = LearnedReward(dataclasses.replace(spec, num_actions=artefact.spec.num_actions), artefact.network)
    return Source(setting.learner(), reward, artefact.params)
