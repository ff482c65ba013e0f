"""The learned policies that a reward is held against, RL² and MAML: named, shipped, or trained for as many steps."""

from collections.abc import Mapping

from orexis.agents.registry import POLICIES
from orexis.errors import UsageError
from orexis.evaluation.sources import find_artefact
from orexis.figures.palette import style_of
from orexis.presets import preset
from orexis.reproduce.base import SEED, Request
from orexis.reproduce.studies.base import BUDGETS, Found, find_arms
from orexis.storage.artefact import Artefact
from orexis.storage.stages import all_env_steps
from orexis.tools.arms import Arm
from orexis.zoo.registry import shipped_names

STYLES = {learn: style_of(learn) for learn in POLICIES}


def find_policies(request: Request, figure: str, task: str, reward: Artefact | None) -> Found:
    """Returns each policy of a task, by how it was learned: named, else shipped, else trained now.

    reward: what they are compared with; trained ones get as many environment steps as it had.
    """
    named = named_policies(request, task)
    if request.budget != "paper":
        shipped = {learn: f"{task}-{learn}" for learn in POLICIES}
        named = {learn: name for learn, name in shipped.items() if name in shipped_names()} | named
    arms = {
        learn: [Arm(learn, task, equal_updates(request, task, learn, reward), SEED, ("--learn", learn))]
        for learn in POLICIES
        if learn not in named
    }
    found = find_arms(request, figure, arms)
    return Found({learn: {SEED: name} for learn, name in named.items()} | found.runs, found.missing)


def named_policies(request: Request, task: str) -> dict[str, str]:
    """Returns the policies that were named for a task, by how they were learned. Raises UsageError if one is another
    task's, is none, or is the second of its kind."""
    found: dict[str, str] = {}
    for name in request.policies.get(task, ()):
        artefact = find_artefact(name, "policy")
        if artefact.task != task:
            raise UsageError(f"the policy {name} was not learned on {task}")
        if artefact.learn in found:
            raise UsageError(f"--policies names two by {artefact.learn}: {found[artefact.learn]} and {name}")
        found[artefact.learn] = name
    return found


def equal_updates(request: Request, task: str, learn: str, reward: Artefact | None) -> int:
    """Returns for how many updates a policy is trained to have acted as many steps as the reward's agents did."""
    budget = BUDGETS[request.budget][task].updates
    if request.budget == "smoke":
        return budget
    steps = all_env_steps(reward.record) if reward else 0
    if not steps:
        steps = budget * _steps_of_update(task, "reward")
    return max(1, round(steps / _steps_of_update(task, learn)))


def _steps_of_update(task: str, learn: str) -> int:
    """Returns how many steps all lifetimes together live for one update."""
    meta = preset(task, learn=learn)
    return meta.lifetimes * meta.outer.window * meta.agent.rollout_length


def told(missing: Mapping[str, str]) -> list[str]:
    """Returns a line of the page for each training that is missing."""
    names = {learn: entry.label for learn, entry in POLICIES.items()}
    return [line for name, why in missing.items() for line in ("", f"No {names.get(name, name)}: {why}.")]
