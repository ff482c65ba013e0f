"""`orexis reproduce fig3`: agents under the learned reward and under its baselines, on all four tasks."""

import time

from orexis.evaluation.evaluate import Plan
from orexis.evaluation.scores import as_json
from orexis.figures.evaluation import Panel, evaluation_figure
from orexis.reproduce.base import (
    BUDGETS,
    SEED,
    TITLES,
    Request,
    Results,
    evaluate_sources,
    find_reward,
    judge,
    reward_facts,
    scores_of,
    scores_table,
    write_results,
)
from orexis.reproduce.fig3_claims import CLAIMS
from orexis.storage.artefact import Artefact
from orexis.storage.files import write_json

BASELINES = ("extrinsic-ep", "extrinsic-life", "count", "icm", "random", "teacher")
EXTRA = {"random-abc": ("near-optimal",)}  # the tasks that have a hand-made strategy
HEADING = "Evaluation of reward functions (the paper's third figure)"
NOTES = (
    "Lines are means over lifetimes, bands 95 % bootstrap intervals; long lifetimes are binned into 100 points.",
    "Tables that were in the cache took no time.",
)


def reproduce(request: Request) -> int:
    """Trains what is missing, evaluates, draws, checks the claims; all into `request.out`/fig3. Returns OK."""
    started = time.monotonic()
    folder = request.out / "fig3"
    folder.mkdir(parents=True, exist_ok=True)
    panels, claims, measured = [], [], {}
    for task in request.tasks:
        begun = time.monotonic()
        panel, artefact, optimum = run_panel(request, task, find_reward(request, task, folder))
        tables = {table.source: table for table in panel.tables}
        panels.append(panel)
        claims += [judge(request.budget, claim(tables, optimum)) for claim in CLAIMS[task]]
        measured[task] = {
            **reward_facts(artefact),
            "lifetimes": BUDGETS[request.budget][task].lifetimes,
            "episodes": panel.tables[0].extrinsic.shape[1],
            "seconds": round(time.monotonic() - begun, 1),
            "mean_episode_return": scores_of(tables),
        }
        write_json(folder / f"{task}.json", as_json(list(panel.tables)))
    scores = {task: scores_table(facts["mean_episode_return"]) for task, facts in measured.items()}
    seconds = time.monotonic() - started
    figure = evaluation_figure(panels)
    return write_results(request, Results("fig3", HEADING, NOTES, figure, measured, scores, claims, seconds))


def run_panel(request: Request, task: str, reward: str | None) -> tuple[Panel, Artefact | None, float]:
    """Returns a task's panel (the learned reward's table as `LEARNED`), the reward that lived, and its optimum."""
    budget = BUDGETS[request.budget][task]
    baselines = (*BASELINES, *EXTRA.get(task, ()))
    evaluated = evaluate_sources(request, task, reward, baselines, Plan(budget.lifetimes, SEED))
    optimum = evaluated.setting.task.optimum()  # type: ignore[attr-defined]
    notes = [f"{budget.lifetimes} lifetimes"]
    notes += [f"cut to {budget.episodes} episodes"] if budget.episodes else []
    notes += [] if reward else ["no learned reward was trained"]
    panel = Panel(TITLES[task], tuple(evaluated.tables.values()), optimum, "; ".join(notes))
    return panel, evaluated.artefact, optimum
