"""A sentence of the paper as something that numbers can decide: it holds, it does not, or they cannot tell."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np

from orexis.evaluation.table import SourceTable
from orexis.rewards.registry import LEARNED
from orexis.statistics import bootstrap_interval, ratio_interval

T = TypeVar("T")
Verdict: TypeAlias = Literal["holds", "does not", "undecided"]


@dataclasses.dataclass(frozen=True)
class Comparison:
    """One measured number that a claim bounds from below (or from above)."""

    what: str
    value: float
    low: float  # of the 95 % interval
    high: float
    bound: float
    at_least: bool = True  # False: the claim is that the number is at most `bound`

    @property
    def limit(self) -> str:
        """The bound with its sign, in words."""
        return f"{'≥' if self.at_least else '≤'} {self.bound:g}"

    @property
    def verdict(self) -> Verdict:
        """The interval decides: all of it on the right side of the bound, all of it on the wrong one, or neither."""
        above, below = self.low > self.bound, self.high < self.bound
        if not self.at_least:
            above, below = below, above
        return "holds" if above else "does not" if below else "undecided"


def exactly(what: str, value: float, bound: float, at_least: bool = True) -> Comparison:
    """Returns the comparison of a number in which nothing was sampled: its interval is itself."""
    return Comparison(what, value, value, value, bound, at_least)


def measure(what: str, values: np.ndarray, bound: float, at_least: bool = True) -> Comparison:
    """Returns the comparison of the mean of f[n], one number for each lifetime, with `bound`."""
    low, high = bootstrap_interval(values)
    return Comparison(what, float(np.mean(values)), float(low), float(high), bound, at_least)


def measure_known(what: str, values: np.ndarray, bound: float, at_least: bool = True) -> Comparison | None:
    """Returns the same for the lifetimes whose number is known, not NaN, and says how many; None for fewer than two."""
    known = values[~np.isnan(values)]
    return measure(f"{what} ({len(known)} lifetimes)", known, bound, at_least) if len(known) > 1 else None


def measure_share(what: str, values: np.ndarray, whole: np.ndarray, bound: float) -> Comparison:
    """Returns the comparison of mean over mean of f[n] and f[n], two sources' numbers for the same lifetimes."""
    low, high = ratio_interval(values, whole)
    return Comparison(what, float(np.mean(values) / np.mean(whole)), float(low), float(high), bound)


def episode_means(table: SourceTable, episodes: slice = slice(None)) -> np.ndarray:
    """Returns f[n], the mean return of an episode of each lifetime, over some of its episodes."""
    return table.extrinsic[:, episodes].mean(axis=1, dtype=np.float64)


def tenth(table: SourceTable) -> int:
    """Returns how many episodes a tenth of the lifetime has, at least one."""
    return max(1, table.extrinsic.shape[1] // 10)


@dataclasses.dataclass(frozen=True)
class Claim:
    """A sentence, how it was read, and what was measured."""

    task: str
    sentence: str  # the paper's own words
    reading: str  # what we take it to mean, in numbers
    comparisons: tuple[Comparison, ...]  # all must hold; none: what they need is missing
    missing: str = ""  # what, if anything, was not there to be measured: then nothing is decided
    reward: str = ""  # which learned reward it is about, where several are judged

    @property
    def verdict(self) -> Verdict:
        """All comparisons hold, one of them does not, or neither is sure."""
        verdicts = {self.verdict_on(comparison) for comparison in self.comparisons}
        if "does not" in verdicts:
            return "does not"
        return "holds" if verdicts == {"holds"} else "undecided"

    def verdict_on(self, comparison: Comparison) -> Verdict:
        """Returns what one of its comparisons decides."""
        return "undecided" if self.missing else comparison.verdict

    def as_json(self) -> dict[str, Any]:
        measured = [{**dataclasses.asdict(one), "verdict": self.verdict_on(one)} for one in self.comparisons]
        return {**dataclasses.asdict(self), "comparisons": measured, "verdict": self.verdict}


def about_learned(
    sources: Mapping[str, T],
    task: str,
    sentence: str,
    reading: str,
    compare: Callable[[T], Sequence[Comparison | None]],
) -> Claim:
    """Returns the claim about the learned reward, or what is missing: it, or lifetimes to compare (None). sources: what
    each one did."""
    if LEARNED not in sources:
        return Claim(task, sentence, reading, (), "no learned reward")
    compared = compare(sources[LEARNED])
    known = tuple(one for one in compared if one is not None)
    return Claim(task, sentence, reading, known, "" if len(known) == len(compared) else "too few lifetimes to compare")


def claims_table(claims: Sequence[Claim]) -> str:
    """Returns the claims as a Markdown table, a row for each comparison; rewards that are judged are columns."""
    rewards = list(dict.fromkeys(claim.reward for claim in claims))
    if len(rewards) > 1:
        return _side_by_side(claims, rewards)
    headings = ("task", "the paper says", "measured", "value", "95 % interval", "bound", "verdict")
    lines = [f"| {' | '.join(headings)} |", "|---" * len(headings) + "|"]
    for claim in claims:
        said = f"{claim.task} | “{claim.sentence}” ({claim.reading})"
        if claim.missing:
            lines.append(f"| {said} | {claim.missing} | | | | {claim.verdict} |")
        for one in claim.comparisons:
            lines.append(
                f"| {said} | {one.what} | {one.value:.3f} | {one.low:.3f} to {one.high:.3f} "
                f"| {one.limit} | {claim.verdict_on(one)} |"
            )
            said = " | "
    return "\n".join(lines)


def _side_by_side(claims: Sequence[Claim], rewards: Sequence[str]) -> str:
    """Returns a table with a column for each reward: for each sentence its verdict, then the numbers that decide it."""
    lines = [f"| the paper says | measured | bound | {' | '.join(rewards)} |", "|---" * (3 + len(rewards)) + "|"]
    for sentence, reading in dict.fromkeys((claim.sentence, claim.reading) for claim in claims):
        same = {claim.reward: claim for claim in claims if (claim.sentence, claim.reading) == (sentence, reading)}
        verdicts = " | ".join(f"**{same[reward].verdict}**" if reward in same else "" for reward in rewards)
        lines.append(f"| “{sentence}” ({reading}) | **all of it** | | {verdicts} |")
        for missing in dict.fromkeys(claim.missing for claim in same.values() if claim.missing):
            lines.append(f"| | {missing} | | {' | '.join('' for _ in rewards)} |")
        limits = dict.fromkeys((one.what, one.limit) for claim in same.values() for one in claim.comparisons)
        for what, limit in limits:
            cells = [_cell(same[reward], what) if reward in same else "" for reward in rewards]
            lines.append(f"| | {what} | {limit} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(claim: Claim, what: str) -> str:
    """Returns value, interval (if it has a width) and verdict of the comparison `what`; nothing if there is none."""
    for one in claim.comparisons:
        if one.what == what:
            interval = f" ({one.low:.3f} to {one.high:.3f})" if one.low < one.high else ""
            return f"{one.value:.3f}{interval} {claim.verdict_on(one)}"
    return ""
