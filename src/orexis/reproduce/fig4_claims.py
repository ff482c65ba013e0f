"""What the paper says about its fourth figure, and how the steps of lifetimes decide it."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from orexis.figures.visits import STRAIGHT, Search, seen_within, straight_shares
from orexis.reproduce.claims import Claim, Comparison, about_learned, measure, measure_known
from orexis.rewards.registry import LEARNED

Searches: TypeAlias = Mapping[str, Search]
TASK = "empty-rooms"
BONUSES = ("count", "icm")
WITHOUT = "extrinsic-ep"  # no bonus


def explores(searches: Searches) -> Claim:
    """The learned reward, while the goal is not found."""
    return about_learned(
        searches,
        TASK,
        "While the goal is not found, it encourages exploration of unvisited locations",
        "cells seen in as many steps as both agents of a lifetime take without finding the far goal: learned less "
        f"{WITHOUT} is above 0",
        lambda learned: (compare_coverage(searches, LEARNED),),
    )


def bonuses_explore(searches: Searches) -> Claim:
    """The hand-made bonuses, while the goal is not found."""
    return Claim(
        TASK,
        "Both the count-based and ICM rewards tend to encourage exploration",
        f"the same: each of them less {WITHOUT} is above 0",
        tuple(compare_coverage(searches, bonus) for bonus in BONUSES),
    )


def exploits(searches: Searches) -> Claim:
    """Both, once it is found."""
    return about_learned(
        searches,
        TASK,
        "Once the goal is found the intrinsic reward encourages the agent to exploit it without further exploration [… "
        "count-based and ICM rewards] hinders exploitation when the goal is found",
        f"share of the later episodes that reach the goal within {STRAIGHT:g} times the shortest path, in lifetimes "
        "where both agents found it: learned less bonus is above 0, for each goal",
        lambda learned: [
            compare_straight(searches, bonus, steps) for steps in np.unique(learned.away) for bonus in BONUSES
        ],
    )


CLAIMS: tuple[Callable[[Searches], Claim], ...] = (explores, bonuses_explore, exploits)
"""Each sentence of the paper about the figure: functions of what the sources did."""


def compare_coverage(searches: Searches, name: str) -> Comparison:
    """Returns how many more cells a source had seen than `WITHOUT` when the first of the two found the far goal."""
    both = searches[name], searches[WITHOUT]
    far = both[0].away == both[0].away.max()
    until = np.minimum(both[0].found, both[1].found)  # the step that finds it is not among them
    more = np.subtract(*(seen_within(search, until) for search in both))
    return measure(f"{name} − {WITHOUT} ({far.sum()} lifetimes)", more[far], 0.0)


def compare_straight(searches: Searches, bonus: str, steps: int) -> Comparison | None:
    """Returns how much larger a share of episodes went straight to a goal so many steps away under the learned reward
    than under a bonus; None where hardly any lifetime can be compared."""
    difference = np.subtract(*(straight_shares(searches[name]) for name in (LEARNED, bonus)))
    chosen = searches[bonus].away == steps
    return measure_known(f"{LEARNED} − {bonus}, goal {steps} steps away", difference[chosen], 0.0)
