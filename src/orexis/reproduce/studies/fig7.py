"""`orexis reproduce fig7`: is the history needed, and the lifetime objective? Four rewards of each task, each trained
anew by the same recipe for as long: LSTM or feed-forward, for the return of the lifetime or of the episode."""

import time
from typing import Any

from orexis import colors
from orexis.errors import BadDataError
from orexis.evaluation.evaluate import Plan, settle
from orexis.evaluation.printing import markdown_table
from orexis.evaluation.scores import lifetime_returns, mean_and_interval
from orexis.figures.evaluation import Panel, evaluation_figure
from orexis.figures.palette import LEARNED, SourceStyle
from orexis.reproduce.base import (
    SEED,
    TITLES,
    Request,
    Results,
    evaluate_named,
    judge,
    scores_of,
    words_of,
    write_results,
)
from orexis.reproduce.claims import episode_means
from orexis.reproduce.studies.base import (
    BUDGETS,
    Found,
    average_seeds,
    common_updates,
    difference_facts,
    find_arms,
    training_facts,
)
from orexis.reproduce.studies.fig7_claims import CLAIMS, LABELS, PLAIN, WHOLE
from orexis.storage.artefact import Artefact
from orexis.tools.arms import Arm

NAME = "fig7"
BASELINE = "extrinsic-ep"  # drawn, not judged
EPISODE, FEED_FORWARD = ("--objective", "episode"), ("--history", "none")
OPTIONS: dict[str, tuple[str, ...]] = {
    WHOLE: (),
    "lstm-episode": EPISODE,
    "ff-lifetime": FEED_FORWARD,
    "ff-episode": (*FEED_FORWARD, *EPISODE),
    PLAIN: ("--outer.no-privileged-value",),
}
"""What makes each arm differ from the task's recipe."""
EXTRA = {PLAIN: ("random-abc",)}
"""Arms that only some tasks have."""
DASHED, DOTTED = (0.0, (4.0, 1.5)), (0.0, (1.2, 1.2))
STYLES = {
    WHOLE: SourceStyle(LABELS[WHOLE], LEARNED.color),
    "lstm-episode": SourceStyle(LABELS["lstm-episode"], LEARNED.color, DASHED),
    "ff-lifetime": SourceStyle(LABELS["ff-lifetime"], colors.VIOLET),
    "ff-episode": SourceStyle(LABELS["ff-episode"], colors.VIOLET, DASHED),
    PLAIN: SourceStyle(LABELS[PLAIN], LEARNED.color, DOTTED),
}
"""With memory: the learned reward's own colour; without: a violet. Trained for the lifetime: a whole line."""
HEADING = "Is the history needed, and the lifetime objective? (the paper's seventh figure)"
NOTES = (
    "Lines are means over lifetimes, bands and bars 95 % bootstrap intervals over lifetimes; long lifetimes are binned",
    "into 100 points. Each arm is a training of its own, by the same recipe for as many updates. Where there are",
    "several training seeds, a lifetime's number is the mean over them, and rings are the seeds. FF: a feed-forward",
    "reward, which sees the current step only. Episode: trained for the return of the episode, not of the lifetime.",
    "Unprivileged: LSTM, lifetime, trained with a lifetime value that sees no more than the agent; that of all others",
    "sees the task too. Differences are taken lifetime by lifetime. Intervals tell what other lifetimes would change,",
    "not what other training seeds would. Tables that were in the cache took no time.",
)


def reproduce(request: Request) -> int:
    """Trains missing arms, evaluates, draws, checks the claims; all into `request.out`/fig7. Returns OK."""
    started = time.monotonic()
    (request.out / NAME).mkdir(parents=True, exist_ok=True)
    panels, claims, measured, tables = [], [], {}, {}
    for task in request.tasks:
        begun = time.monotonic()
        found = find_arms(request, NAME, arms_of(request, task))
        panel, artefacts = run_panel(request, task, found)
        by_arm = {table.source: table for table in panel.tables}
        panels.append(panel)
        claims += [judge(request.budget, claim(by_arm, task)) for claim in CLAIMS[task]]
        measured[task] = {
            **tell(request, panel, artefacts, found),
            "seconds": round(time.monotonic() - begun, 1),
        }
        tables[task] = facts_table(measured[task])
    seconds = time.monotonic() - started
    figure = evaluation_figure(panels, intervals=True)
    return write_results(request, Results(NAME, HEADING, NOTES, figure, measured, tables, claims, seconds))


def arms_of(request: Request, task: str) -> dict[str, list[Arm]]:
    """Returns the arms of a task by name, one for each training seed."""
    updates = BUDGETS[request.budget][task].updates
    return {
        name: [Arm(name, task, updates, seed, options) for seed in request.seeds]
        for name, options in OPTIONS.items()
        if task in EXTRA.get(name, (task,))
    }


def run_panel(request: Request, task: str, found: Found) -> tuple[Panel, dict[str, Artefact]]:
    """Returns a task's panel, a table for each arm, and the rewards that lived, as `ARM/SEED`."""
    budget = BUDGETS[request.budget][task]
    named = {f"{name}/{seed}": run for name, runs in found.runs.items() for seed, run in runs.items()}
    setting = settle([*named.values(), BASELINE], task, episodes=budget.episodes)
    evaluated = evaluate_named(request, {**named, BASELINE: BASELINE}, setting, Plan(budget.lifetimes, SEED))
    check_arms(evaluated.artefacts)
    by_seed = {name: [evaluated.tables[f"{name}/{seed}"] for seed in runs] for name, runs in found.runs.items()}
    tables = [average_seeds(name, each) for name, each in by_seed.items()]
    notes = [f"{budget.lifetimes} lifetimes", f"{common_updates(evaluated.artefacts)} updates an arm"]
    notes += [f"{len(request.seeds)} seeds"] if len(request.seeds) > 1 else []
    notes += [f"cut to {budget.episodes} episodes"] if budget.episodes else []
    panel = Panel(
        TITLES[task],
        (*tables, evaluated.tables[BASELINE]),
        evaluated.setting.task.optimum(),  # type: ignore[attr-defined]
        "; ".join(notes),
        STYLES,
        {name: [float(episode_means(table).mean()) for table in each] for name, each in by_seed.items()},
    )
    return panel, evaluated.artefacts


def check_arms(artefacts: dict[str, Artefact]) -> None:
    """Raises BadDataError if a run is not of the arm that its folder's name says."""
    for called, artefact in artefacts.items():
        name = called.split("/")[0]
        try:
            objective = artefact.record["config"]["meta"]["outer"]["objective"]
        except (KeyError, TypeError) as error:
            raise BadDataError(f"the reward of {called} does not tell its objective") from error
        is_arm = (artefact.network.history, objective) == (
            "none" if FEED_FORWARD[0] in OPTIONS[name] else "lstm",
            "episode" if EPISODE[0] in OPTIONS[name] else "lifetime",
        )
        if not is_arm:
            raise BadDataError(
                f"the reward of {called} is none: it was trained with history {artefact.network.history} for the "
                f"{objective}; choose another --runs"
            )


def tell(request: Request, panel: Panel, artefacts: dict[str, Artefact], found: Found) -> dict[str, Any]:
    """Returns what was measured on one task, as JSON."""
    tables = {table.source: table for table in panel.tables}
    updates, seeds = common_updates(artefacts), ", ".join(map(str, request.seeds))
    return {
        "of": "each arm",
        "reward": f"{updates} updates, training seed {seeds}",
        "lifetimes": len(panel.tables[0].extrinsic),
        "episodes": panel.tables[0].extrinsic.shape[1],
        "mean_episode_return": scores_of(tables),
        "lifetime_return": {name: mean_and_interval(lifetime_returns(table)) for name, table in tables.items()},
        "more_than_whole": {
            name: difference_facts(table, tables[WHOLE])
            for name, table in tables.items()
            if WHOLE in tables and name != WHOLE
        },
        "seed_means": {name: list(each) for name, each in panel.seeds.items()},
        "trainings": {name: training_facts(artefact) for name, artefact in artefacts.items()},
        "missing": found.missing,
    }


def facts_table(facts: dict[str, Any]) -> list[str]:
    """Returns the lines of a table of what `tell` returned, and of what is missing."""
    rows = []
    for name, mean in facts["mean_episode_return"].items():
        steps = [one["env_steps"] for run, one in facts["trainings"].items() if run.split("/")[0] == name]
        rows.append(
            (
                LABELS.get(name, name),
                words_of(mean),
                words_of(facts["lifetime_return"][name]),
                words_of(facts["more_than_whole"][name]) if name in facts["more_than_whole"] else "",
                ", ".join(f"{each:.3f}" for each in facts["seed_means"].get(name, ())),
                f"{max(steps):.3g}" if steps else "",
            )
        )
    headings = ("arm", "mean return of an episode", "return of a lifetime", f"more than {LABELS[WHOLE]}")
    lines = markdown_table((*headings, "each training seed", "environment steps"), rows)
    return [*lines, *(line for name, why in facts["missing"].items() for line in ("", f"No {LABELS[name]}: {why}."))]
