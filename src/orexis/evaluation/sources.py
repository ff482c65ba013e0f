"""Who lives, and what it is paid: the names one types, each a pair of an agent and a reward source.

JAX is imported only when a source is made, so that the command line knows every name at once.
"""

import dataclasses
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from orexis.agents.registry import AGENTS, POLICIES
from orexis.agents.size import check_size
from orexis.config import AgentConfig, BonusConfig, OuterConfig, RunConfig
from orexis.config_json import from_json
from orexis.errors import BadDataError, UsageError
from orexis.rewards.registry import LEARNED, REWARDS, RewardInputs, check_scales
from orexis.storage.artefact import Artefact, Kind
from orexis.storage.reading import DamagedError
from orexis.zoo.registry import open_artefact, shipped_names

if TYPE_CHECKING:
    from orexis.agents.base import Agent
    from orexis.rewards.base import RewardSource
    from orexis.tasks.base import Task
    from orexis.types import PyTree


@dataclasses.dataclass(frozen=True)
class Pair:
    """A source by the names of its halves."""

    reward: str  # of `orexis.rewards.registry`
    agent: str | None = None  # of `orexis.agents.registry`; None: the agent that learns in the setting


SOURCES: dict[str, Pair] = {
    **{name: Pair(name) for name in REWARDS if name != LEARNED},
    "q-extrinsic": Pair("extrinsic-ep", "q-learning"),
    **{name: Pair("extrinsic-ep", name) for name, entry in AGENTS.items() if not entry.learns},
}
"""The sources that need no training, by the name one types; any other name is a learned reward's or policy's."""


@dataclasses.dataclass(frozen=True)
class Source:
    """Who lives, and what it is paid."""

    name: str  # as typed
    agent: "Agent"
    reward: "RewardSource"
    params: "PyTree" = ()  # of the reward source
    artefact: Artefact | None = None  # that a learned reward or policy was read from
    learned: "PyTree" = ()  # what the agent is born with: a learned policy


@dataclasses.dataclass(frozen=True)
class Setting:
    """Where a source is to live."""

    task_name: str
    task: "Task"
    config: AgentConfig  # of the agent that learns
    bonus: BonusConfig = BonusConfig()
    agent: str = "actor-critic"  # one of `orexis.agents.registry.LEARNERS`: who learns
    actions: str = "normal"  # the action space that `task` was given, see `orexis.tasks.actions`
    lifetime_discount: float = OuterConfig.discount  # gamma, of the returns of extrinsic-life
    artefacts: Mapping[str, Artefact] = dataclasses.field(default_factory=dict, compare=False, repr=False)
    """The learned rewards and policies that were opened when this was settled, by name: a training may replace them on
    disk."""

    def __post_init__(self) -> None:
        check_scales(self.bonus.scales)


def check_source_name(name: str) -> None:
    """Raises UsageError if `name` can be no source: neither a name of ours nor a folder. Needs no JAX."""
    names = (*SOURCES, *shipped_names())
    if name in names:
        return
    if os.path.isfile(name):
        raise UsageError(f"{name} is a file; name a run folder, a reward folder or a policy folder")
    if not os.path.isdir(name):
        raise UsageError(f"unknown source {name!r}: neither a folder nor one of {', '.join(names)}")


def find_artefact(name: str, kind: Kind | None = None) -> Artefact:
    """Returns the reward or policy called `name`: shipped, or in its folder or a run folder.

    Raises CommandError if there is none, or if it is not of the `kind` wanted.
    """
    check_source_name(name)
    try:
        artefact = open_artefact(name)
    except DamagedError as error:
        raise BadDataError(f"{error}; train or fetch it again") from error
    except FileNotFoundError as error:
        raise UsageError(f"{error}; has the run saved a checkpoint yet?") from error
    if kind not in (None, artefact.kind):
        raise UsageError(f"{name} is a {artefact.kind}, not a {kind}")
    return artefact


def trained_agent(artefact: Artefact, name: str) -> AgentConfig:
    """Returns the settings of the agents that an artefact was trained with. Raises BadDataError where none can live."""
    try:
        config = from_json(RunConfig, artefact.record.get("config"))
        check_size(artefact.spec, config.meta.agent)
    except ValueError as error:
        raise BadDataError(f"the config of {artefact.kind} {name} cannot be used: {error}") from error
    return config.meta.agent


def is_learned(name: str) -> bool:
    """Returns whether `name` is that of something learned: a shipped one, a path, a folder, or `learned` itself."""
    if name in SOURCES:
        return False
    return name == LEARNED or os.path.basename(name) != name or name in shipped_names() or os.path.isdir(name)


def make_source(name: str, setting: Setting) -> Source:
    """Returns the source called `name`: one of `SOURCES`, a shipped reward or policy, or the folder of one or of a run.

    Raises UsageError where the task cannot have it.
    """
    pair = SOURCES.get(name, Pair(LEARNED))
    artefact = None if name in SOURCES else setting.artefacts.get(name) or find_artefact(name)
    if artefact is not None and artefact.kind == "policy":
        return _make_policy(name, artefact, setting)
    spec, network = setting.task.spec, None
    if artefact is not None:
        _check_fit(name, artefact, setting)
        own = artefact.spec  # a clock tells the share of the lifetimes that the reward was trained on
        spec = dataclasses.replace(spec, num_actions=own.num_actions, episodes_per_lifetime=own.episodes_per_lifetime)
        network = artefact.network
    entry = REWARDS[pair.reward]
    inputs = RewardInputs(
        task=setting.task,
        spec=spec,
        scale=setting.bonus.scales.get(pair.reward, entry.scale or 0.0),
        curiosity=setting.bonus.curiosity,
        lifetime_discount=setting.lifetime_discount,
        network=network,
    )
    try:
        agent = AGENTS[pair.agent or setting.agent].factory(setting.task, setting.config)
        reward = entry.factory(inputs)
    except ValueError as error:
        raise UsageError(f"{name} cannot be used on {setting.task_name}: {error}") from error
    return Source(name, agent, reward, _first_params(reward) if artefact is None else artefact.params, artefact)


def _make_policy(name: str, artefact: Artefact, setting: Setting) -> Source:
    """Returns a learned policy as a source, with the settings that it was trained with, paid what the task pays."""
    spec = setting.task.spec
    if artefact.spec.observation_shape != spec.observation_shape or artefact.spec.num_actions != spec.num_actions:
        raise UsageError(
            f"the policy {name} was learned on observations of shape {artefact.spec.observation_shape} with "
            f"{artefact.spec.num_actions} actions, the task has {spec.observation_shape} and {spec.num_actions}: "
            "a policy serves its own action space only"
        )
    if setting.agent != Setting.agent:
        raise UsageError(
            f"the policy {name} is an agent itself and does not become a {setting.agent} one; leave it or --agent out"
        )
    entry, reward = POLICIES[artefact.learn], REWARDS["extrinsic-ep"]
    agent = entry.factory(spec, artefact.network, trained_agent(artefact, name))
    paid = reward.factory(RewardInputs(task=setting.task, spec=spec))
    return Source(name, agent, paid, artefact=artefact, learned=artefact.params)


def _first_params(reward: "RewardSource") -> "PyTree":
    """Returns the parameters of a reward source that was not trained: the same every time."""
    import jax

    return reward.init(jax.random.key(0))


def _check_fit(name: str, artefact: Artefact, setting: Setting) -> None:
    """Raises UsageError where the learned reward called `name` does not fit the task."""
    spec = setting.task.spec
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
