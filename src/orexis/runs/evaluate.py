"""`orexis evaluate`: fresh agents live whole lifetimes under each source; what they collect is the score.

A source is a pair of an agent and a reward source. Every source meets the same lifetimes: the
same tasks, the same initial thetas, the same dice.
"""

import csv
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from orexis.config import AgentConfig, MetaConfig, from_json
from orexis.figures.table import SourceTable
from orexis.meta.engine import make_mesh
from orexis.meta.living import live_many
from orexis.presets import preset
from orexis.runs.errors import BadDataError, UsageError, check_numbers
from orexis.runs.sources import SOURCES, Setting, find_artefact, make_source
from orexis.statistics import bootstrap_interval, interquartile_mean
from orexis.tasks.actions import with_actions
from orexis.tasks.registry import TASKS, make_task
from orexis.zoo.artefact import Artefact


def settle_task(names: list[str], task_name: str | None) -> tuple[str, AgentConfig]:
    """Returns the task to evaluate on and the agent's settings: those of the rewards named, else the preset's."""
    artefacts = {name: find_artefact(name) for name in names if name not in SOURCES}
    tasks = {artefact.task for artefact in artefacts.values()}
    if task_name is None:
        if len(tasks) != 1:
            raise UsageError(f"say which --task: the sources name {', '.join(sorted(tasks)) or 'none'}")
        task_name = tasks.pop()
        if task_name not in TASKS:  # a name found in a file is never imported unasked
            raise UsageError(f"the reward was learned on a task of its own; if you trust it, add --task {task_name}")
    configs = {name: _agent_config(artefact, name) for name, artefact in artefacts.items()}
    chosen = next(iter(configs.values()), preset(task_name).agent)
    for name, config in configs.items():
        if config != chosen:
            raise UsageError(f"{name} was trained with other agents than {next(iter(configs))}: evaluate them apart")
    return task_name, chosen


def evaluate_source(name: str, setting: Setting, num_lifetimes: int, seed: int) -> SourceTable:
    """Returns the table of one source on `num_lifetimes` fresh lifetimes."""
    source, task = make_source(name, setting), setting.task
    params, episodes = jax.device_get(
        live_many(task, source.agent, (), source.reward, source.params, seed, num_lifetimes, make_mesh())
    )
    fields = dataclasses.fields(params) if dataclasses.is_dataclass(params) else ()
    named_params = {field.name: getattr(params, field.name) for field in fields}
    return SourceTable(
        source=name,
        task=setting.task_name,
        seed=seed,
        extrinsic=episodes.extrinsic,
        intrinsic=episodes.intrinsic,
        length=episodes.length,
        entropy=episodes.entropy / np.maximum(episodes.length, 1),
        outcome=episodes.outcome,
        outcomes=tuple(getattr(task, "outcomes", ())),
        task_params=named_params,
    )


def evaluate(
    names: list[str],
    task_name: str | None = None,
    num_lifetimes: int = 256,
    seed: int = 0,
    say: Callable[[str], None] = lambda message: None,
    actions: str = "normal",
) -> list[SourceTable]:
    """Returns a table for each source called, all on the same lifetimes."""
    check_numbers(num_lifetimes, seed)
    task_name, agent_config = settle_task(names, task_name)
    try:
        task = with_actions(make_task(task_name), actions)
    except ValueError as error:
        raise UsageError(f"task {task_name} cannot be used with {actions} actions: {error}") from error
    setting = Setting(task_name, task, agent_config, actions=actions)
    tables = []
    for name in names:
        say(f"evaluating {name}: {num_lifetimes} lifetimes of {task_name}")
        tables.append(evaluate_source(name, setting, num_lifetimes, seed))
    return tables


def summarise(table: SourceTable) -> dict[str, Any]:
    """Returns one source's part of the JSON: the mean of each episode, of the lifetime, with 95 % intervals."""
    lifetime = table.extrinsic.sum(axis=1, dtype=np.float64)
    low, high = bootstrap_interval(table.extrinsic)
    lifetime_low, lifetime_high = bootstrap_interval(lifetime)
    mean_low, mean_high = bootstrap_interval(table.extrinsic.mean(axis=1))
    tail = table.extrinsic[:, -10:].mean(axis=1)
    tail_low, tail_high = bootstrap_interval(tail)
    return {
        "n": len(lifetime),
        "episode_return": [float(x) for x in table.extrinsic.mean(axis=0)],
        "ci95": [[float(a), float(b)] for a, b in zip(low, high, strict=True)],
        "lifetime_return": {
            "mean": float(lifetime.mean()),
            "iqm": interquartile_mean(lifetime),
            "ci95": [float(lifetime_low), float(lifetime_high)],
        },
        "mean_episode_return": {
            "mean": float(table.extrinsic.mean()),
            "ci95": [float(mean_low), float(mean_high)],
        },
        "last_ten_episodes": {"mean": float(tail.mean()), "ci95": [float(tail_low), float(tail_high)]},
    }


def as_json(tables: list[SourceTable]) -> dict[str, Any]:
    """Returns the JSON document of an evaluation."""
    return {
        "task": tables[0].task,
        "seed": tables[0].seed,
        "sources": {table.source: summarise(table) for table in tables},
    }


def write_csv(path: Path, tables: list[SourceTable]) -> None:
    """Writes a row for each source, lifetime and episode."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        header = "source seed lifetime episode extrinsic_return intrinsic_return length policy_entropy outcome"
        writer.writerow(header.split())
        for table in tables:
            for (lifetime, episode), extrinsic in np.ndenumerate(table.extrinsic):
                at = (lifetime, episode)
                ending = table.outcome[at]
                writer.writerow(
                    [
                        table.source,
                        table.seed,
                        lifetime,
                        episode,
                        f"{extrinsic:.6g}",
                        f"{table.intrinsic[at]:.6g}",
                        int(table.length[at]),
                        f"{table.entropy[at]:.6g}",
                        table.outcomes[ending] if ending >= 0 else "",
                    ]
                )


def _agent_config(artefact: Artefact, name: str) -> AgentConfig:
    """Returns the settings of the agents that an artefact was trained with."""
    try:
        return from_json(MetaConfig, artefact.record["config"]["meta"], "config.meta").agent
    except (KeyError, TypeError, ValueError) as error:
        raise BadDataError(f"the config of reward {name} cannot be used: {error}") from error
