"""What every figure of the paper shares: the request, the budgets, the rewards, the page and the files beside it."""

import dataclasses
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from orexis.config import RunConfig
from orexis.errors import OK, UsageError
from orexis.evaluation.evaluate import Plan, evaluate_all, settle
from orexis.evaluation.lifetimes import Trace
from orexis.evaluation.printing import markdown_table
from orexis.evaluation.progress import progress_bars
from orexis.evaluation.scores import mean_and_interval
from orexis.evaluation.sources import Setting, find_artefact
from orexis.evaluation.table import SourceTable
from orexis.figures.palette import paper_style
from orexis.platform import versions
from orexis.presets import preset, training_episodes
from orexis.reproduce.claims import Claim, claims_table
from orexis.rewards.registry import LEARNED
from orexis.storage.artefact import Artefact
from orexis.storage.files import write_json
from orexis.storage.stages import updates_in_words
from orexis.tasks.registry import TITLES
from orexis.training.train import train
from orexis.zoo.registry import shipped_names

SEED = 0  # of the reports; sweeps use others
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
        "empty-rooms": TaskBudget(5_000, 128),
        "random-abc": TaskBudget(13_500, 256),
        "key-box": TaskBudget(5_000, 32),
        "nonstationary-abc": TaskBudget(7_000, 128),
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
    others: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    """By task: further rewards, of other training seeds say, for the figures that judge several."""
    runs: Path | None = None  # where trainings are kept; None: in the figure's own folder
    seeds: tuple[int, ...] = (SEED,)  # of the trainings that a figure compares
    policies: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    """By task: policies that are there already."""

    def runs_of(self, figure: str) -> Path:
        """Returns the folder of the trainings that the figure called `figure` needs."""
        return self.runs or self.out / figure / "runs"


def find_reward(request: Request, task: str, folder: Path) -> str | None:
    """Returns the learned reward to evaluate: named, shipped, of an earlier run here, or trained now; else None."""
    if task in request.rewards:
        return _check_task(request.rewards[task], task)
    if task in shipped_names() and request.budget != "paper":
        return task
    if not request.train:
        return None
    run_dir = request.runs_of(folder.name) / task
    meta = preset(task)
    if request.budget == "smoke":
        meta = dataclasses.replace(meta, lifetimes=SMOKE_LIFETIMES)
    updates, episodes = BUDGETS[request.budget][task].updates, training_episodes(task)
    config = RunConfig(task=task, seed=SEED, updates=updates, meta=meta, episodes=episodes)
    code = train(run_dir, config, resume=True)  # a finished run ends at once
    if code != OK:
        raise SystemExit(code)  # a signal; the same command goes on from here
    return str(run_dir)


def find_rewards(request: Request, task: str, folder: Path) -> list[str]:
    """Returns every learned reward to evaluate: that of `find_reward`, then the others that were named."""
    first = find_reward(request, task, folder)
    return [*([first] if first else []), *(_check_task(other, task) for other in request.others.get(task, ()))]


def _check_task(reward: str, task: str) -> str:
    """Returns `reward`. Raises UsageError if it is a policy, or was learned on another task."""
    if find_artefact(reward, "reward").task != task:
        raise UsageError(f"the reward {reward} was not learned on {task}")
    return reward


@dataclasses.dataclass(frozen=True)
class Evaluated:
    """What the sources of a figure did on one task."""

    setting: Setting
    artefacts: dict[str, Artefact]  # of what was learned, by what the figure calls it
    tables: dict[str, SourceTable]  # by source; the learned reward is called `LEARNED`, whatever was typed
    traces: dict[str, Trace]  # likewise; empty unless the plan asked for them

    @property
    def artefact(self) -> Artefact | None:
        """Of the learned reward, if there was one."""
        return self.artefacts.get(LEARNED)


def evaluate_sources(
    request: Request,
    task: str,
    reward: str | None,
    baselines: Sequence[str],
    plan: Plan,
    options: Mapping[str, Any] = {},
    recipe: str | None = None,
) -> Evaluated:
    """Returns what the learned reward, if any, and its baselines did; tables and traces in the cache are not redone.

    plan: how many lifetimes, which, and what to keep of them. options: of the task's own. recipe: whose agents live,
    see `settle_task`.
    """
    named = {**({LEARNED: reward} if reward else {}), **{name: name for name in baselines}}
    episodes = BUDGETS[request.budget][task].episodes
    setting = settle(list(named.values()), task, episodes=episodes, recipe=recipe, options=options)
    return evaluate_named(request, named, setting, plan)


def evaluate_named(request: Request, named: Mapping[str, str], setting: Setting, plan: Plan) -> Evaluated:
    """Returns what the sources did in `setting`. named: by what the figure calls each, what one types for it."""
    with progress_bars(setting.task_name, plan.num_lifetimes) as on_progress:
        plan = dataclasses.replace(plan, cache=request.cache, on_progress=on_progress)
        tables, traces = evaluate_all(list(dict.fromkeys(named.values())), setting, plan)
    typed = {table.source: table for table in tables}
    return Evaluated(
        setting,
        {called: setting.artefacts[name] for called, name in named.items() if name in setting.artefacts},
        {called: dataclasses.replace(typed[name], source=called) for called, name in named.items()},
        {called: traces[name] for called, name in named.items() if name in traces},
    )


def judge(budget: str, claim: Claim) -> Claim:
    """Returns the claim, undecided if the budget was smoke: its rewards have learned nothing, its lives are short."""
    if budget != "smoke" or claim.missing:
        return claim
    return dataclasses.replace(claim, missing="a smoke run decides nothing")


def reward_facts(artefact: Artefact | None) -> dict[str, Any]:
    """Returns what identifies the learned reward: no path, which would mean nothing elsewhere."""
    if artefact is None:
        return {"reward": None}
    record = artefact.record
    return {"reward": f"{updates_in_words(record)} updates, sha256 {record['sha256'][:12]}", "sha256": record["sha256"]}


@dataclasses.dataclass(frozen=True)
class Results:
    """What a figure found."""

    name: str  # of the figure, and of its folder and files
    heading: str  # of its page
    notes: tuple[str, ...]  # how the figure is to be read, a line each
    figure: Figure
    tasks: dict[str, dict[str, Any]]  # what was measured, by task, see `compose_page`
    tables: dict[str, list[str]]  # the same for people, by task: a table in Markdown
    claims: list[Claim]
    seconds: float
    pictures: dict[str, Figure] = dataclasses.field(default_factory=dict)
    """Further ones, by the end of their files' names and of the link to them."""


def write_results(request: Request, results: Results) -> int:
    """Writes figure, claims and page into `request.out`/NAME, prints the claims and returns OK."""
    folder = request.out / results.name
    for name, figure in _pictures(results).items():
        with paper_style():
            figure.savefig(folder / f"{name}.png", dpi=PIXELS_PER_INCH)
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    document = {
        "command": shlex.join(request.command),
        "budget": request.budget,
        "seed": SEED,
        "seconds": round(results.seconds, 1),
        "versions": versions(),
        "tasks": results.tasks,
        "claims": [claim.as_json() for claim in results.claims],
    }
    write_json(folder / "claims.json", document)
    (folder / "README.md").write_text(compose_page(results, document), encoding="utf-8")
    print(claims_table(results.claims))
    print(f"\nEverything is in {folder}")
    return OK


def compose_page(results: Results, document: dict[str, Any]) -> str:
    """Returns the page beside the figure: how it was made, the scores and the claims."""
    made_with = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
    lines = [
        f"# {results.heading}",
        "",
        *(line for name in _pictures(results) for line in (f"![{name}]({name}.png)", "")),
        f"    {document['command']}",
        "",
        f"Budget {document['budget']}, seed {document['seed']}, {document['seconds']:.0f} s ({made_with}).",
        *results.notes,
        "",
    ]
    for task, facts in document["tasks"].items():
        lines += [
            f"## {facts.get('title') or TITLES[task]}",
            "",
            f"{facts['lifetimes']} lifetimes of {facts['episodes']} episodes{_cut(facts)}, {facts['seconds']:.0f} s; "
            + (f"{facts.get('of', 'learned reward')}: {facts['reward']}." if facts["reward"] else "no learned reward."),
            "",
            *results.tables[task],
            "",
        ]
    return "\n".join([*lines, "## Claims", "", claims_table(results.claims), ""])


def _pictures(results: Results) -> dict[str, Figure]:
    """Returns every picture by the name of its files, the figure first."""
    return {results.name: results.figure} | {f"{results.name}-{name}": one for name, one in results.pictures.items()}


def scores_of(tables: Mapping[str, SourceTable]) -> dict[str, Any]:
    """Returns the mean return of an episode of each source, with its interval, as JSON."""
    return {name: mean_and_interval(table.extrinsic.mean(axis=1)) for name, table in tables.items()}


def scores_table(scores: Mapping[str, Any]) -> list[str]:
    """Returns the lines of a table of what `scores_of` returned."""
    rows = [
        (name, f"{score['mean']:.3f}", f"{score['ci95'][0]:.3f} to {score['ci95'][1]:.3f}")
        for name, score in scores.items()
    ]
    return markdown_table(("source", "mean return of an episode", "95 % interval"), rows)


def words_of(measured: Mapping[str, Any] | None) -> str:
    """Returns a mean with its interval, as `mean_and_interval` returned them, in words."""
    if measured is None:
        return "none"
    low, high = measured["ci95"]
    return f"{measured['mean']:.3g} ({low:.3g} to {high:.3g})"


def _cut(facts: Mapping[str, Any]) -> str:
    """Returns where lifetimes were stopped, in words, if they were."""
    return f", their first {facts['steps']} steps" if "steps" in facts else ""
