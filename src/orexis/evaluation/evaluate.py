"""`orexis evaluate`: fresh agents live whole lifetimes under each source; what they collect is the score.

A source is a pair of an agent and a reward source. Every source meets the same lifetimes: the
same tasks, the same initial thetas, the same random numbers.
"""

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from orexis.agents.size import lifetime_bytes
from orexis.config import AgentConfig
from orexis.errors import UsageError, check_numbers
from orexis.evaluation.cache import key_of, load, load_trace, save, save_trace
from orexis.evaluation.lifetimes import CHUNK, Trace, evaluate_lifetimes
from orexis.evaluation.sources import SOURCES, Setting, find_artefact, make_source, trained_agent
from orexis.evaluation.table import SourceTable
from orexis.meta.engine import make_mesh
from orexis.platform import require_memory
from orexis.presets import EVALUATION_LIFETIMES, bonus, preset
from orexis.storage.artefact import Artefact
from orexis.tasks.actions import with_actions
from orexis.tasks.registry import TASKS, make_task


def settle_task(
    artefacts: Mapping[str, Artefact], task_name: str | None, recipe: str | None = None
) -> tuple[str, AgentConfig]:
    """Returns the task to evaluate on and the agent's settings: the recipe's if one is named, else those that the
    rewards were trained with, else the tuned ones. artefacts: the learned rewards and policies by name; a policy
    lives with settings of its own."""
    tasks = {artefact.task for artefact in artefacts.values()}
    if task_name is None:
        if len(tasks) != 1:
            raise UsageError(f"say which --task: the sources name {', '.join(sorted(tasks)) or 'none'}")
        task_name = tasks.pop()
        if task_name not in TASKS:  # a name found in a file is never imported unasked
            raise UsageError(f"what is named was learned on a task of its own; if you trust it, add --task {task_name}")
    if recipe is not None:
        try:
            return task_name, preset(task_name, recipe).agent
        except ValueError as error:
            raise UsageError(f"--recipe {recipe}: {error}") from error
    rewards = {name: artefact for name, artefact in artefacts.items() if artefact.kind == "reward"}
    configs = {name: trained_agent(artefact, name) for name, artefact in rewards.items()}
    chosen = next(iter(configs.values()), preset(task_name).agent)
    for name, config in configs.items():
        if config != chosen:
            raise UsageError(
                f"{name} was trained with other agents than {next(iter(configs))}: evaluate them apart, or name the "
                "--recipe whose agents live"
            )
    return task_name, chosen


@dataclasses.dataclass(frozen=True)
class Plan:
    """How many lifetimes to live, which ones, and what to keep of them."""

    num_lifetimes: int = EVALUATION_LIFETIMES
    seed: int = 0
    traced: bool = False  # keep every step too
    cache: Path | None = None  # a folder of tables and traces, see `orexis.evaluation.cache`
    num_steps: int | None = None  # stop each lifetime there, see `evaluate_batch`; None: at its end
    on_progress: Callable[[str, int], None] = lambda source, num_done: None  # hears of the progress, first of zero

    def __post_init__(self) -> None:
        if self.num_steps is not None and self.num_steps < 1:
            raise ValueError(f"a lifetime has at least 1 step, not {self.num_steps}")


def evaluate_source(name: str, setting: Setting, plan: Plan) -> tuple[SourceTable, Trace | tuple[()]]:
    """Returns the table of one source on fresh lifetimes, and their steps if the plan asks for them."""
    source, task = make_source(name, setting), setting.task
    plan.on_progress(name, 0)
    key = key_of(source, setting, plan.num_lifetimes, plan.seed, plan.num_steps) if plan.cache else None
    if plan.cache and key:
        known = load(plan.cache, key, name)
        steps = load_trace(plan.cache, key, plan.num_lifetimes) if plan.traced else ()
        if known is not None and steps is not None:
            plan.on_progress(name, plan.num_lifetimes)
            return known, steps
    params, episodes, trace = evaluate_lifetimes(
        task,
        source.agent,
        source.learned,
        source.reward,
        source.params,
        plan.seed,
        plan.num_lifetimes,
        make_mesh(),
        traced=plan.traced,
        num_steps=plan.num_steps,
        on_progress=lambda num_done: plan.on_progress(name, num_done),
    )
    fields = dataclasses.fields(params) if dataclasses.is_dataclass(params) else ()
    table = SourceTable(
        source=name,
        task=setting.task_name,
        seed=plan.seed,
        extrinsic=np.asarray(episodes.extrinsic),
        intrinsic=np.asarray(episodes.intrinsic),
        length=np.asarray(episodes.length),
        entropy=np.asarray(episodes.entropy) / np.maximum(episodes.length, 1),
        outcome=np.asarray(episodes.outcome),
        outcomes=tuple(getattr(task, "outcomes", ())),
        task_params={field.name: getattr(params, field.name) for field in fields},
    )
    if plan.cache and key:
        save(plan.cache, key, table)
        if isinstance(trace, Trace):
            save_trace(plan.cache, key, trace)
    return table, trace


def settle(
    names: list[str],
    task_name: str | None,
    actions: str = "normal",
    agent: str = "actor-critic",
    episodes: int | None = None,
    recipe: str | None = None,
    options: Mapping[str, Any] = {},
) -> Setting:
    """Returns where the sources called are to live. Raises CommandError where they do not go together.

    Learned rewards and policies are opened here and nowhere else, so that what lives is what is told of it.
    episodes: of a lifetime, if they are to be other than the task's own. recipe: see `settle_task`.
    options: of the task's own, see its class.
    """
    artefacts = {name: find_artefact(name) for name in names if name not in SOURCES}
    task_name, agent_config = settle_task(artefacts, task_name, recipe)
    lengths = {} if episodes is None else {"episodes": episodes}
    try:
        task = with_actions(make_task(task_name, **lengths, **options), actions)
    except (ValueError, TypeError) as error:
        raise UsageError(f"task {task_name} cannot be used with {actions} actions: {error}") from error
    recipe = recipe or "tuned"
    discount = preset(task_name, recipe).outer.discount
    return Setting(task_name, task, agent_config, bonus(task_name, recipe), agent, actions, discount, artefacts)


def evaluate_all(names: list[str], setting: Setting, plan: Plan) -> tuple[list[SourceTable], dict[str, Trace]]:
    """Returns a table for each source called, all on the same lifetimes, and their steps if the plan asks for them."""
    check_numbers(plan.num_lifetimes, plan.seed)
    needed = CHUNK * make_mesh().size * lifetime_bytes(setting.task.spec, setting.config)
    require_memory(needed, "the lifetimes of an evaluation", "evaluate agents with smaller networks")
    results = [evaluate_source(name, setting, plan) for name in names]
    traces = {table.source: trace for table, trace in results if isinstance(trace, Trace)}
    return [table for table, _ in results], traces


def evaluate(
    names: list[str],
    task_name: str | None = None,
    num_lifetimes: int = EVALUATION_LIFETIMES,
    seed: int = 0,
    log: Callable[[str], None] = lambda message: None,
    actions: str = "normal",
    agent: str = "actor-critic",
) -> list[SourceTable]:
    """Returns a table for each source called, all on the same lifetimes; nothing is cached."""
    setting = settle(names, task_name, actions, agent)

    def on_progress(source: str, num_done: int) -> None:
        if num_done == 0:
            log(f"evaluating {source}: {num_lifetimes} lifetimes of {setting.task_name}")

    return evaluate_all(names, setting, Plan(num_lifetimes, seed, on_progress=on_progress))[0]
