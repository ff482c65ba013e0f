"""`orexis reproduce fig9`: a reward that does not see the action serves agents it never met; policies do not."""

import time
from typing import Any

from orexis import colors
from orexis.errors import UsageError
from orexis.evaluation.evaluate import Plan, settle
from orexis.evaluation.printing import markdown_table
from orexis.evaluation.sources import find_artefact
from orexis.evaluation.table import SourceTable
from orexis.figures.evaluation import Panel, evaluation_figure
from orexis.figures.palette import LEARNED as LEARNED_STYLE
from orexis.figures.palette import SourceStyle, style_of
from orexis.reproduce.base import (
    SEED,
    Request,
    Results,
    evaluate_named,
    judge,
    reward_facts,
    scores_of,
    words_of,
    write_results,
)
from orexis.reproduce.studies.base import BUDGETS, Found, difference_facts, find_arms, training_facts
from orexis.reproduce.studies.fig9_claims import (
    CLAIMS,
    EXTENDED,
    EXTRINSIC,
    MAML,
    NORMAL,
    PERMUTED,
    REWARD,
    RL2,
    TASK,
    Q,
    called,
)
from orexis.reproduce.studies.policies import STYLES as POLICY_STYLES
from orexis.reproduce.studies.policies import find_policies, told
from orexis.storage.artefact import Artefact
from orexis.tools.arms import Arm
from orexis.zoo.registry import shipped_names

NAME = "fig9"
SHIPPED = "random-abc-no-action"
BLIND = "no-action"  # the arm that is trained where none is shipped
MET = {
    NORMAL: ("normal", "actor-critic", (REWARD, EXTRINSIC, RL2, MAML)),
    PERMUTED: ("permuted", "actor-critic", (REWARD, EXTRINSIC, RL2, MAML)),
    EXTENDED: ("extended", "actor-critic", (REWARD, EXTRINSIC)),
    Q: ("normal", "q-learning", (REWARD, EXTRINSIC)),
}
"""Who is met: its actions, how it learns, and what can serve it."""
PANELS = {
    "(a) other actions": [(source, met) for source in (REWARD, EXTRINSIC) for met in (NORMAL, PERMUTED, EXTENDED)],
    "(b) another learner": [(source, met) for source in (REWARD, EXTRINSIC) for met in (NORMAL, Q)],
    "(c) policies, permuted": [
        *((policy, met) for policy in (RL2, MAML) for met in (NORMAL, PERMUTED)),
        *((source, PERMUTED) for source in (REWARD, EXTRINSIC)),
    ],
}
"""What is drawn where: which source, and whom it meets."""
DASHES: dict[str, Any] = {
    NORMAL: "-",
    PERMUTED: (0.0, (4.0, 1.5)),
    EXTENDED: (0.0, (1.2, 1.2)),
    Q: (0.0, (6.0, 1.2, 1.2, 1.2)),
}
LABELS = {Q: "Q-learner"}  # of whom is met, where it is not the word itself
LOOKS = {
    REWARD: SourceStyle("reward", LEARNED_STYLE.color),
    EXTRINSIC: SourceStyle("extrinsic", style_of("extrinsic-ep").color),
    **POLICY_STYLES,
}
HEADING = "Agents that were never met (the paper's ninth figure)"
NOTES = (
    "Random ABC. Lines are means over lifetimes, bands and bars 95 % bootstrap intervals. The reward was learned with",
    "actor-critic agents and four actions, and does not see the action. Permuted: every action leads the opposite way.",
    "Extended: four more actions, the diagonals. Q-learners learn by Q-learning. A policy can have neither more",
    "actions nor another learner. Differences are taken lifetime by lifetime. Tables from the cache took no time.",
)


def reproduce(request: Request) -> int:
    """Trains what is missing, evaluates, draws, checks the claims; all into `request.out`/fig9. Returns OK."""
    started = time.monotonic()
    (request.out / NAME).mkdir(parents=True, exist_ok=True)
    reward, missing = find_blind_reward(request)
    policies = find_policies(request, NAME, TASK, find_artefact(reward) if reward else None)
    policies = Found(policies.runs, missing | policies.missing)
    tables, artefacts, optimum = evaluate(request, reward, policies)
    claims = [judge(request.budget, claim(tables)) for claim in CLAIMS]
    seconds = round(time.monotonic() - started, 1)
    facts = {**tell(tables, artefacts, policies.missing), "seconds": seconds}
    figure = evaluation_figure(draw(tables, optimum), intervals=True)
    page = {TASK: facts_table(facts)}
    return write_results(request, Results(NAME, HEADING, NOTES, figure, {TASK: facts}, page, claims, seconds))


def find_blind_reward(request: Request) -> tuple[str | None, dict[str, str]]:
    """Returns the reward that does not see the action, named, shipped or trained now; or none, and why."""
    name = request.rewards.get(TASK) or (SHIPPED if SHIPPED in shipped_names() and request.budget != "paper" else None)
    if name is None:
        updates = BUDGETS[request.budget][TASK].updates
        found = find_arms(request, NAME, {BLIND: [Arm(BLIND, TASK, updates, SEED, ("--no-reward-sees-action",))]})
        return found.runs.get(BLIND, {}).get(SEED), found.missing
    artefact = find_artefact(name, "reward")
    if artefact.task != TASK or artefact.network.sees_action:
        raise UsageError(f"fig9 needs a reward of {TASK} that does not see the action, which {name} is not")
    return name, {}


def evaluate(
    request: Request, reward: str | None, policies: Found
) -> tuple[dict[str, SourceTable], dict[str, Artefact], float]:
    """Returns every table by what `called` returns, what was learned by source, and the task's optimum."""
    typed = {**({REWARD: reward} if reward else {}), EXTRINSIC: "extrinsic-ep"}
    typed |= {learn: runs[SEED] for learn, runs in policies.runs.items()}
    budget = BUDGETS[request.budget][TASK]
    tables: dict[str, SourceTable] = {}
    artefacts: dict[str, Artefact] = {}
    optimum = 0.0
    for met, (actions, agent, sources) in MET.items():
        named = {called(source, met): typed[source] for source in sources if source in typed}
        setting = settle(list(named.values()), TASK, actions, agent, budget.episodes)
        evaluated = evaluate_named(request, named, setting, Plan(budget.lifetimes, SEED))
        tables |= evaluated.tables
        artefacts |= {name.split(",")[0]: artefact for name, artefact in evaluated.artefacts.items()}
        optimum = setting.task.optimum() if met == NORMAL else optimum  # type: ignore[attr-defined]
    return tables, artefacts, optimum


def draw(tables: dict[str, SourceTable], optimum: float) -> list[Panel]:
    """Returns the panels; what is not there is not drawn. The optimum is that of four actions."""
    panels = []
    for title, lines in PANELS.items():
        there = [(source, met) for source, met in lines if called(source, met) in tables]
        styles = {
            called(source, met): SourceStyle(
                f"{LOOKS[source].name}, {LABELS.get(met, met)}",
                colors.VERMILLION if (source, met) == (EXTRINSIC, Q) else LOOKS[source].color,  # as everywhere
                DASHES[met],
            )
            for source, met in there
        }
        panels.append(Panel(title, tuple(tables[name] for name in styles), optimum, styles=styles))
    return panels


def tell(tables: dict[str, SourceTable], artefacts: dict[str, Artefact], missing: dict[str, str]) -> dict[str, Any]:
    """Returns what was measured, as JSON."""
    any_table = next(iter(tables.values()))
    gains = {
        called(source, met): difference_facts(tables[called(source, met)], tables[called(EXTRINSIC, met)])
        for met, (_, _, sources) in MET.items()
        for source in sources
        if source != EXTRINSIC and called(source, met) in tables
    }
    return {
        **reward_facts(artefacts.get(REWARD)),
        "lifetimes": len(any_table.extrinsic),
        "episodes": any_table.extrinsic.shape[1],
        "mean_episode_return": scores_of(tables),
        "more_than_extrinsic": gains,
        "trainings": {name: training_facts(artefact) for name, artefact in artefacts.items()},
        "missing": missing,
    }


def facts_table(facts: dict[str, Any]) -> list[str]:
    """Returns the lines of a table of what `tell` returned, and of what is missing."""
    rows = []
    for name, mean in facts["mean_episode_return"].items():
        source, _, met = name.partition(", ")
        gain = facts["more_than_extrinsic"].get(name)
        rows.append((LOOKS[source].name, LABELS.get(met, met), words_of(mean), words_of(gain) if gain else ""))
    headings = ("source", "met", "mean return of an episode", "more than extrinsic there")
    spent = [
        f"{LOOKS[source].name} {one['updates']} updates, {one['env_steps']:.3g} environment steps"
        for source, one in facts["trainings"].items()
    ]
    return [*markdown_table(headings, rows), "", f"Trained: {'; '.join(spent)}.", *told(facts["missing"])]
