"""`orexis reproduce fig5`: what walks to A, B and C are paid in Random ABC, and the walks that agents took."""

import time
from dataclasses import replace
from typing import Any, cast

import jax
import numpy as np

from orexis.errors import UsageError
from orexis.evaluation.evaluate import Plan
from orexis.evaluation.histories import lived_episode, replay
from orexis.evaluation.lifetimes import Trace
from orexis.evaluation.table import SourceTable
from orexis.evaluation.walks import room_of, walk_draws, walk_table
from orexis.figures.promises import promises_figure
from orexis.figures.trajectories import LivedRow, trajectories_figure, typical_lifetimes
from orexis.interop.numpy_reward import NumpyReward
from orexis.reproduce.base import (
    BUDGETS,
    SEED,
    Evaluated,
    Request,
    Results,
    evaluate_sources,
    find_rewards,
    judge,
    reward_facts,
    scores_of,
    scores_table,
    write_results,
)
from orexis.reproduce.fig5_claims import CLAIMS, TASK, Evidence
from orexis.reproduce.fig5_worth import worths_of_a, worths_table
from orexis.rewards.registry import LEARNED
from orexis.storage.artefact import Artefact
from orexis.tasks.abc import RandomABC

NUM_DRAWS = {"smoke": 16, "small": 1024, "paper": 4096}  # of what A, B, C are worth, by budget
EPISODES = (0, 1, 2, -1)  # of which walks are shown
HEADING = "Walks and what they are paid in Random ABC (the paper's fifth figure)"
NOTES = (
    "What a walk is paid is the sum of its intrinsic rewards, the mean over all shortest paths from the start. In (a) "
    "and (b) scripted walks fill the episodes before. In (c) lifetimes that agents lived do: they are replayed through "
    "the reward, and before each episode it is asked what a walk to each object would be paid (lines); dots are what "
    "the episodes that ended there were paid, detours included. Bands and bars are 95 % bootstrap intervals; in the "
    "paper's case nothing is sampled.",
    "",
    "The second picture shows episodes that were lived, of the lifetime with the median return of its group. Objects "
    "that were reached before are shaded; a step that was taken twice shows the mean.",
)


def reproduce(request: Request) -> int:
    """Evaluates every reward, draws the first, checks the claims of all; all into `request.out`/fig5. Returns OK."""
    started = time.monotonic()
    folder = request.out / "fig5"
    folder.mkdir(parents=True, exist_ok=True)
    rewards = find_rewards(request, TASK, folder)
    if not rewards:
        raise UsageError(f"fig5 needs a learned reward: name one with --rewards {TASK}=SOURCE")
    plan = Plan(BUDGETS[request.budget][TASK].lifetimes, SEED, traced=True)
    lived = [evaluate_sources(request, TASK, reward, (), plan) for reward in rewards]
    names = reward_names([cast(Artefact, one.artefact) for one in lived])
    known = dict(zip(names, (gather(one, NUM_DRAWS[request.budget]) for one in lived), strict=True))
    claims = [
        replace(judge(request.budget, claim(evidence)), reward=name if len(known) > 1 else "")
        for name, evidence in known.items()
        for claim in CLAIMS
    ]
    first = known[names[0]]
    scores = scores_of({name: evidence.table for name, evidence in known.items()})
    facts = [reward_facts(one.artefact) for one in lived]
    seconds = time.monotonic() - started
    measured: dict[str, Any] = {
        "reward": "; ".join(f"{name}: {fact['reward']}" for name, fact in zip(names, facts, strict=True)),
        "sha256": {name: fact["sha256"] for name, fact in zip(names, facts, strict=True)},
        "lifetimes": plan.num_lifetimes,
        "episodes": first.table.outcome.shape[1],
        "draws": len(first.draws.worth),
        "replay_error": {name: replay_error(evidence) for name, evidence in known.items()},
        "seconds": round(seconds, 1),
        "mean_episode_return": scores,
        "worth_of_a": [worths_of_a(evidence, name) for name, evidence in known.items()],
    }
    tables = [*scores_table(scores), "", *worths_table(measured["worth_of_a"], measured["episodes"])]
    figure = promises_figure(first.walks, first.draws, first.table, first.replay)
    walks = {"walks": trajectories_figure(lived_rows(lived[0].setting.task, first.table, lived[0].traces[LEARNED]))}
    return write_results(
        request, Results("fig5", HEADING, NOTES, figure, {TASK: measured}, {TASK: tables}, claims, seconds, walks)
    )


def reward_names(artefacts: list[Artefact]) -> list[str]:
    """Returns what to call each reward: by its training seed; by its bytes too, where two have the same."""
    seeds = [f"seed {artefact.record.get('training', {}).get('seed', '?')}" for artefact in artefacts]
    return [
        seed if seeds.count(seed) == 1 else f"{seed} ({artefact.record['sha256'][:6]})"
        for seed, artefact in zip(seeds, artefacts, strict=True)
    ]


def gather(evaluated: Evaluated, num_draws: int) -> Evidence:
    """Returns all that is known of the learned reward that lived."""
    reward, task = NumpyReward(cast(Artefact, evaluated.artefact)), cast(RandomABC, evaluated.setting.task)
    table, trace = evaluated.tables[LEARNED], evaluated.traces[LEARNED]
    keys = jax.random.split(jax.random.key(SEED), num_draws)
    worth = np.asarray(jax.vmap(lambda key: task.sample(key).rewards)(keys))
    return Evidence(
        walk_table(reward),
        walk_draws(reward, task, worth),
        table,
        replay(reward, task, table.task_params["rewards"], trace),
    )


def lived_rows(task: Any, table: SourceTable, trace: Trace) -> list[LivedRow]:
    """Returns the episodes to show of a typical lifetime of each group."""
    rows = []
    num_episodes = table.outcome.shape[1]
    for group, lifetime in typical_lifetimes(table).items():
        shown = [episode % num_episodes for episode in EPISODES]
        ends = [[table.outcomes[k] for k in table.outcome[lifetime, :episode] if k >= 0] for episode in shown]
        room = room_of(task, table.task_params["rewards"][lifetime])
        worth = ", ".join(f"{name} {paid:.2f}".replace("-", "−") for name, paid in room.rewards.items())
        title = f"{group}: lifetime {lifetime}, worth {worth}"
        episodes = tuple(lived_episode(task, trace, lifetime, episode) for episode in shown)
        rows.append(LivedRow(title, room, episodes, tuple(frozenset(before) for before in ends)))
    return rows


def replay_error(evidence: Evidence) -> float:
    """Returns the largest difference between what an episode was paid and what its replay is paid."""
    return float(np.abs(evidence.replay.paid - evidence.table.intrinsic).max())
