"""The demo's report: every sentence about the result is computed from the tables of the run, none is foregone."""

import dataclasses
import re
from typing import Any

import numpy as np

from orexis.evaluation.printing import HEADINGS, summary_cells
from orexis.evaluation.table import SourceTable
from orexis.evaluation.walks import WalkTable
from orexis.figures.endings import ENDINGS, EndingRow, endings_in_words
from orexis.figures.palette import display_names
from orexis.figures.report import ReportTable, Section, build_report
from orexis.figures.walks import panel_title, walks_in_words
from orexis.platform import versions
from orexis.statistics import bootstrap_interval

LIFETIME_PAGE = "lifetime.html"  # beside the report
OPTIMUM = 19 / 48  # of an episode, knowing the task: the mean of the larger of A and C


@dataclasses.dataclass(frozen=True)
class Results:
    """All that the report reads."""

    tables: list[SourceTable]  # learned, extrinsic-ep, near-optimal: the same lifetimes
    endings: list[EndingRow]  # of the first two
    walks: WalkTable
    metrics: dict[str, np.ndarray]  # the columns of metrics.csv
    training: dict[str, Any]  # the budget, from the artefact


def compose_report(results: Results, pictures: dict[str, bytes], command: str, seconds: float) -> str:
    """Returns the page. pictures: PNGs by the names of `demo.draw`; seconds: what the whole command took."""
    learned, extrinsic, hand_made = results.tables
    num_lifetimes, num_episodes = learned.extrinsic.shape
    training, metrics = results.training, results.metrics
    grown = np.nanmax(metrics["theta_norm_p99"]) / metrics["theta_norm_p99"][0]
    worth = _minus(", ".join(f"{name} pays {paid:g}" for name, paid in results.walks.room.rewards.items()))
    learned_endings = [row for row in results.endings if row.source == learned.source]
    extrinsic_endings = [row for row in results.endings if row.source == extrinsic.source]
    sections = [
        Section(
            "Fresh agents, episode by episode",
            (
                ceiling(learned, hand_made),
                f"Every source meets the same {num_lifetimes} lifetimes: the same tasks, the same newborn policies. "
                "The intervals say how far the mean would move with other lifetimes. They do not cover another "
                "training run: this is one reward, learned once, and another seed gives another reward.",
            ),
            pictures["learning_curves"],
            "Mean extrinsic return of each episode, with 95 % bootstrap intervals over lifetimes.",
            _comparisons(learned, extrinsic),
        ),
        Section(
            "Where the episodes end",
            (
                f"With the learned reward: {endings_in_words(learned_endings)}",
                f"With the extrinsic reward: {endings_in_words(extrinsic_endings)}",
            ),
            pictures["endings"],
            "Per cent of episodes that end at A, B, C or nowhere (time is up), by phase of the lifetime and by which "
            "object pays more in that lifetime.",
        ),
        Section(
            "What the reward pays for a walk",
            (
                f"The learned reward is shown three episodes of a life in which {worth}, as in the "
                "paper's fifth figure. Each arrow carries the sum of the intrinsic rewards for walking to that "
                "object, averaged over all shortest paths, now and in the episodes before. Visited objects are grey.",
                walks_in_words(results.walks),
            ),
            pictures["walks"],
            "Sum of intrinsic rewards of a walk to A, B and C in episodes 1, 2 and 3, after A first (top) or C first "
            "(bottom).",
        ),
        Section(
            "Watch one lifetime",
            (
                "A page beside this one plays a lifetime step by step, under the learned reward and the extrinsic "
                "one: where the agent goes, what it is paid, and what each other step would have been paid. Its second "
                "tab has every number that training logged. `orexis view` writes such a page of any lifetime.",
            ),
            link=(LIFETIME_PAGE, "Watch a lifetime"),
        ),
        Section(
            "How the training went",
            (
                f"{training['updates']} updates of the reward with {training['lifetimes']} lifetimes side by side, "
                f"{training['env_steps']:,} steps in the world, {_minutes(training['wall_s'])} without compiling. "
                "The paper trained for 200,000 updates. The 99th percentile of the norm of the agents' parameters "
                f"reached at most {grown:.2f} times where it began.",
            ),
            pictures["training"],
            "Training, by update of the reward: pale each row of metrics.csv, strong the running mean.",
        ),
        Section(
            "How to get this again",
            (
                f"`{command}`, {_minutes(seconds)} this time, evaluation and pictures included; a run that was there "
                "already is not trained again. All numbers: `evaluation.json`, `evaluation.csv` and "
                "`run/metrics.csv` beside this page. The learned reward itself: `run/reward`, to be "
                "loaded with `orexis.load_reward`.",
            ),
        ),
    ]
    return build_report(
        "A reward function, learned on Random ABC",
        (_explain(num_episodes), verdict(learned, extrinsic)),
        _summary(results.tables),
        sections,
        (_endings_table(results.endings), _walks_table(results.walks), _facts(results, seconds)),
    )


@dataclasses.dataclass(frozen=True)
class Difference:
    """How two sources differ in some episodes of the same lifetimes; the intervals are 95 % bootstrap intervals."""

    first: float  # mean of an episode
    second: float
    interval: tuple[float, float]  # of first − second, paired by lifetime
    apart: bool  # the intervals of the two means, each on its own, have nothing in common

    @property
    def verdict(self) -> str:
        low, high = self.interval
        return "more" if low > 0 else "less" if high < 0 else "cannot tell"


def compare(first: SourceTable, second: SourceTable, episodes: slice = slice(None)) -> Difference:
    """Returns how the two differ in `episodes`. Both tables must be of the same lifetimes."""
    ones, others = (table.extrinsic[:, episodes].mean(axis=1, dtype=np.float64) for table in (first, second))  # f[n]
    (low_1, high_1), (low_2, high_2) = bootstrap_interval(ones), bootstrap_interval(others)
    low, high = bootstrap_interval(ones - others) if len(ones) > 1 else (-np.inf, np.inf)  # one says nothing
    return Difference(
        first=float(ones.mean()),
        second=float(others.mean()),
        interval=(float(low), float(high)),
        apart=bool(low_1 > high_2 or low_2 > high_1),
    )


def verdict(learned: SourceTable, extrinsic: SourceTable) -> str:
    """Returns, in words, what the learned reward was worth to fresh agents over their whole lifetimes."""
    found = compare(learned, extrinsic)
    ending = {
        "more": "the learned reward brought more",
        "less": "the learned reward brought less",
        "cannot tell": "these lifetimes cannot tell the two apart",
    }[found.verdict]
    few = " With so few lifetimes the intervals themselves are rough." if len(learned.extrinsic) < 30 else ""
    return _minus(
        f"On {len(learned.extrinsic)} fresh lifetimes the learned reward brought agents {found.first:.3f} an episode, "
        f"the extrinsic reward {found.second:.3f}. Lifetime by lifetime the difference is "
        f"{found.first - found.second:+.3f} (95 % interval {found.interval[0]:+.3f} to {found.interval[1]:+.3f}): "
        f"{ending}. The intervals of the two means, each on its own, {'are apart' if found.apart else 'overlap'}.{few}"
    )


def ceiling(learned: SourceTable, hand_made: SourceTable) -> str:
    """Returns, in words, how far the learned reward is from the hand-made strategy and from the exact optimum."""
    num_episodes = learned.extrinsic.shape[1]
    expected = (0.0 + 0.25 + (num_episodes - 2) * OPTIMUM) / num_episodes
    best, reached = hand_made.extrinsic.mean(), learned.extrinsic.mean()
    share = f" The learned reward brings its agents to {100 * reached / best:.0f} % of that." if best > 0 else ""
    return (
        "The near-optimal strategy is written by hand and knows the task: A first, then C, then the better one. It "
        f"collected {best:.3f} an episode on these lifetimes.{share} Over all lifetimes it is expected to collect 0 in "
        f"the first episode, 1/4 in the second and 19/48 = {OPTIMUM:.3f} from then on, {expected:.3f} in the mean."
    )


def _explain(num_episodes: int) -> str:
    """Returns what a newcomer needs to know."""
    return (
        f"An agent is born with a random policy, lives through {num_episodes} short episodes of one task and learns "
        "as it goes: that is a lifetime. In Random ABC the task is a room with three objects; reaching one ends the "
        "episode and pays an extrinsic reward, which is drawn once a lifetime and hidden: A pays between −1 and 1, B "
        "between −0.5 and 0, C between 0 and 0.5. Usually an agent learns from the extrinsic reward. Here it "
        "learns from an intrinsic reward instead: a recurrent network that watches the whole lifetime, remembers it "
        "across episodes and pays the agent at each step. That network is what was learned, over many lifetimes, so "
        "that agents that follow it collect as much extrinsic reward as possible in theirs. Policies die with "
        "their agents; the reward function is all that is handed on."
    )


def _summary(tables: list[SourceTable]) -> ReportTable:
    rows = []
    for table, name in zip(tables, display_names([table.source for table in tables]), strict=True):
        rows.append((name, *map(_minus, summary_cells(table))))
    return ReportTable(
        f"Extrinsic return of an episode, {len(tables[0].extrinsic)} fresh lifetimes",
        HEADINGS,
        tuple(rows),
    )


def _comparisons(learned: SourceTable, extrinsic: SourceTable) -> ReportTable:
    rows = []
    for name, episodes in {"all": slice(None), "first ten": slice(0, 10), "last ten": slice(-10, None)}.items():
        found = compare(learned, extrinsic, episodes)
        numbers = (f"{found.first:.3f}", f"{found.second:.3f}", f"{found.first - found.second:+.3f}")
        interval = f"{found.interval[0]:+.3f} to {found.interval[1]:+.3f}"
        rows.append((name, *map(_minus, (*numbers, interval)), found.verdict, "apart" if found.apart else "overlap"))
    return ReportTable(
        "Learned against extrinsic reward, paired by lifetime",
        ("episodes", "learned", "extrinsic", "difference", "95 % interval", "learned brings", "intervals of the means"),
        tuple(rows),
    )


def _endings_table(endings: list[EndingRow]) -> ReportTable:
    names = dict(zip(sources := [row.source for row in endings], display_names(sources), strict=True))
    rows = (
        (
            names[row.source],
            row.group,
            str(row.num_lifetimes),
            row.phase,
            *(f"{100 * row.shares[e]:.1f} %" for e in ENDINGS),
        )
        for row in endings
    )
    header = ("source", "lifetimes with", "number", "episodes", *ENDINGS)
    return ReportTable("Share of episodes that end at A, B, C and nowhere", header, tuple(rows), num_names=2)


def _walks_table(walks: WalkTable) -> ReportTable:
    rows = (
        (panel_title(panel), *(_minus(f"{panel.sums[name]:+.3f}") for name in walks.room.objects))
        for panel in walks.panels.values()
    )
    header = ("walk", *(f"to {name}" for name in walks.room.objects))
    return ReportTable("Sum of intrinsic rewards of a walk, mean over shortest paths", header, tuple(rows))


def _facts(results: Results, seconds: float) -> ReportTable:
    training, table = results.training, results.tables[0]
    facts = {
        "seed of the training": str(training["seed"]),
        "updates of the reward": f"{training['updates']:,}",
        "lifetimes side by side": str(training["lifetimes"]),
        "steps in the world": f"{training['env_steps']:,}",
        "time to train, without compiling": _minutes(training["wall_s"]),
        "time of this command": _minutes(seconds),
        "evaluation": f"{len(table.extrinsic)} lifetimes, seed {table.seed}",
        **versions(),
    }
    return ReportTable("This run", ("what", "value"), tuple(facts.items()), num_names=2)


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.1f} minutes"


def _minus(text: str) -> str:
    """Returns `text` with real minus signs before numbers."""
    return re.sub(r"(?<!\w)-(?=\d)", "−", text)
