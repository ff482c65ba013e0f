"""`orexis sweep agent`: which agent learns well from the extrinsic reward, and which can be taught.

Every setting is lived under `extrinsic-ep` and under the `teacher`, on the same lifetimes. An agent that is good for
the first alone may be too slow for any learned reward; one that is good for the second alone makes an unfair baseline.
"""

import csv
import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from orexis.agents.actor_critic import theta_norm
from orexis.config import AgentConfig, MetaConfig
from orexis.config_json import from_json, to_json
from orexis.errors import UsageError
from orexis.evaluation.evaluate import Plan, evaluate_source
from orexis.evaluation.lifetimes import evaluate_batch
from orexis.evaluation.printing import markdown_table, write_page
from orexis.evaluation.scores import mean_and_interval
from orexis.evaluation.sources import Setting, make_source

SOURCES = ("extrinsic-ep", "teacher")
FIGURES = ("mean", "low", "high", "last_ten", "growth")
NUM_WEIGHED = 8  # lifetimes whose theta is weighed at their end
PRESET, BASE, PAPERS = "preset", "base", "the paper's agent"

Changes = dict[str, Any]
"""Fields of `AgentConfig` by name, those of its network with a dot: `{"net.conv_gain": 2.0}`."""


def variations(config: AgentConfig) -> list[Changes]:
    """Returns what is changed in `config`, one field or two at a time; what would change nothing is left out."""
    rate, length = config.learning_rate, config.rollout_length
    rates = [float(f"{factor * rate:.3g}") for factor in (0.1, 0.3, 3.0, 10.0)]
    points: list[Changes] = [{"learning_rate": value} for value in rates]
    points += [{"rollout_length": value} for value in dict.fromkeys((2, max(1, length // 2), 2 * length))]
    points += [_gains(*pair) for pair in ((1.0, 1.0), (2.0, 2.0), (3.0, 2.0), (4.0, 2.0))]
    points += [{"value_cost": value} for value in (0.0, 0.05, 0.2, 0.5)]
    points += [{"entropy_cost": value} for value in (0.01, 0.03, 0.05, 0.1)]
    points += [{"gradient_clip": value} for value in (None, 0.3, 1.0, 2.0, 4.0)]
    points += [{"gradient_clip": clip, "learning_rate": rates[2]} for clip in (1.0, 2.0)]
    points += [{"gradient_clip": 2.0, "rollout_length": max(1, length // 2)}]
    points += [{"gradient_clip": 2.0, "entropy_cost": 0.05}]
    points += [{"gradient_clip": 2.0, "value_cost": 0.2}]
    effective = [differing(point, config) for point in points]
    return [point for i, point in enumerate(effective) if point and point not in effective[:i]]


def _gains(conv: float, hidden: float) -> Changes:
    return {"net.conv_gain": conv, "net.hidden_gain": hidden}


def differing(changes: Changes, config: AgentConfig) -> Changes:
    """Returns those of `changes` that `config` does not have already."""
    flat = flatten(config)
    return {name: value for name, value in changes.items() if flat[name] != value}


def flatten(config: AgentConfig) -> Changes:
    """Returns every field of `config` by name, those of its network with a dot."""
    plain = to_json(config)
    net = plain.pop("net")
    return {**plain, **{f"net.{name}": value for name, value in net.items()}}


def with_changes(config: AgentConfig, changes: Changes) -> AgentConfig:
    """Returns `config` with `changes` made. Raises UsageError for a field or a value that there is not."""
    unknown = sorted(set(changes) - set(flatten(config)))
    if unknown:
        raise UsageError(f"agents have no setting {unknown[0]!r}; there are {', '.join(flatten(config))}")
    plain = to_json(config)
    for name, value in changes.items():
        part, _, field = name.rpartition(".")
        (plain[part] if part else plain)[field] = value
    try:
        return from_json(AgentConfig, plain, "agent")
    except ValueError as error:
        raise UsageError(str(error)) from error


def parse_changes(texts: Sequence[str]) -> Changes:
    """Returns the changes that FIELD=VALUE spell, VALUE a number, null, true, false or a word."""
    changes: Changes = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise UsageError(f"--base takes FIELD=VALUE, for example gradient_clip=2, not {text!r}")
        try:
            changes[name] = json.loads(value)
        except json.JSONDecodeError:
            changes[name] = value
    return changes


def list_settings(
    preset: AgentConfig, base: Changes, vary: Sequence[str], paper: MetaConfig | None = None
) -> list[tuple[str, AgentConfig]]:
    """Returns the agents to sweep, each with what was changed: the preset, the paper's, the base if it is another,
    its variations.

    vary: the fields that may vary, all if it is empty; a whole part of them, `net`, too.
    """
    start = with_changes(preset, base)
    fields = set(flatten(preset))
    for name in vary:
        if name not in fields and name != "net":
            raise UsageError(f"agents have no setting {name!r} to vary; there are {', '.join(sorted(fields))}")
    settings = [(PRESET, preset)]
    settings += [(PAPERS, paper.agent)] if paper is not None else []
    settings += [(f"{BASE}: {describe(differing(base, preset))}", start)] if start != preset else []
    for changes in variations(start):
        if not vary or all(name in vary or name.partition(".")[0] in vary for name in changes):
            settings.append((describe(changes), with_changes(start, changes)))
    return settings


def describe(changes: Changes) -> str:
    """Returns the changes in words: `learning_rate 0.3, gradient_clip 2`."""
    return ", ".join(f"{name} {_cell(value)}" for name, value in changes.items())


@dataclasses.dataclass(frozen=True)
class Score:
    """What one agent got under one source."""

    mean: float  # extrinsic return of an episode over the whole lifetime
    low: float  # of the 95 % interval
    high: float
    last_ten: float  # mean of the last ten episodes
    growth: float  # the largest norm of theta at a lifetime's end, over the mean norm at birth


@dataclasses.dataclass(frozen=True)
class AgentRow:
    """One agent of the sweep."""

    changed: str
    config: AgentConfig
    scores: dict[str, Score]  # by source

    @property
    def both(self) -> float:
        return sum(score.mean for score in self.scores.values())


def sweep_agent(setting: Setting, settings: list[tuple[str, AgentConfig]], plan: Plan) -> list[AgentRow]:
    """Returns a row for each agent, all on the same lifetimes, the largest sum of both means first.

    A task without a teacher is swept for `extrinsic-ep` alone.
    """
    sources = [name for name in SOURCES if _exists(name, setting)]
    rows = []
    for changed, config in settings:
        where = dataclasses.replace(setting, config=config)

        def on_progress(source: str, num_done: int, changed: str = changed) -> None:
            plan.on_progress(f"{source}, {changed}", num_done)

        labelled = dataclasses.replace(plan, on_progress=on_progress)
        rows.append(AgentRow(changed, config, {source: score(source, where, labelled) for source in sources}))
    return sorted(rows, key=lambda row: row.both, reverse=True)


def score(source: str, setting: Setting, plan: Plan) -> Score:
    """Returns what the agent of `setting` gets under `source`."""
    table, _ = evaluate_source(source, setting, plan)
    whole = mean_and_interval(table.extrinsic.mean(axis=1))
    low, high = whole["ci95"]
    growth = weigh(source, setting, plan)
    return Score(whole["mean"], low, high, float(table.extrinsic[:, -10:].mean()), growth)


def weigh(source: str, setting: Setting, plan: Plan) -> float:
    """Returns the largest norm of theta at the end of the plan's first lifetimes, over the mean norm at birth."""
    made = make_source(source, setting)
    numbers = jnp.arange(min(NUM_WEIGHED, plan.num_lifetimes))

    @jax.jit
    def norms(seed: jax.Array) -> tuple[jax.Array, jax.Array]:
        keys = jax.random.split(jax.random.key(seed), NUM_WEIGHED)
        lives = evaluate_batch(setting.task, made.agent, made.learned, made.reward, made.params, seed, numbers)
        return jax.vmap(lambda key: theta_norm(made.agent.init(key, ())))(keys), jax.vmap(theta_norm)(lives.agent)

    at_birth, at_end = norms(np.uint32(plan.seed))
    return float(np.max(at_end) / np.mean(at_birth))


def write_agent_sweep(out: Path, task_name: str, rows: list[AgentRow], command: list[str]) -> Path:
    """Writes `TASK-agent.csv`, every setting in full, and a page with the changes; returns the page's path."""
    out.mkdir(parents=True, exist_ok=True)
    sources = list(rows[0].scores)
    figures = [f"{source} {figure}" for source in sources for figure in FIGURES]
    table = out / f"{task_name}-agent.csv"
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["changed", *flatten(rows[0].config), *figures])
        for row in rows:
            settings = [_cell(value) for value in flatten(row.config).values()]
            numbers = [f"{getattr(row.scores[s], f):.4f}" for s in sources for f in FIGURES]
            writer.writerow([row.changed, *settings, *numbers])
    headings = ["changed", *(f"{source}: {what}" for source in sources for what in ("mean", "last ten", "growth"))]
    return write_page(
        table.with_suffix(".md"),
        f"Sweep of the agent on {task_name}",
        command,
        [
            "Extrinsic return of an episode: mean over whole lifetimes with its 95 % interval, mean of the last ten.",
            f"Growth: the largest norm of theta at the end of {NUM_WEIGHED} lifetimes, over the mean at birth.",
            "Ordered by the sum of the means.",
        ],
        markdown_table(headings, [[_bold(row.changed), *_page_cells(row)] for row in rows]),
    )


def _page_cells(row: AgentRow) -> list[str]:
    cells = []
    for part in row.scores.values():
        cells += [f"{part.mean:.3f} ({part.low:.3f} to {part.high:.3f})", f"{part.last_ten:.3f}", f"{part.growth:.3g}"]
    return cells


def _bold(changed: str) -> str:
    """Returns `changed`, in bold where it is what the others were changed from."""
    return f"**{changed}**" if changed in (PRESET, PAPERS) or changed.startswith(BASE) else changed


def _cell(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _exists(source: str, setting: Setting) -> bool:
    """Returns whether `source` can be used in `setting`."""
    try:
        make_source(source, setting)
    except UsageError:
        return False
    return True
