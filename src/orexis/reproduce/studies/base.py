"""What the figures that compare trainings share: their budgets, how arms are found or trained, what is told of them."""

import dataclasses
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from orexis.errors import BadDataError, UsageError
from orexis.evaluation.scores import mean_and_interval
from orexis.evaluation.sources import find_artefact
from orexis.evaluation.table import SourceTable
from orexis.interop.xla_flags import known_flags
from orexis.platform import cache_folder
from orexis.reproduce import base
from orexis.reproduce.base import SMOKE_LIFETIMES, Request, TaskBudget
from orexis.reproduce.claims import Comparison, episode_means, measure
from orexis.storage.artefact import Artefact
from orexis.storage.stages import all_env_steps, all_updates, earlier_stages
from orexis.tools.arms import Arm, train_arm

BUDGETS: dict[str, dict[str, TaskBudget]] = {
    **base.BUDGETS,
    "small": {
        "empty-rooms": TaskBudget(3_000, 64),
        "random-abc": TaskBudget(5_000, 1024),
        "key-box": TaskBudget(2_000, 32),
        "nonstationary-abc": TaskBudget(3_000, 1024),
    },
}
"""Of every arm, so that they differ in nothing else. Small ones are long enough for arms to come apart, no longer."""

QUICK = ("--xla_backend_optimization_level=0", "--xla_cpu_use_fusion_emitters=false")
"""XLA's flags for a training for smoke, which compiles for most of its time; those that it knows."""


@dataclasses.dataclass(frozen=True)
class Found:
    """The runs of a study, by arm and training seed, and which arms have none and why."""

    runs: dict[str, dict[int, str]]
    missing: dict[str, str]


def find_arms(request: Request, figure: str, arms: Mapping[str, Sequence[Arm]]) -> Found:
    """Returns the run of every arm: gone on with, finished, or begun now; without training, those that are finished.

    arms: by name, one for each training seed. An arm of which a seed gave no reward is missing.
    """
    runs: dict[str, dict[int, str]] = {}
    missing: dict[str, str] = {}
    for name, seeds in arms.items():
        try:
            runs[name] = {arm.seed: find_arm(request, figure, arm) for arm in seeds}
        except BadDataError as error:
            missing[name] = str(error)
    return Found(runs, missing)


def find_arm(request: Request, figure: str, arm: Arm) -> str:
    """Returns the run folder of one arm. Raises BadDataError if it was given up, or is not there and not to be
    trained."""
    place = arm.place(request.runs_of(figure))
    if request.train:
        print(f"{place}: {shlex.join(arm.command())}", flush=True)
        if request.budget != "smoke":
            return str(train_arm(arm, place))
        flags = {"XLA_FLAGS": " ".join(known_flags(list(QUICK), cache_folder()))}
        return str(train_arm(arm, place, extra=("--lifetimes", str(SMOKE_LIFETIMES)), flags=flags))
    if not place.is_dir() or trained_updates(find_artefact(str(place))) < arm.updates:
        raise BadDataError(f"not trained: {shlex.join(arm.command())}")
    return str(place)


def trained_updates(artefact: Artefact) -> int:
    """Returns how long what is in the artefact was trained."""
    return int(artefact.record.get("training", {}).get("updates", 0))


def common_updates(artefacts: Mapping[str, Artefact]) -> int:
    """Returns how long all of them were trained. Raises UsageError if some had more than others."""
    updates = {name: trained_updates(artefact) for name, artefact in artefacts.items()}
    if len(set(updates.values())) > 1:
        told = ", ".join(f"{name} {count}" for name, count in updates.items())
        raise UsageError(f"these trainings had different budgets, in updates: {told}; choose another --runs")
    return next(iter(updates.values()), 0)


def training_facts(artefact: Artefact) -> dict[str, Any]:
    """Returns what was spent on an artefact, as JSON, and which one it is."""
    record = artefact.record
    names = ("lifetimes", "seed", *(() if earlier_stages(record.get("training", {})) else ("wall_s",)))  # of all stages
    kept = {name: record.get("training", {}).get(name) for name in names}
    return {"updates": all_updates(record), **kept, "env_steps": all_env_steps(record), "sha256": record["sha256"]}


def average_seeds(source: str, tables: Sequence[SourceTable]) -> SourceTable:
    """Returns one table called `source`: each lifetime's numbers averaged over training seeds, which all met the same
    lifetimes. Endings, which have no average, are the first's."""
    columns: dict[str, Any] = {
        name: np.mean([getattr(table, name) for table in tables], axis=0, dtype=np.float64)
        for name in ("extrinsic", "intrinsic", "length", "entropy")
    }
    return dataclasses.replace(tables[0], source=source, **columns)


def difference(
    what: str,
    first: SourceTable,
    second: SourceTable,
    bound: float = 0.0,
    at_least: bool = True,
    episodes: slice = slice(None),
) -> Comparison:
    """Returns the comparison of the mean difference of two sources, lifetime by lifetime, with `bound`."""
    return measure(what, episode_means(first, episodes) - episode_means(second, episodes), bound, at_least)


def difference_facts(first: SourceTable, second: SourceTable) -> dict[str, Any]:
    """Returns the mean difference of two sources, lifetime by lifetime, with its interval, as JSON."""
    return mean_and_interval(episode_means(first) - episode_means(second))
