"""`orexis reproduce fig4`: where agents go in Empty Rooms, before and after they have found a far or a near goal."""

import time
from typing import Any, cast

import numpy as np

from orexis.evaluation.evaluate import Plan
from orexis.evaluation.printing import markdown_table
from orexis.evaluation.scores import mean_and_interval
from orexis.figures.heat_maps import Group, heat_maps_figure
from orexis.figures.visits import Search, coverage, search_of, straight_shares
from orexis.reproduce.base import (
    BUDGETS,
    SEED,
    Request,
    Results,
    evaluate_sources,
    find_reward,
    judge,
    reward_facts,
    words_of,
    write_results,
)
from orexis.reproduce.fig4_claims import CLAIMS
from orexis.tasks.empty_rooms import EmptyRooms

NAME, TASK = "fig4", "empty-rooms"
BASELINES = ("extrinsic-ep", "count", "icm")
STEPS = 3000  # of each lifetime, as in the paper
GOALS = ((8, 8), (4, 4))  # the middle of the opposite room, a corner of the own one: 12 and 4 steps away
HEADING = "Where agents go in Empty Rooms (the paper's fourth figure)"
NOTES = (
    f"Each map shows the first {STEPS} steps of the agents that one source made: those before the goal was found, the",
    "step that found it included, or those after. A lifetime's goal lies in the far cell or in the near one; n is how",
    "many lifetimes have such steps, the steps are their mean. Curves are means over lifetimes, bands 95 % bootstrap",
    "intervals; a dot is where half of a source's agents have found the goal.",
)


def reproduce(request: Request) -> int:
    """Evaluates the first steps of lifetimes, draws, checks the claims; all into `request.out`/fig4. Returns OK."""
    started = time.monotonic()
    folder = request.out / NAME
    folder.mkdir(parents=True, exist_ok=True)
    reward = find_reward(request, TASK, folder)
    lifetimes = 5 * BUDGETS[request.budget][TASK].lifetimes // 2  # two goals, and some more since they are drawn
    plan = Plan(lifetimes, SEED, traced=True, num_steps=STEPS)
    evaluated = evaluate_sources(request, TASK, reward, BASELINES, plan, {"goals": GOALS})
    task = cast(EmptyRooms, evaluated.setting.task)
    searches = {name: search_of(task, table, evaluated.traces[name], STEPS) for name, table in evaluated.tables.items()}
    groups = [group for goal in GOALS if (group := group_of(searches, goal)) is not None]
    seconds = round(time.monotonic() - started, 1)
    facts = {
        **reward_facts(evaluated.artefact),
        "lifetimes": lifetimes,
        "episodes": task.episodes,
        "steps": STEPS,
        "seconds": seconds,
        "goals": {group.title: measure_group(group) for group in groups},
    }
    claims = [judge(request.budget, claim(searches)) for claim in CLAIMS]
    tables = {TASK: facts_table(facts["goals"])}
    figure = heat_maps_figure(groups)
    return write_results(request, Results(NAME, HEADING, NOTES, figure, {TASK: facts}, tables, claims, seconds))


def group_of(searches: dict[str, Search], goal: tuple[int, int]) -> Group | None:
    """Returns the lifetimes of all sources with that goal, the same ones; None if there is none."""
    chosen = {name: search.with_goal(goal) for name, search in searches.items()}
    away = next(iter(chosen.values())).away
    return Group(f"goal {away[0]} steps away", goal, chosen) if len(away) else None


def measure_group(group: Group) -> dict[str, Any]:
    """Returns what the lifetimes of each source with one goal did, as JSON: null where nothing can be measured."""
    return {name: measure_search(search) for name, search in group.searches.items()}


def measure_search(search: Search) -> dict[str, Any]:
    """Returns how many lifetimes there are and how many found the goal, the cells that they saw in all their steps, and
    the share of later episodes that went straight to the goal."""
    straight = straight_shares(search)
    straight = straight[~np.isnan(straight)]
    return {
        "lifetimes": len(search.found),
        "found": int((search.found < search.num_steps).sum()),
        "cells_seen": mean_and_interval(coverage(search)[:, -1]),
        "straight": mean_and_interval(straight) if len(straight) else None,
    }


def facts_table(goals: dict[str, Any]) -> list[str]:
    """Returns the lines of a table of what `measure_group` returned for each goal."""
    rows = [
        (goal, name, str(one["lifetimes"]), str(one["found"]), words_of(one["cells_seen"]), words_of(one["straight"]))
        for goal, sources in goals.items()
        for name, one in sources.items()
    ]
    headings = ("goal", "source", "lifetimes", "found it", "cells seen", "later episodes straight to it")
    return markdown_table(headings, rows)
