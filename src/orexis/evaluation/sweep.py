"""`orexis sweep`: which coefficients serve a baseline best on a task, found on lifetimes that no report uses."""

import csv
import dataclasses
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orexis.errors import UsageError
from orexis.evaluation.evaluate import Plan, evaluate_source
from orexis.evaluation.printing import markdown_table, write_page
from orexis.evaluation.scores import mean_and_interval
from orexis.evaluation.sources import Setting
from orexis.rewards.registry import REWARDS

GRIDS: dict[str, Mapping[str, tuple[float, ...]]] = {name: entry.grid for name, entry in REWARDS.items() if entry.grid}
"""What is swept for each source: fields of `AgentConfig`, or its own `NAME_scale`."""

HEADINGS = ("mean", "low", "high", "last_ten")


@dataclasses.dataclass(frozen=True)
class SweepRow:
    """One point of the grid."""

    coefficients: dict[str, float]
    mean: float  # extrinsic return of an episode over the whole lifetime
    low: float  # of the 95 % interval
    high: float
    last_ten: float  # mean of the last ten episodes

    def cells(self) -> list[str]:
        """Returns the row as text: the coefficients, then the figures."""
        figures = (f"{getattr(self, name):.4f}" for name in HEADINGS)
        return [*(f"{value:g}" for value in self.coefficients.values()), *figures]


def grid_of(source: str) -> list[dict[str, float]]:
    """Returns the points of a source's grid. Raises UsageError for a source that has nothing to sweep."""
    if source not in GRIDS:
        raise UsageError(f"{source} has no coefficients to sweep; sources that have are {', '.join(GRIDS)}")
    names, values = GRIDS[source].keys(), GRIDS[source].values()
    return [dict(zip(names, point, strict=True)) for point in itertools.product(*values)]


def with_coefficients(setting: Setting, coefficients: dict[str, float]) -> Setting:
    """Returns `setting` with the coefficients put where they belong: the agent's settings or the rewards' scales."""
    of_agent = {field.name for field in dataclasses.fields(setting.config)}
    agent: dict[str, Any] = {name: value for name, value in coefficients.items() if name in of_agent}
    scales = {name.removesuffix("_scale"): value for name, value in coefficients.items() if name not in of_agent}
    return dataclasses.replace(
        setting,
        config=dataclasses.replace(setting.config, **agent),
        bonus=dataclasses.replace(setting.bonus, scales={**setting.bonus.scales, **scales}),
    )


def sweep(source: str, setting: Setting, plan: Plan) -> list[SweepRow]:
    """Returns a row for each point of the grid, all on the same lifetimes, the best first."""
    rows = []
    for coefficients in grid_of(source):
        table, _ = evaluate_source(source, with_coefficients(setting, coefficients), _labelled(plan, coefficients))
        score = mean_and_interval(table.extrinsic.mean(axis=1))
        low, high = score["ci95"]
        rows.append(SweepRow(coefficients, score["mean"], low, high, float(table.extrinsic[:, -10:].mean())))
    return sorted(rows, key=lambda row: row.mean, reverse=True)


def _labelled(plan: Plan, coefficients: dict[str, float]) -> Plan:
    """Returns `plan` with the coefficients told beside the source's name."""
    label = ", ".join(f"{name} {value:g}" for name, value in coefficients.items())

    def on_progress(source: str, num_done: int) -> None:
        plan.on_progress(f"{source}, {label}", num_done)

    return dataclasses.replace(plan, on_progress=on_progress)


def write_sweep(
    out: Path, source: str, task_name: str, rows: list[SweepRow], command: list[str], recipe: str = "tuned"
) -> Path:
    """Writes `TASK-SOURCE.csv` and the same as Markdown, with the command, into `out`; returns the latter's path.

    recipe: whose agents lived; that of another than ours is told in the names.
    """
    out.mkdir(parents=True, exist_ok=True)
    headings = [*rows[0].coefficients, *HEADINGS]
    table = out / f"{task_name}-{source}{'' if recipe == 'tuned' else f'-{recipe}'}.csv"
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(headings)
        writer.writerows(row.cells() for row in rows)
    return write_page(
        table.with_suffix(".md"),
        f"Sweep of `{source}` on {task_name}" + ("" if recipe == "tuned" else f", the {recipe}'s agent"),
        command,
        ["Extrinsic return of an episode: mean over whole lifetimes, its 95 % interval, mean of the last ten."],
        markdown_table(headings, [row.cells() for row in rows]),
    )
