"""What the paper says about its third figure, and how tables of lifetimes decide it.

What is said of the mean over the lifetime is judged of its last tenth too: the one asks how soon, the other how well.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from orexis.evaluation.table import SourceTable
from orexis.reproduce.claims import Claim, about_learned, episode_means, measure, measure_share, tenth
from orexis.tasks.abc import NonstationaryABC

Tables: TypeAlias = Mapping[str, SourceTable]
BASELINES = ("extrinsic-ep", "extrinsic-life", "count")
MORE_EFFICIENT = (
    "the learned intrinsic reward was more efficient than extrinsic rewards and count-based exploration when "
    "training a new agent"
)
NEAR_OPTIMAL = "learned intrinsic reward leads to a near-optimal exploration"
NEAR = 0.9  # of the best, from where on we call it near-optimal
AFTER_A_SWAP = 50  # episodes in which an agent is to recover
NO_MORE_THAN_CHANCE = 0.05  # share of episodes by which boxes may be opened more often than at random


def more_efficient(tables: Tables, optimum: float) -> Claim:
    """Empty Rooms."""
    del optimum
    return _more_than_baselines(tables, "empty-rooms", MORE_EFFICIENT, "over the lifetime", slice(None))


def better_at_the_end(tables: Tables, optimum: float) -> Claim:
    """Empty Rooms."""
    del optimum
    last = _last_tenth(tables)
    return _more_than_baselines(tables, "empty-rooms", MORE_EFFICIENT, "in the last tenth of the lifetime", last)


def more_efficient_than_icm(tables: Tables, optimum: float) -> Claim:
    """Empty Rooms. The sentence does not name ICM, so it is judged apart."""
    del optimum
    return _more_than_baselines(tables, "empty-rooms", MORE_EFFICIENT, "over the lifetime", slice(None), ("icm",))


def better_at_the_end_than_icm(tables: Tables, optimum: float) -> Claim:
    """Empty Rooms, likewise."""
    del optimum
    last = _last_tenth(tables)
    return _more_than_baselines(
        tables, "empty-rooms", MORE_EFFICIENT, "in the last tenth of the lifetime", last, ("icm",)
    )


def near_optimal(tables: Tables, optimum: float) -> Claim:
    """Random ABC."""
    del optimum
    return _share_of_strategy(tables, "over the lifetime", slice(None))


def near_optimal_at_the_end(tables: Tables, optimum: float) -> Claim:
    """Random ABC."""
    del optimum
    return _share_of_strategy(tables, "in the last tenth of the lifetime", _last_tenth(tables))


def near_optimal_in_key_box(tables: Tables, optimum: float) -> Claim:
    """Key-Box."""
    return _share_of_optimum(tables, optimum, "second half", slice(_num_episodes(tables) // 2, None))


def near_optimal_in_key_box_at_the_end(tables: Tables, optimum: float) -> Claim:
    """Key-Box."""
    return _share_of_optimum(tables, optimum, "last tenth", _last_tenth(tables))


def near_optimal_in_these_key_boxes(tables: Tables, optimum: float) -> Claim:
    """Key-Box. Against the worth of the best box of these very lifetimes, or 0: the optimum is that of all draws."""
    del optimum
    last = _last_tenth(tables)
    return about_learned(
        tables,
        "key-box",
        NEAR_OPTIMAL,
        f"mean return in the last tenth of the lifetime is at least {NEAR:.0%} of the worth of the lifetimes' best box",
        lambda learned: (
            measure(
                f"learned − {NEAR:.0%} of the best box",
                episode_means(learned, last) - NEAR * _worth_of_best_box(learned),
                0.0,
            ),
        ),
    )


def better_in_key_box(tables: Tables, optimum: float) -> Claim:
    """Key-Box."""
    del optimum
    baselines = (*BASELINES, "icm")
    return _more_than_baselines(tables, "key-box", NEAR_OPTIMAL, "over the lifetime", slice(None), baselines)


def better_in_key_box_at_the_end(tables: Tables, optimum: float) -> Claim:
    """Key-Box."""
    del optimum
    baselines, last = (*BASELINES, "icm"), _last_tenth(tables)
    return _more_than_baselines(tables, "key-box", NEAR_OPTIMAL, "in the last tenth of the lifetime", last, baselines)


def opens_no_box(tables: Tables, optimum: float) -> Claim:
    """Key-Box."""
    del optimum
    blind, agent = tables["random"], tables["extrinsic-ep"]
    last = _last_tenth(tables)
    opened, by_chance = ((table.outcome[:, last] >= 0).mean(axis=1) for table in (agent, blind))
    return Claim(
        "key-box",
        "The agent trained with extrinsic rewards did not learn to open any box",
        "share of episodes that end in a box, last tenth of the lifetime, beyond a random walk's, "
        f"is at most {NO_MORE_THAN_CHANCE:g}",
        (measure("extrinsic-ep − random", opened - by_chance, NO_MORE_THAN_CHANCE, at_least=False),),
    )


def recovers_sooner(tables: Tables, optimum: float) -> Claim:
    """Non-stationary ABC."""
    del optimum
    return about_learned(
        tables,
        "nonstationary-abc",
        "the agent with the learned intrinsic reward quickly recovered its performance when the task changes, whereas "
        "the baselines take more time to recover",
        f"mean return of the {AFTER_A_SWAP} episodes after each change, learned less baseline, is above 0",
        lambda learned: tuple(
            measure(f"learned − {baseline}", _after_swaps(learned) - _after_swaps(tables[baseline]), 0.0)
            for baseline in (*BASELINES, "icm")
        ),
    )


CLAIMS: dict[str, tuple[Callable[[Tables, float], Claim], ...]] = {
    "empty-rooms": (more_efficient, better_at_the_end, more_efficient_than_icm, better_at_the_end_than_icm),
    "random-abc": (near_optimal, near_optimal_at_the_end),
    "key-box": (
        near_optimal_in_key_box,
        near_optimal_in_key_box_at_the_end,
        near_optimal_in_these_key_boxes,
        better_in_key_box,
        better_in_key_box_at_the_end,
        opens_no_box,
    ),
    "nonstationary-abc": (recovers_sooner,),
}
"""Each sentence of the paper about the figure: functions of the tables of a task by source, and its optimum."""


def _more_than_baselines(
    tables: Tables, task: str, sentence: str, when: str, episodes: slice, baselines: tuple[str, ...] = BASELINES
) -> Claim:
    return about_learned(
        tables,
        task,
        sentence,
        f"mean return of an episode {when}, learned less baseline, is above 0",
        lambda learned: tuple(
            measure(
                f"learned − {baseline}",
                episode_means(learned, episodes) - episode_means(tables[baseline], episodes),
                0.0,
            )
            for baseline in baselines
        ),
    )


def _share_of_strategy(tables: Tables, when: str, episodes: slice) -> Claim:
    return about_learned(
        tables,
        "random-abc",
        "the agent learned a near-optimal exploration-and-then-exploitation method with the learned intrinsic reward",
        f"mean return {when} is at least {NEAR:.0%} of the hand-made strategy's",
        lambda learned: (
            measure_share(
                "learned / near-optimal",
                episode_means(learned, episodes),
                episode_means(tables["near-optimal"], episodes),
                NEAR,
            ),
        ),
    )


def _share_of_optimum(tables: Tables, optimum: float, when: str, episodes: slice) -> Claim:
    return about_learned(
        tables,
        "key-box",
        NEAR_OPTIMAL,
        f"mean return in the {when} of the lifetime is at least {NEAR:.0%} of the optimum",
        lambda learned: (measure("learned / optimum", episode_means(learned, episodes) / optimum, NEAR),),
    )


def _worth_of_best_box(table: SourceTable) -> np.ndarray:
    """Returns f[n], what an episode pays who always opens the best box, or none where all are worth less than 0."""
    return np.maximum(table.task_params["rewards"].max(axis=1), 0.0)


def _num_episodes(tables: Tables) -> int:
    return next(iter(tables.values())).extrinsic.shape[1]


def _last_tenth(tables: Tables) -> slice:
    return slice(-tenth(next(iter(tables.values()))), None)


def _after_swaps(table: SourceTable) -> np.ndarray:
    """Returns f[n], the mean return of the episodes that follow a change; of the second half if there is none."""
    num_episodes, period = table.extrinsic.shape[1], NonstationaryABC().swap_every
    swaps = range(period, num_episodes, period) or [num_episodes // 2]
    chosen = [swap + k for swap in swaps for k in range(AFTER_A_SWAP) if swap + k < num_episodes]
    return table.extrinsic[:, chosen].mean(axis=1, dtype=np.float64)
