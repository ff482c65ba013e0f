"""What a window is made of: the plain forms of task, agent and networks, or the fast ones where they apply.

- Observations are row numbers of a table and patches are looked up (`tasks.tabled`,
  `networks.lookup`); the torsos of eta and phi are evaluated once on the table
  (`networks.history.tabulate`): for tasks that can list their observations. Where they see from the agent,
  what they see is looked up instead (`networks.egocentric.Lookup`).
- The hidden matrix of theta is kept factored during a window (`meta.factored`): for agents with SGD.

Both forms are the same function to float32 rounding, which is tested.
"""

import dataclasses
from typing import Any, Literal

import jax.numpy as jnp

from orexis.agents.actor_critic import ActorCritic
from orexis.agents.rl2 import Rl2
from orexis.agents.window import WindowAgent
from orexis.config import MetaConfig
from orexis.meta.factored import FactoredActorCritic
from orexis.meta.learned.base import Learned
from orexis.meta.learned.initialisation import InitialisationLearning
from orexis.meta.learned.policy import PolicyLearning
from orexis.meta.learned.reward import RewardLearning
from orexis.meta.privilege import Privilege
from orexis.meta.value import LifetimeValue
from orexis.networks import egocentric, history
from orexis.networks.egocentric import Lookup
from orexis.networks.lookup import DIRECT, Table
from orexis.rewards.base import RewardSource
from orexis.rewards.extrinsic import Extrinsic
from orexis.rewards.learned import LearnedReward
from orexis.tasks.base import Task
from orexis.tasks.tabled import Tabled, has_table
from orexis.types import PyTree


@dataclasses.dataclass(frozen=True)
class Parts:
    """The makings of a window."""

    task: Task
    agent: Any  # ActorCritic or Rl2, as it is born and carried from window to window
    window_agent: WindowAgent | None  # as it learns inside one; None: it does not
    reward: RewardSource  # what pays the agent
    value: LifetimeValue
    network: Any  # HistoryNetConfig or PolicyNetConfig: eta's
    learned: Learned = RewardLearning()
    table: Table | None = None
    privilege: Privilege | None = None  # None: phi sees what eta sees

    def precompute(self, eta: PyTree, phi: PyTree) -> tuple[PyTree, PyTree]:
        """Returns eta and phi in the form that `reward` and `value` unroll, differentiably: once an update."""
        if self.table is None or not self.value.tabulated:
            return eta, phi
        observations = jnp.asarray(self.table.observations)
        return (
            self.learned.tabulate(self, eta, observations),
            history.tabulate(phi, observations, self.value.remembering),
        )


def count_facts(privilege: Privilege | None) -> int:
    """Returns how many facts a step tells phi beside what eta sees: the hints and one more, see `outer.see_facts`."""
    return 0 if privilege is None else privilege.size + 1


def make_parts(task: Task, config: MetaConfig, engine: Literal["fast", "dense"]) -> Parts:
    """Returns the parts for `task`; `engine="dense"` always means the plain ones."""
    table = Table(task.observation_table()) if engine == "fast" and has_table(task) else None  # type: ignore[attr-defined]
    lookup = None
    if table is not None and config.reward.view == "egocentric" and task.spec.agent_plane is not None:
        lookup = Lookup.of(table.observations, task.spec.agent_plane)
    tabulated = table is not None and not egocentric.replaces_planes(task.spec, config.reward)
    privilege = Privilege.of(task) if config.outer.privileged_value else None
    shared: dict[str, Any] = {
        "task": task if table is None else Tabled(task),
        "value": LifetimeValue(task.spec, config.reward, tabulated, lookup, count_facts(privilege)),
        "network": config.network,
        "table": table,
        "privilege": privilege,
    }
    if config.learn == "rl2":
        policy = Rl2(task.spec, config.reward, config.agent.rollout_length, tabulated)
        return Parts(agent=policy, window_agent=None, reward=Extrinsic(), learned=PolicyLearning(), **shared)
    agent = ActorCritic(task.spec, config.agent, DIRECT if table is None else table)
    window_agent: WindowAgent = agent
    if config.learn == "maml" and config.maml.first_order:
        window_agent = dataclasses.replace(agent, first_order=True)
    elif engine == "fast" and config.agent.optimizer == "sgd":
        window_agent = FactoredActorCritic(agent)
    if config.learn == "maml":
        learned = InitialisationLearning(config.maml)
        return Parts(agent=agent, window_agent=window_agent, reward=Extrinsic(), learned=learned, **shared)
    reward = LearnedReward(task.spec, config.reward, tabulated=tabulated, lookup=lookup)
    return Parts(agent=agent, window_agent=window_agent, reward=reward, **shared)
