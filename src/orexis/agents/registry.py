"""The agents by name: what each is called, how it is made and drawn.

A new agent takes a file of its own and one entry here. One that learns can be given to `--agent`; one that does not
is an evaluation source by its own name. JAX is imported only when an agent is made.
"""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

from orexis import colors
from orexis.config import AgentConfig, HistoryNetConfig, PolicyNetConfig, QLearningConfig, TaskSpec

if TYPE_CHECKING:
    from orexis.agents.base import Agent
    from orexis.tasks.base import Task


@dataclasses.dataclass(frozen=True)
class AgentEntry:
    """One agent."""

    name: str  # as typed
    label: str  # as a reader of a figure sees it
    color: str  # "#RRGGBB", of its lines where it is compared with other agents
    summary: str  # who lives, in docs/reference/evaluation.md
    factory: Callable[["Task", AgentConfig], "Agent"]  # raises ValueError where the task cannot have it
    learns: bool = True  # from whatever it is paid
    dashes: str | tuple[float, tuple[float, ...]] = "-"  # Matplotlib's linestyle


def _actor_critic(task: "Task", config: AgentConfig) -> "Agent":
    from orexis.agents.actor_critic import ActorCritic

    return ActorCritic(task.spec, config)


def _q_learning(task: "Task", config: AgentConfig) -> "Agent":
    from orexis.agents.q_learning import QLearning

    shared = {name: getattr(config, name) for name in ("net", "rollout_length", "discount")}
    return QLearning(task.spec, QLearningConfig(**shared))


def _random(task: "Task", config: AgentConfig) -> "Agent":
    from orexis.agents.scripted import RandomAgent

    return RandomAgent(task.spec, config.rollout_length)


def _near_optimal(task: "Task", config: AgentConfig) -> "Agent":
    from orexis.agents.scripted import NearOptimalABC
    from orexis.tasks.abc import RandomABC

    if not isinstance(task, RandomABC):
        raise ValueError("it is known for random-abc with normal actions only")
    return NearOptimalABC(task.spec, config.rollout_length)


_ENTRIES = (
    AgentEntry("actor-critic", "actor-critic", colors.BLUE, "actor-critic", _actor_critic),
    AgentEntry("q-learning", "Q-learning", colors.VERMILLION, "Q-learning", _q_learning),
    AgentEntry("random", "random", colors.GREY, "a random walk", _random, learns=False),
    AgentEntry(
        name="near-optimal",
        label="near-optimal",
        color=colors.BLACK,
        summary="the paper's hand-made strategy, Random ABC only",
        factory=_near_optimal,
        learns=False,
        dashes=(0, (4, 1.6)),
    ),
)

AGENTS: dict[str, AgentEntry] = {entry.name: entry for entry in _ENTRIES}
"""Every agent by the name one types."""


@dataclasses.dataclass(frozen=True)
class PolicyEntry:
    """One way to learn a policy over lifetimes."""

    name: str  # as `--learn` takes it
    label: str  # as a reader of a figure sees it
    color: str  # "#RRGGBB"
    summary: str  # who lives, in docs/reference/evaluation.md
    factory: Callable[[TaskSpec, HistoryNetConfig | PolicyNetConfig, AgentConfig], "Agent"]
    """Makes the agent that is given the policy as `learned`."""


def _rl2(spec: TaskSpec, network: HistoryNetConfig | PolicyNetConfig, config: AgentConfig) -> "Agent":
    from orexis.agents.rl2 import Rl2

    assert isinstance(network, HistoryNetConfig)
    return Rl2(spec, network, config.rollout_length)


def _maml(spec: TaskSpec, network: HistoryNetConfig | PolicyNetConfig, config: AgentConfig) -> "Agent":
    from orexis.agents.actor_critic import ActorCritic

    assert isinstance(network, PolicyNetConfig)
    return ActorCritic(spec, dataclasses.replace(config, net=network))


POLICIES: dict[str, PolicyEntry] = {
    "rl2": PolicyEntry("rl2", "RL²", colors.WINE, "the policy, which learns in its memory alone", _rl2),
    "maml": PolicyEntry("maml", "MAML", colors.OLIVE, "actor-critic, its theta the learned one at first", _maml),
}
"""The learned policies, by how they were learned."""

LEARNERS = tuple(name for name, entry in AGENTS.items() if entry.learns)
"""The agents that learn from whatever they are paid."""
