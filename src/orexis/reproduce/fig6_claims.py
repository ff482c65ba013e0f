"""What the paper says about its sixth figure, and how tables of lifetimes decide it."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from orexis.evaluation.table import SourceTable
from orexis.figures.swaps import (
    HAD_LEARNED,
    RECOVERED,
    Swaps,
    best_object,
    ended_at,
    recoveries,
    slope_changes,
)
from orexis.reproduce.claims import Claim, Comparison, about_learned, measure_known
from orexis.rewards.registry import LEARNED

Tables: TypeAlias = Mapping[str, SourceTable]
TASK = "nonstationary-abc"


def pays_less(tables: Tables, swaps: Swaps) -> Claim:
    """Anticipation, in the slope of what the habit is paid."""
    return about_learned(
        tables,
        TASK,
        "the intrinsic reward has learned to prepare for the change by giving negative rewards to the exploitation "
        "policy of the agent a few episodes before the task changes",
        "slope, in 100 episodes, of the intrinsic return of episodes that end at the best object: over the last "
        f"{swaps.last} before a swap less over the {swaps.earlier} before those, is below 0",
        lambda learned: [
            measure_known(
                f"swap at {swap}",
                slope_changes(learned.intrinsic, habit(learned, swap, swaps), swap, swaps),
                0.0,
                at_least=False,
            )
            for swap in swaps.episodes
        ],
    )


def pays_negative(tables: Tables, swaps: Swaps) -> Claim:
    """Anticipation, in the sign of what the habit is paid."""
    return about_learned(
        tables,
        TASK,
        "The intrinsic reward gives a negative reward even before the task changes",
        f"mean intrinsic return of episodes that end at the best object, the last {swaps.smoothing} before a swap, is "
        "below 0",
        lambda learned: [
            measure_known(f"swap at {swap}", paid_last(learned, swap, swaps), 0.0, at_least=False)
            for swap in swaps.episodes
        ],
    )


def loosens(tables: Tables, swaps: Swaps) -> Claim:
    """Anticipation, in the policies' entropy."""
    return about_learned(
        tables,
        TASK,
        "increasing entropy in the current policy in anticipation of the change",
        f"slope, in 100 episodes, of the policy's entropy in nats: over the last {swaps.last} before a swap less over "
        f"the {swaps.earlier} before those, is above 0",
        lambda learned: [
            measure_known(
                f"swap at {swap}",
                slope_changes(learned.entropy, np.ones(learned.entropy.shape, bool), swap, swaps),
                0.0,
            )
            for swap in swaps.episodes
        ],
    )


def recovers(tables: Tables, swaps: Swaps) -> Claim:
    """What it is good for."""
    return about_learned(
        tables,
        TASK,
        "the agent with the learned intrinsic reward quickly recovered its performance when the task changes, whereas "
        "the baselines take more time to recover",
        f"episodes until the mean return of {swaps.smoothing} is back at {RECOVERED:.0%} of that of the last "
        f"{swaps.last} before the swap ({swaps.period} if never), in lifetimes where both agents had {HAD_LEARNED:g} "
        "or more to lose: baseline less learned is above 0",
        lambda learned: [
            compare_recovery(learned, tables[baseline], swap, swaps)
            for swap in swaps.episodes
            for baseline in tables
            if baseline != LEARNED
        ],
    )


CLAIMS: tuple[Callable[[Tables, Swaps], Claim], ...] = (pays_less, pays_negative, loosens, recovers)
"""Each sentence of the paper about the figure: functions of the tables by source, and when the swaps were."""


def habit(table: SourceTable, swap: int, swaps: Swaps) -> np.ndarray:
    """Returns bool[n, E], which episodes ended at the object that paid most just before a swap."""
    return ended_at(table, best_object(table, swap - 1, swaps.period))


def paid_last(table: SourceTable, swap: int, swaps: Swaps) -> np.ndarray:
    """Returns f[n], the mean intrinsic return of the last few episodes of the habit before a swap; NaN if none."""
    window = slice(swap - swaps.smoothing, swap)
    chosen = habit(table, swap, swaps)[:, window]
    num = chosen.sum(axis=1)
    paid = np.where(chosen, table.intrinsic[:, window], 0.0).sum(axis=1, dtype=np.float64)
    return np.where(num > 0, paid / np.maximum(num, 1), np.nan)


def compare_recovery(learned: SourceTable, baseline: SourceTable, swap: int, swaps: Swaps) -> Comparison | None:
    """Returns how many more episodes the baseline's agents took; None where hardly any lifetime can be compared."""
    more = recoveries(baseline, swap, swaps) - recoveries(learned, swap, swaps)
    return measure_known(f"{baseline.source} − {LEARNED}, swap at {swap}", more, 0.0)
