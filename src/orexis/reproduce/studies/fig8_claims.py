"""What the paper says about its eighth figure, and how tables of lifetimes decide it."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from orexis.evaluation.table import SourceTable
from orexis.reproduce.claims import Claim, Comparison, tenth
from orexis.reproduce.studies.base import difference
from orexis.rewards.registry import LEARNED

Tables: TypeAlias = Mapping[str, SourceTable]
COMPARABLE = 0.05  # an episode's return, up to which two ends are called alike
RL2, MAML = "rl2", "maml"
NAMES = {LEARNED: "learned", RL2: "RL²", MAML: "MAML"}


def policy_collects_more(tables: Tables, task: str) -> Claim:
    """RL² needs not learn to walk."""
    return _claim(
        tables,
        task,
        "RL² performs better than our intrinsic reward approach",
        "mean return of an episode over the lifetime, RL² less learned, is at least 0",
        (LEARNED, RL2),
        lambda: [difference("RL² − learned", tables[RL2], tables[LEARNED])],
    )


def policies_start_better(tables: Tables, task: str) -> Claim:
    """What is transferred is there at once."""

    def compare() -> list[Comparison]:
        first = slice(0, tenth(tables[LEARNED]))
        return [
            difference(f"{NAMES[name]} − learned", tables[name], tables[LEARNED], episodes=first)
            for name in (RL2, MAML)
        ]

    return _claim(
        tables,
        task,
        "MAML and RL² achieve good performance from the beginning",
        "mean return of the first tenth of the episodes, policy less learned, is above 0",
        (LEARNED, RL2, MAML),
        compare,
    )


def outperforms_maml(tables: Tables, task: str) -> Claim:
    """Over the lifetime."""
    return _claim(
        tables,
        task,
        "our method outperforms MAML",
        "mean return of an episode over the lifetime, learned less MAML, is above 0",
        (LEARNED, MAML),
        lambda: [difference("learned − MAML", tables[LEARNED], tables[MAML])],
    )


def ends_alike(tables: Tables, task: str) -> Claim:
    """At the end."""

    def compare() -> list[Comparison]:
        last = slice(-tenth(tables[LEARNED]), None)
        return [
            difference(f"learned − RL², {side}", tables[LEARNED], tables[RL2], bound, at_least, last)
            for side, bound, at_least in (("from below", -COMPARABLE, True), ("from above", COMPARABLE, False))
        ]

    return _claim(
        tables,
        task,
        "achieves a comparable asymptotic performance to RL²",
        f"mean return of the last tenth of the episodes, learned less RL², is within ±{COMPARABLE:g}",
        (LEARNED, RL2),
        compare,
    )


CLAIMS: tuple[Callable[[Tables, str], Claim], ...] = (
    policy_collects_more,
    policies_start_better,
    outperforms_maml,
    ends_alike,
)
"""Each sentence about the figure, the same for every task: functions of its tables by source, and of its name."""


def _claim(
    tables: Tables,
    task: str,
    sentence: str,
    reading: str,
    needed: Sequence[str],
    compare: Callable[[], list[Comparison]],
) -> Claim:
    """Returns the claim, or which of the sources that it needs are missing."""
    absent = [NAMES[name] for name in needed if name not in tables]
    if absent:
        return Claim(task, sentence, reading, (), f"not there: {', '.join(absent)}")
    return Claim(task, sentence, reading, tuple(compare()))
