"""`orexis reproduce fig3`: agents under the learned reward and under its baselines, on all four tasks."""

import dataclasses
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from orexis.evaluation.evaluate import Plan
from orexis.evaluation.printing import markdown_table
from orexis.evaluation.scores import as_json, mean_and_interval
from orexis.evaluation.table import SourceTable
from orexis.figures.curves import binned
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
    words_of,
    write_results,
)
from orexis.reproduce.claims import episode_means, tenth
from orexis.reproduce.fig3_claims import CLAIMS
from orexis.statistics import bootstrap_interval
from orexis.storage.artefact import Artefact
from orexis.storage.files import write_json

BASELINES = ("extrinsic-ep", "extrinsic-life", "count", "icm", "random", "teacher")
EXTRA = {"random-abc": ("near-optimal",)}  # the tasks that have a hand-made strategy
PAPER_AGENT = ("empty-rooms", "key-box")  # also lived by the paper's agent, whose settings are far from the tuned one's
HEADING = "Evaluation of reward functions (the paper's third figure)"
NOTES = (
    "Lines are means over lifetimes, bands 95 % bootstrap intervals; long lifetimes are binned into 100 points.",
    "Rewards were trained with the tuned agent; in the panels of the paper's agent its settings live, under the same",
    "reward and bonuses swept for them. An end is what ends an episode before its time: a goal, an object, a box.",
    "Tables that were in the cache took no time.",
)


@dataclasses.dataclass(frozen=True)
class Lived:
    """A panel, and what was learned and measured in it."""

    panel: Panel
    artefact: Artefact | None  # the reward that lived
    optimum: float
    seconds: float

    def facts(self) -> dict[str, Any]:
        """Returns what the page tells of it, as JSON."""
        tables = self.panel.tables
        last = slice(-tenth(tables[0]), None)
        return {
            **reward_facts(self.artefact),
            "title": self.panel.title,
            "lifetimes": tables[0].extrinsic.shape[0],
            "episodes": tables[0].extrinsic.shape[1],
            "seconds": round(self.seconds, 1),
            "mean_episode_return": scores_of({table.source: table for table in tables}),
            "last_tenth": {table.source: mean_and_interval(episode_means(table, last)) for table in tables},
            "ended_in_last_tenth": {
                table.source: mean_and_interval((table.outcome[:, last] >= 0).mean(axis=1)) for table in tables
            },
        }


def reproduce(request: Request) -> int:
    """Trains what is missing, evaluates, draws, checks the claims; all into `request.out`/fig3. Returns OK."""
    started = time.monotonic()
    folder = request.out / "fig3"
    folder.mkdir(parents=True, exist_ok=True)
    lived: dict[str, Lived] = {}
    claims = []
    rewards = {task: find_reward(request, task, folder) for task in request.tasks}
    agents: list[tuple[str, str | None]] = [(task, None) for task in request.tasks]
    agents += [(task, "paper") for task in request.tasks if task in PAPER_AGENT]
    for task, recipe in agents:
        name = f"{task}, {recipe} agent" if recipe else task
        lived[name] = one = run_panel(request, task, rewards[task], recipe)
        tables = {table.source: table for table in one.panel.tables}
        judged = [judge(request.budget, claim(tables, one.optimum)) for claim in CLAIMS[task]]
        claims += [dataclasses.replace(claim, task=name) for claim in judged]
        write_json(folder / f"{name.replace(', ', '-').replace(' ', '-')}.json", summary(one.panel.tables))
    measured = {name: one.facts() for name, one in lived.items()}
    scores = {name: table_of(facts) for name, facts in measured.items()}
    seconds = time.monotonic() - started
    figure = evaluation_figure([one.panel for one in lived.values()])
    return write_results(request, Results("fig3", HEADING, NOTES, figure, measured, scores, claims, seconds))


def run_panel(request: Request, task: str, reward: str | None, recipe: str | None = None) -> Lived:
    """Returns a task's panel, the learned reward's table in it as `LEARNED`. recipe: whose agents live; None: those
    that the reward was trained with."""
    begun = time.monotonic()
    budget = BUDGETS[request.budget][task]
    baselines = (*BASELINES, *EXTRA.get(task, ()))
    evaluated = evaluate_sources(request, task, reward, baselines, Plan(budget.lifetimes, SEED), recipe=recipe)
    optimum = evaluated.setting.task.optimum()  # type: ignore[attr-defined]
    notes = [f"{budget.lifetimes} lifetimes"]
    notes += [f"cut to {budget.episodes} episodes"] if budget.episodes else []
    notes += [] if reward else ["no learned reward was trained"]
    title = TITLES[task] + (f", the {recipe}'s agent" if recipe else "")
    panel = Panel(title, tuple(evaluated.tables.values()), optimum, "; ".join(notes))
    return Lived(panel, evaluated.artefact, optimum, time.monotonic() - begun)


def summary(tables: Sequence[SourceTable]) -> dict[str, Any]:
    """Returns the JSON of an evaluation; of long lifetimes what is drawn: points for several episodes, at `episode`."""
    document = as_json(list(tables))
    for table in tables:
        middles, values = binned(table.extrinsic)
        if len(middles) < table.extrinsic.shape[1]:
            intervals = np.moveaxis(bootstrap_interval(values), 0, -1)
            document["sources"][table.source] |= {
                "episode": middles.tolist(),
                "episode_return": values.mean(axis=0).tolist(),
                "ci95": intervals.tolist(),
            }
    return document


def table_of(facts: dict[str, Any]) -> list[str]:
    """Returns the lines of a table of the mean over the lifetime, of its last tenth, and of the ends reached there."""
    rows = [
        (name, words_of(score), words_of(facts["last_tenth"][name]), words_of(facts["ended_in_last_tenth"][name]))
        for name, score in facts["mean_episode_return"].items()
    ]
    return markdown_table(("source", "mean return of an episode", "last tenth", "reached an end there"), rows)
