"""What an evaluation leaves behind: the summary as JSON, a row for each episode as CSV, every step as NPZ."""

import csv
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from orexis.evaluation.lifetimes import Trace
from orexis.evaluation.table import SourceTable
from orexis.statistics import (
    area_under_curve,
    bootstrap_interval,
    improvement_interval,
    interquartile_mean,
    probability_of_improvement,
    weighted_iqm,
)

COLUMNS = (
    *("source", "seed", "lifetime", "episode"),
    *("extrinsic_return", "intrinsic_return", "length", "policy_entropy", "outcome", "lifetime_finite"),
)


def summarise(table: SourceTable, others: Sequence[SourceTable] = ()) -> dict[str, Any]:
    """Returns one source's part of the JSON: the mean of each episode, of the lifetime, with 95 % intervals.

    Lifetimes that were not finite are counted and left out of everything else, which is None where none are left.

    others: sources that it is compared with: by the chance that one of its lifetimes returns more than one of theirs,
    and by how much more an episode returns, lifetime by lifetime, since all of them met the same ones.
    """
    extrinsic, lifetime = table.extrinsic[table.finite], lifetime_returns(table)
    return {
        "n": len(table.extrinsic),
        "not_finite": len(table.extrinsic) - len(extrinsic),
        **_each_episode(extrinsic),
        "lifetime_return": {**mean_and_interval(lifetime), **_middle(lifetime)},
        "mean_episode_return": mean_and_interval(extrinsic.mean(axis=1, dtype=np.float64)),
        "area_under_curve": mean_and_interval(area_under_curve(extrinsic)),
        "last_ten_episodes": mean_and_interval(extrinsic[:, -10:].mean(axis=1, dtype=np.float64)),
        "probability_of_improvement": {
            other.source: _chance_of_more(lifetime, lifetime_returns(other)) for other in others
        },
        "paired_difference": {other.source: mean_and_interval(_paired(table, other)) for other in others},
    }


def lifetime_returns(table: SourceTable) -> np.ndarray:
    """Returns f[n], the sum of the extrinsic rewards of each lifetime that was finite."""
    return table.extrinsic[table.finite].sum(axis=1, dtype=np.float64)


def mean_and_interval(values: np.ndarray) -> dict[str, Any]:
    """Returns the mean of f[n] and its 95 % interval, as JSON; None for each where n is 0."""
    if not len(values):
        return {"mean": None, "ci95": [None, None]}
    return {"mean": float(values.mean()), "ci95": bootstrap_interval(values).tolist()}


def _each_episode(extrinsic: np.ndarray) -> dict[str, Any]:
    if not len(extrinsic):
        missing = extrinsic.shape[1]
        return {"episode_return": [None] * missing, "ci95": [[None, None]] * missing}
    low, high = bootstrap_interval(extrinsic)
    return {
        "episode_return": [float(x) for x in extrinsic.mean(axis=0)],
        "ci95": [[float(a), float(b)] for a, b in zip(low, high, strict=True)],
    }


def _middle(values: np.ndarray) -> dict[str, Any]:
    if not len(values):
        return {"iqm": None, "iqm_ci95": [None, None]}
    return {"iqm": interquartile_mean(values), "iqm_ci95": bootstrap_interval(values, weighted_iqm).tolist()}


def _chance_of_more(values: np.ndarray, others: np.ndarray) -> dict[str, Any]:
    if not len(values) or not len(others):
        return {"value": None, "ci95": [None, None]}
    return {
        "value": probability_of_improvement(values, others),
        "ci95": improvement_interval(values, others).tolist(),
    }


def _paired(table: SourceTable, other: SourceTable) -> np.ndarray:
    """Returns f[m], how much more an episode returns, of the lifetimes that were finite under both sources."""
    both = table.finite & other.finite
    return (table.extrinsic[both].astype(np.float64) - other.extrinsic[both]).mean(axis=1)


def as_json(tables: list[SourceTable]) -> dict[str, Any]:
    """Returns the JSON document of an evaluation."""
    return {
        "task": tables[0].task,
        "seed": tables[0].seed,
        "sources": {
            table.source: summarise(table, [other for other in tables if other is not table]) for table in tables
        },
    }


def write_csv(path: Path, tables: list[SourceTable]) -> None:
    """Writes a row for each source, lifetime and episode."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for table in tables:
            finite = table.finite
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
                        int(finite[lifetime]),
                    ]
                )


def write_trace(path: Path, traces: dict[str, Trace]) -> None:
    """Writes every step of every source as compressed NPZ: `sources` str[K] and, for each column, an array [K, n, S].

    Columns as in `orexis.evaluation.lifetimes.Trace`, and `next_observation` also under its earlier name, `arrival`;
    S is the most steps that any lifetime had.
    """
    all_traces = list(traces.values())
    num_steps = max(int((trace.episode >= 0).sum(axis=1).max()) for trace in all_traces)
    columns = {
        field.name: np.stack([getattr(trace, field.name)[:, :num_steps] for trace in all_traces])
        for field in dataclasses.fields(Trace)
    }
    columns["arrival"] = columns["next_observation"]
    with path.open("wb") as file:
        np.savez_compressed(file, sources=np.array(list(traces)), **cast(Any, columns))
