"""`orexis reproduce fig3`: agents under the learned reward and under its baselines, on all four tasks."""

import dataclasses
import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from orexis.config import RunConfig
from orexis.errors import OK, UsageError
from orexis.evaluation.evaluate import Plan, evaluate_all, settle
from orexis.evaluation.progress import progress_bars
from orexis.evaluation.scores import as_json, mean_and_interval
from orexis.evaluation.sources import find_artefact
from orexis.evaluation.table import SourceTable
from orexis.figures.evaluation import Panel, evaluation_figure
from orexis.figures.palette import paper_style
from orexis.platform import versions
from orexis.presets import preset, training_episodes
from orexis.reproduce.claims import Claim, claims_table
from orexis.reproduce.fig3_claims import CLAIMS, LEARNED
from orexis.storage.files import write_json
from orexis.training.train import train
from orexis.zoo.registry import shipped_names

TITLES = {
    "empty-rooms": "Empty Rooms",
    "random-abc": "Random ABC",
    "key-box": "Key-Box",
    "nonstationary-abc": "Non-stationary ABC",
}
BASELINES = ("extrinsic-ep", "extrinsic-life", "count", "icm", "random", "teacher")
EXTRA = {"random-abc": ("near-optimal",)}  # the tasks that have a hand-made strategy
SEED = 0  # of the report; sweeps use others
PIXELS_PER_INCH = 220


@dataclasses.dataclass(frozen=True)
class TaskBudget:
    """What one task may cost."""

    updates: int  # of the reward, where there is none yet
    lifetimes: int  # fresh ones, for each source
    episodes: int | None = None  # of a lifetime, if shortened


BUDGETS: dict[str, dict[str, TaskBudget]] = {
    "smoke": {
        "empty-rooms": TaskBudget(2, 4, episodes=4),
        "random-abc": TaskBudget(2, 8),
        "key-box": TaskBudget(2, 4, episodes=4),
        "nonstationary-abc": TaskBudget(2, 8, episodes=20),
    },
    "small": {
        "empty-rooms": TaskBudget(5_000, 32),
        "random-abc": TaskBudget(13_500, 256),
        "key-box": TaskBudget(5_000, 16),
        "nonstationary-abc": TaskBudget(7_000, 32),
    },
    "paper": {task: TaskBudget(200_000, 256 if task != "key-box" else 30) for task in TITLES},
}
"""The paper evaluates on 30 seeds; its training budget is 2·10^5 updates of 64 lifetimes."""

SMOKE_LIFETIMES = 4  # in parallel, while training for smoke


@dataclasses.dataclass(frozen=True)
class Request:
    """What was asked for."""

    budget: str
    out: Path
    tasks: tuple[str, ...]
    rewards: dict[str, str]  # by task: a reward that is there already
    train: bool
    cache: Path | None
    command: tuple[str, ...]


def reproduce(request: Request) -> int:
    """Trains what is missing, evaluates, draws, checks the claims; all into `request.out`/fig3."""
    started = time.monotonic()
    folder = request.out / "fig3"
    folder.mkdir(parents=True, exist_ok=True)
    panels, claims, measured = [], [], {}
    for task in request.tasks:
        begun = time.monotonic()
        reward = find_reward(request, task, folder)
        panel, tables, optimum = run_panel(request, task, reward)
        panels.append(panel)
        claims += [judge(request.budget, claim(tables, optimum)) for claim in CLAIMS[task]]
        measured[task] = {
            **_reward_facts(reward),
            "lifetimes": BUDGETS[request.budget][task].lifetimes,
            "episodes": panel.tables[0].extrinsic.shape[1],
            "seconds": round(time.monotonic() - begun, 1),
            "mean_episode_return": {
                name: mean_and_interval(table.extrinsic.mean(axis=1)) for name, table in tables.items()
            },
        }
        write_json(folder / f"{task}.json", as_json(list(panel.tables)))
    figure = evaluation_figure(panels)
    with paper_style():
        figure.savefig(folder / "fig3.png", dpi=PIXELS_PER_INCH)
        figure.savefig(folder / "fig3.svg", metadata={"Date": None})
    document = {
        "command": shlex.join(request.command),
        "budget": request.budget,
        "seed": SEED,
        "seconds": round(time.monotonic() - started, 1),
        "versions": versions(),
        "tasks": measured,
        "claims": [claim.as_json() for claim in claims],
    }
    write_json(folder / "claims.json", document)
    (folder / "README.md").write_text(compose_page(document, claims), encoding="utf-8")
    print(claims_table(claims))
    print(f"\nEverything is in {folder}")
    return OK


def find_reward(request: Request, task: str, folder: Path) -> str | None:
    """Returns the learned reward to evaluate: named, shipped, of an earlier run here, or trained now; else None."""
    if task in request.rewards:
        if find_artefact(request.rewards[task]).task != task:
            raise UsageError(f"the reward {request.rewards[task]} was not learned on {task}")
        return request.rewards[task]
    if task in shipped_names() and request.budget != "paper":
        return task
    if not request.train:
        return None
    run_dir = folder / "runs" / task
    meta = preset(task)
    if request.budget == "smoke":
        meta = dataclasses.replace(meta, lifetimes=SMOKE_LIFETIMES)
    updates, episodes = BUDGETS[request.budget][task].updates, training_episodes(task)
    config = RunConfig(task=task, seed=SEED, updates=updates, meta=meta, episodes=episodes)
    code = train(run_dir, config, resume=True)  # a finished run ends at once
    if code != OK:
        raise SystemExit(code)  # a signal; the same command goes on from here
    return str(run_dir)


def run_panel(request: Request, task: str, reward: str | None) -> tuple[Panel, dict[str, SourceTable], float]:
    """Returns a task's panel, its tables by source (the learned one as `LEARNED`) and its optimum."""
    budget = BUDGETS[request.budget][task]
    names = [*([reward] if reward else []), *BASELINES, *EXTRA.get(task, ())]
    setting = settle(names, task, episodes=budget.episodes)
    with progress_bars(task, budget.lifetimes) as on_progress:
        tables, _ = evaluate_all(
            names, setting, Plan(budget.lifetimes, SEED, cache=request.cache, on_progress=on_progress)
        )
    optimum = setting.task.optimum()  # type: ignore[attr-defined]
    notes = [f"{budget.lifetimes} lifetimes"]
    notes += [f"cut to {budget.episodes} episodes"] if budget.episodes else []
    notes += [] if reward else ["no learned reward was trained"]
    tables = [dataclasses.replace(table, source=LEARNED) if table.source == reward else table for table in tables]
    by_source = {table.source: table for table in tables}
    return Panel(TITLES[task], tuple(tables), optimum, "; ".join(notes)), by_source, optimum


def compose_page(document: dict[str, Any], claims: Sequence[Claim]) -> str:
    """Returns the page beside the figure: how it was made, the scores and the claims."""
    made_with = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
    lines = [
        "# Evaluation of reward functions (the paper's third figure)",
        "",
        "![fig3](fig3.png)",
        "",
        f"    {document['command']}",
        "",
        f"Seed {document['seed']}, {document['seconds']:.0f} s ({made_with}).",
        "Lines are means over lifetimes, bands 95 % bootstrap intervals; long lifetimes are binned into 100 points.",
        "Tables that were in the cache took no time.",
        "",
    ]
    for task, facts in document["tasks"].items():
        lines += [
            f"## {TITLES[task]}",
            "",
            f"{facts['lifetimes']} lifetimes of {facts['episodes']} episodes, {facts['seconds']:.0f} s; "
            + (f"learned reward: {facts['reward']}." if facts["reward"] else "no learned reward."),
            "",
            "| source | mean return of an episode | 95 % interval |",
            "|---|---|---|",
            *(
                f"| {name} | {score['mean']:.3f} | {score['ci95'][0]:.3f} to {score['ci95'][1]:.3f} |"
                for name, score in facts["mean_episode_return"].items()
            ),
            "",
        ]
    return "\n".join([*lines, "## Claims", "", claims_table(claims), ""])


def judge(budget: str, claim: Claim) -> Claim:
    """Returns the claim, undecided if the budget was smoke: its rewards have learned nothing, its lives are short."""
    if budget != "smoke" or claim.missing:
        return claim
    return dataclasses.replace(claim, missing="a smoke run decides nothing")


def _reward_facts(reward: str | None) -> dict[str, Any]:
    """Returns what identifies the learned reward: no path, which would mean nothing elsewhere."""
    if reward is None:
        return {"reward": None}
    record = find_artefact(reward).record
    updates = record.get("training", {}).get("updates", "?")
    return {"reward": f"{updates} updates, sha256 {record['sha256'][:12]}", "sha256": record["sha256"]}
