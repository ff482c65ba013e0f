"""`orexis reproduce fig6`: returns and entropy around the swaps of Non-stationary ABC."""

import time
from typing import Any

import numpy as np

from orexis.evaluation.evaluate import Plan
from orexis.evaluation.printing import markdown_table
from orexis.evaluation.scores import mean_and_interval
from orexis.evaluation.table import SourceTable
from orexis.figures.around_swaps import around_swaps_figure
from orexis.figures.swaps import Swaps, recoveries
from orexis.reproduce.base import (
    BUDGETS,
    SEED,
    Request,
    Results,
    evaluate_sources,
    find_reward,
    judge,
    reward_facts,
    scores_of,
    words_of,
    write_results,
)
from orexis.reproduce.fig6_claims import CLAIMS
from orexis.tasks.abc import NonstationaryABC

NAME, TASK = "fig6", "nonstationary-abc"
BASELINES = ("extrinsic-ep", "extrinsic-life", "count", "icm")
NUM_PERIODS = 4  # of a lifetime, between swaps: the paper's 1000 episodes with a swap every 250
HEADING = "Around the swaps of Non-stationary ABC (the paper's sixth figure)"
NOTES = (
    "Lines are means over lifetimes, bands 95 % bootstrap intervals. A whole lifetime is binned into 100 points;",
    "around the swap each episode is a point. Dashed verticals are swaps. The habitual object is what pays most,",
    "on the right what did before the swap; its line ends where under a quarter of lifetimes go there.",
    "Tables that were in the cache took no time.",
)


def reproduce(request: Request) -> int:
    """Evaluates lifetimes, draws, checks the claims; all into `request.out`/fig6. Returns OK."""
    started = time.monotonic()
    folder = request.out / NAME
    folder.mkdir(parents=True, exist_ok=True)
    reward = find_reward(request, TASK, folder)
    budget = BUDGETS[request.budget][TASK]
    num_episodes = budget.episodes or NonstationaryABC().episodes
    swaps = Swaps(num_episodes // NUM_PERIODS, num_episodes)  # a shortened lifetime has its swaps sooner
    options = {"swap_every": swaps.period}
    evaluated = evaluate_sources(request, TASK, reward, BASELINES, Plan(budget.lifetimes, SEED), options)
    claims = [judge(request.budget, claim(evaluated.tables, swaps)) for claim in CLAIMS]
    seconds = round(time.monotonic() - started, 1)
    facts = {
        **reward_facts(evaluated.artefact),
        "lifetimes": budget.lifetimes,
        "episodes": num_episodes,
        "swap_every": swaps.period,
        "seconds": seconds,
        "mean_episode_return": scores_of(evaluated.tables),
        "recovery": {name: measure_recovery(table, swaps) for name, table in evaluated.tables.items()},
    }
    middle = swaps.episodes[len(swaps.episodes) // 2]
    figure = around_swaps_figure(evaluated.tables, swaps, middle)
    tables = {TASK: facts_table(facts)}
    return write_results(request, Results(NAME, HEADING, NOTES, figure, {TASK: facts}, tables, claims, seconds))


def measure_recovery(table: SourceTable, swaps: Swaps) -> dict[str, Any]:
    """Returns, by swap, how many lifetimes had something to lose and after how many episodes it was back, as JSON."""
    found = {}
    for swap in swaps.episodes:
        took = recoveries(table, swap, swaps)
        took = took[~np.isnan(took)]
        found[str(swap)] = {"lifetimes": len(took), "episodes": mean_and_interval(took) if len(took) else None}
    return found


def facts_table(facts: dict[str, Any]) -> list[str]:
    """Returns the lines of a table: for each source the mean return, and what `measure_recovery` returned."""
    rows = [
        (
            name,
            words_of(facts["mean_episode_return"][name]),
            *(f"{words_of(one['episodes'])}, n = {one['lifetimes']}" for one in recovery.values()),
        )
        for name, recovery in facts["recovery"].items()
    ]
    swaps = next(iter(facts["recovery"].values()))
    return markdown_table(
        ("source", "mean return of an episode", *(f"episodes to recover, swap at {swap}" for swap in swaps)), rows
    )
