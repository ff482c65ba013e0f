"""What the paper says about its fifth figure, and how walks and lifetimes under one learned reward decide it."""

import dataclasses
from collections.abc import Callable

import numpy as np

from orexis.evaluation.histories import Replay
from orexis.evaluation.table import SourceTable
from orexis.evaluation.walks import HISTORIES, WalkDraws, WalkTable
from orexis.reproduce.claims import Claim, Comparison, exactly, measure

TASK = "random-abc"
A, B, C = range(3)  # columns of sums and outcomes
USUALLY = 0.9  # share of draws or lifetimes from where on we say that it is so
NEVER = 0.01  # share of episodes up to which we say that it is never so
LATE = 10  # episodes at the end of a lifetime
RUN = 5  # episodes in a row at one object, from which on an agent has settled
IN_SECOND = "In the second episode, the intrinsic reward encourages exploring C if A is visited (top) or vice versa"


@dataclasses.dataclass(frozen=True)
class Evidence:
    """All that is known of one learned reward."""

    walks: WalkTable  # in the paper's own case, over all shortest paths
    draws: WalkDraws  # over many draws of what the objects are worth
    table: SourceTable  # of lifetimes that agents lived
    replay: Replay  # what walks would have been paid in them


def a_first(evidence: Evidence) -> Claim:
    """Episode 1 pays A more than B and C."""
    case, drawn = evidence.walks.panels[()].sums, evidence.draws.sums[()]
    return Claim(
        TASK,
        "In the first episode, the intrinsic reward encourages the agent to explore A",
        "what a walk to A is paid in episode 1, less a walk to B and to C, is above 0",
        (
            exactly("the paper's case: A − B", case["A"] - case["B"], 0.0),
            exactly("the paper's case: A − C", case["A"] - case["C"], 0.0),
            measure("over draws: A − B", drawn[:, A] - drawn[:, B], 0.0),
            measure("over draws: A − C", drawn[:, A] - drawn[:, C], 0.0),
        ),
    )


def c_after_a(evidence: Evidence) -> Claim:
    """In episode 2 after A, C is paid more than A."""
    return _other_one(evidence, A, C, "after A and before C, a walk to C is paid more than one to A")


def a_after_c(evidence: Evidence) -> Claim:
    """In episode 2 after C, A is paid more than C."""
    return _other_one(evidence, C, A, "after C and before A, a walk to A is paid more than one to C")


def the_better_in_the_end(evidence: Evidence) -> Claim:
    """In episode 3 the better one is paid most."""
    drawn = np.mean([paid_most(evidence.draws.sums[after]) == better(evidence.draws.worth) for after in BOTH], axis=0)
    outcome, worth = evidence.table.outcome, evidence.table.task_params["rewards"]
    known = np.maximum(first_reached(outcome, A), first_reached(outcome, C)) + 1
    lived = np.flatnonzero(known < outcome.shape[1])
    right = paid_most(evidence.replay.sums[lived, known[lived]]) == better(worth[lived])
    gaps = {after: evidence.walks.panels[after].sums for after in BOTH}
    return Claim(
        TASK,
        "In episode 3, after both A and C are explored, the intrinsic reward encourages revisiting A",
        "once A and C were both visited, a walk to the better one is paid most, "
        f"in {USUALLY:.0%} of draws and of lifetimes",
        (
            *(
                exactly(f"the paper's case, after {' and '.join(after)}: A − C", sums["A"] - sums["C"], 0.0)
                for after, sums in gaps.items()
            ),
            measure("over draws, episode 3: share", drawn, USUALLY),
            *_measured("lifetimes, the episode after the second of them: share", right, USUALLY),
        ),
    )


def b_is_charged(evidence: Evidence) -> Claim:
    """B's sum is negative throughout."""
    drawn = np.all([sums[:, B] < 0 for sums in evidence.draws.sums.values()], axis=0)
    largest = max(panel.sums["B"] for panel in evidence.walks.panels.values())
    return Claim(
        TASK,
        "Throughout training, the agent is discouraged to visit B through negative intrinsic rewards",
        f"a walk to B is paid less than 0 after every history, in {USUALLY:.0%} of draws, and in every episode, in "
        f"{USUALLY:.0%} of lifetimes",
        (
            exactly("the paper's case: the largest of five sums", largest, 0.0, at_least=False),
            measure("over draws: share", drawn, USUALLY),
            measure("lifetimes: share", np.all(evidence.replay.sums[:, :, B] < 0, axis=1), USUALLY),
        ),
    )


def both_before_settling(evidence: Evidence) -> Claim:
    """Agents visit A and C before they settle."""
    return Claim(
        TASK,
        "The intrinsic rewards encourage the agent to explore towards A and C in the first few episodes",
        f"in {USUALLY:.0%} of lifetimes A and C were both tried before the agent settled for one: before the first "
        f"{RUN} episodes in a row at the object where it ends most of its last {LATE}",
        (measure("lifetimes: share", tried_both(evidence.table.outcome), USUALLY),),
    )


def no_b_late(evidence: Evidence) -> Claim:
    """Never B late."""
    at_b = np.mean(evidence.table.outcome[:, -LATE:] == B, axis=1)
    return Claim(
        TASK,
        "A good intrinsic reward should learn that: 1) B should be avoided",
        f"share of the last {LATE} episodes that end at B is at most {NEVER:g}",
        (measure(f"last {LATE} episodes: share at B", at_b, NEVER, at_least=False),),
    )


CLAIMS: tuple[Callable[[Evidence], Claim], ...] = (
    a_first,
    c_after_a,
    a_after_c,
    the_better_in_the_end,
    b_is_charged,
    both_before_settling,
    no_b_late,
)
"""What the paper says about the figure, sentence by sentence."""

BOTH = HISTORIES[3:]


def _other_one(evidence: Evidence, known: int, other: int, reading: str) -> Claim:
    """Returns the claim that after the first of A and C the second one is paid more."""
    names = evidence.table.outcomes
    what, after = f"{names[other]} − {names[known]}", (names[known],)
    case, drawn = evidence.walks.panels[after].sums, evidence.draws.sums[after]
    lived = before_the_other(evidence, known, other)
    return Claim(
        TASK,
        IN_SECOND,
        reading,
        (
            exactly(f"the paper's case, episode 2: {what}", case[names[other]] - case[names[known]], 0.0),
            measure(f"over draws, episode 2: {what}", drawn[:, other] - drawn[:, known], 0.0),
            *_measured(f"lifetimes, the episode after the first of them: {what}", lived, 0.0),
        ),
    )


def _measured(what: str, values: np.ndarray, bound: float) -> tuple[Comparison, ...]:
    """Returns the comparison, none if there is no lifetime to measure."""
    return (measure(what, values, bound),) if len(values) else ()


def before_the_other(evidence: Evidence, known: int, other: int) -> np.ndarray:
    """Returns f[m], how much more a walk to `other` would be paid than one to `known` in the episode after `known` was
    first reached, in the m lifetimes that had not reached `other` by then."""
    outcome = evidence.table.outcome
    reached = first_reached(outcome, known)
    lived = np.flatnonzero((reached < first_reached(outcome, other)) & (reached + 1 < outcome.shape[1]))
    sums = evidence.replay.sums[lived, reached[lived] + 1]
    return sums[:, other] - sums[:, known]


def first_reached(outcome: np.ndarray, column: int) -> np.ndarray:
    """Returns i[n], the first episode (from 0) of i[n, E] that ended at the object, E where none did."""
    there = outcome == column
    return np.where(there.any(axis=1), there.argmax(axis=1), outcome.shape[1])


def better(worth: np.ndarray) -> np.ndarray:
    """Returns i[n], which of A and C is worth more, from f[n, 3]."""
    return np.where(worth[:, A] > worth[:, C], A, C)


def paid_most(sums: np.ndarray) -> np.ndarray:
    """Returns i[n], the object whose walk is paid most, from f[n, 3]."""
    return sums.argmax(axis=1)


def settled_from(outcome: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns i[n], the favourite, and i[n], the first of the first `RUN` episodes in a row at it, from i[n, E].

    The favourite is where most of the last `LATE` episodes ended, -1 if all ended nowhere; E: it never settled.
    """
    late = np.stack([(outcome[:, -LATE:] == column).sum(axis=1) for column in (A, B, C)], axis=1)
    favourite = np.where(late.max(axis=1) > 0, late.argmax(axis=1), -1)
    num_episodes = outcome.shape[1]
    at_home = (outcome == favourite[:, None]) & (favourite >= 0)[:, None]
    if num_episodes < RUN:
        return favourite, np.full(len(outcome), num_episodes)
    runs = np.all(np.lib.stride_tricks.sliding_window_view(at_home, RUN, axis=1), axis=2)  # bool[n, E - RUN + 1]
    return favourite, np.where(runs.any(axis=1), runs.argmax(axis=1), num_episodes)


def tried_both(outcome: np.ndarray) -> np.ndarray:
    """Returns bool[n], whether each of A and C was reached before the agent settled, or is what it settled for."""
    favourite, since = settled_from(outcome)
    return np.all([(first_reached(outcome, column) < since) | (favourite == column) for column in (A, C)], axis=0)
