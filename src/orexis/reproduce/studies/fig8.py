"""`orexis reproduce fig8`: a learned reward against learned policies, RL² and MAML, on all four tasks."""

import time
from typing import Any

from orexis.evaluation.evaluate import Plan, settle
from orexis.evaluation.printing import markdown_table
from orexis.evaluation.scores import mean_and_interval
from orexis.evaluation.sources import find_artefact
from orexis.evaluation.table import SourceTable
from orexis.figures.evaluation import Panel, evaluation_figure
from orexis.reproduce.base import (
    SEED,
    TITLES,
    Evaluated,
    Request,
    Results,
    evaluate_named,
    find_reward,
    judge,
    reward_facts,
    scores_of,
    words_of,
    write_results,
)
from orexis.reproduce.claims import episode_means, tenth
from orexis.reproduce.studies.base import BUDGETS, Found, training_facts
from orexis.reproduce.studies.fig8_claims import CLAIMS
from orexis.reproduce.studies.policies import STYLES, find_policies, told
from orexis.rewards.registry import LEARNED

NAME = "fig8"
BASELINE = "extrinsic-ep"
HEADING = "Rewards against policies (the paper's eighth figure)"
NOTES = (
    "Lines are means over lifetimes, bands and bars 95 % bootstrap intervals; long lifetimes are binned into 100",
    "points. RL²: a policy with a memory over the lifetime. MAML: an initialisation of the actor-critic, which learns",
    "from the extrinsic reward. Agents under the learned reward begin with nothing. Differences are taken lifetime by",
    "lifetime. Environment steps are all that were trained with, those of the runs that a run was begun with too.",
    "How the policies' coefficients were chosen is in docs/explanation/policies.md. Tables that were in the cache took",
    "no time.",
)


def reproduce(request: Request) -> int:
    """Trains what is missing, evaluates, draws, checks the claims; all into `request.out`/fig8. Returns OK."""
    started = time.monotonic()
    folder = request.out / NAME
    folder.mkdir(parents=True, exist_ok=True)
    panels, claims, measured, tables = [], [], {}, {}
    for task in request.tasks:
        begun = time.monotonic()
        reward = find_reward(request, task, folder)
        policies = find_policies(request, NAME, task, find_artefact(reward) if reward else None)
        evaluated = evaluate(request, task, reward, policies)
        panels.append(draw(request, task, evaluated))
        claims += [judge(request.budget, claim(evaluated.tables, task)) for claim in CLAIMS]
        measured[task] = {**tell(evaluated, policies), "seconds": round(time.monotonic() - begun, 1)}
        tables[task] = facts_table(measured[task])
    seconds = time.monotonic() - started
    figure = evaluation_figure(panels, intervals=True)
    return write_results(request, Results(NAME, HEADING, NOTES, figure, measured, tables, claims, seconds))


def evaluate(request: Request, task: str, reward: str | None, policies: Found) -> Evaluated:
    """Returns what the reward, the policies and the baseline did on a task."""
    budget = BUDGETS[request.budget][task]
    named = {LEARNED: reward} if reward else {}
    named |= {learn: runs[SEED] for learn, runs in policies.runs.items()} | {BASELINE: BASELINE}
    setting = settle(list(named.values()), task, episodes=budget.episodes)
    return evaluate_named(request, named, setting, Plan(budget.lifetimes, SEED))


def draw(request: Request, task: str, evaluated: Evaluated) -> Panel:
    """Returns the panel of a task."""
    budget = BUDGETS[request.budget][task]
    notes = [f"{budget.lifetimes} lifetimes"]
    notes += [f"cut to {budget.episodes} episodes"] if budget.episodes else []
    optimum = evaluated.setting.task.optimum()  # type: ignore[attr-defined]
    return Panel(TITLES[task], tuple(evaluated.tables.values()), optimum, "; ".join(notes), STYLES)


def tell(evaluated: Evaluated, policies: Found) -> dict[str, Any]:
    """Returns what was measured on one task, as JSON."""
    tables = evaluated.tables
    return {
        **reward_facts(evaluated.artefact),
        "lifetimes": len(tables[BASELINE].extrinsic),
        "episodes": tables[BASELINE].extrinsic.shape[1],
        "mean_episode_return": scores_of(tables),
        "first_tenth": {name: _part(table, slice(0, tenth(table))) for name, table in tables.items()},
        "last_tenth": {name: _part(table, slice(-tenth(table), None)) for name, table in tables.items()},
        "trainings": {name: training_facts(artefact) for name, artefact in evaluated.artefacts.items()},
        "missing": policies.missing,
    }


def _part(table: SourceTable, episodes: slice) -> dict[str, Any]:
    return mean_and_interval(episode_means(table, episodes))


def facts_table(facts: dict[str, Any]) -> list[str]:
    """Returns the lines of a table of what `tell` returned, and of what is missing."""
    rows = []
    of_reward = facts["trainings"].get(LEARNED, {}).get("env_steps")
    for name, mean in facts["mean_episode_return"].items():
        training = facts["trainings"].get(name)
        compared = training and of_reward and name != LEARNED
        share = f", {training['env_steps'] / of_reward:.2f} of the reward's" if compared else ""
        rows.append(
            (
                STYLES[name].name if name in STYLES else name,
                words_of(mean),
                words_of(facts["first_tenth"][name]),
                words_of(facts["last_tenth"][name]),
                *((f"{training['updates']}", f"{training['env_steps']:.3g}{share}") if training else ("", "")),
            )
        )
    headings = ("source", "mean return of an episode", "first tenth", "last tenth", "updates", "environment steps")
    return [*markdown_table(headings, rows), *told(facts["missing"])]
