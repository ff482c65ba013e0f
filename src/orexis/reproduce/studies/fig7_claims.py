"""What the paper says about its seventh figure, and how tables of lifetimes decide it."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from orexis.evaluation.table import SourceTable
from orexis.reproduce.claims import Claim
from orexis.reproduce.studies.base import difference

Tables: TypeAlias = Mapping[str, SourceTable]
LABELS = {
    "lstm-lifetime": "LSTM, lifetime",
    "lstm-episode": "LSTM, episode",
    "ff-lifetime": "FF, lifetime",
    "ff-episode": "FF, episode",
    "lstm-lifetime-unprivileged": "unprivileged",
}
"""The arms, and what a reader sees; the paper's own words but for the last."""
WHOLE, PLAIN = "lstm-lifetime", "lstm-lifetime-unprivileged"
MEASURED = "mean return of an episode over the lifetime"


def needs_history(tables: Tables, task: str) -> Claim:
    """All four domains."""
    return _above(
        tables,
        task,
        "the lifetime history was crucial to achieve good performance",
        f"{MEASURED}, LSTM (lifetime) less each feed-forward reward, is above 0",
        WHOLE,
        ("ff-lifetime", "ff-episode"),
    )


def needs_lifetime(tables: Tables, task: str) -> Claim:
    """Random ABC, Non-stationary ABC, Key-Box: of Empty Rooms the paper does not say so."""
    return _above(
        tables,
        task,
        "the lifetime return objective was beneficial on Random ABC, Non-stationary ABC, and Key-Box",
        f"{MEASURED}, LSTM trained for the lifetime less LSTM trained for the episode, is above 0",
        WHOLE,
        ("lstm-episode",),
    )


def needs_no_privilege(tables: Tables, task: str) -> Claim:
    """Random ABC. Ours, not the paper's: the lifetime value that trains our arms knows more than the paper's does."""
    return _above(
        tables,
        task,
        "(not the paper's) the same without the privileged lifetime value",
        f"{MEASURED}, LSTM trained for the lifetime without the privileged value, less each other arm trained with it, "
        "is above 0",
        PLAIN,
        ("ff-lifetime", "ff-episode", "lstm-episode"),
    )


CLAIMS: dict[str, tuple[Callable[[Tables, str], Claim], ...]] = {
    "empty-rooms": (needs_history,),
    "random-abc": (needs_history, needs_lifetime, needs_no_privilege),
    "key-box": (needs_history, needs_lifetime),
    "nonstationary-abc": (needs_history, needs_lifetime),
}
"""Each sentence about the figure: functions of the tables of a task by arm, and of its name."""


def _above(tables: Tables, task: str, sentence: str, reading: str, whole: str, others: Sequence[str]) -> Claim:
    """Returns the claim that one arm collects more than each of the others, or which of them is missing."""
    absent = [LABELS[name] for name in (whole, *others) if name not in tables]
    if absent:
        return Claim(task, sentence, reading, (), f"not trained: {'; '.join(absent)}")
    compared = [difference(f"{LABELS[whole]} − {LABELS[other]}", tables[whole], tables[other]) for other in others]
    return Claim(task, sentence, reading, tuple(compared))
