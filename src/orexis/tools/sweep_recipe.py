"""`orexis sweep recipe`, `view`, `rl2`, `maml`: what each ingredient of a tuned recipe buys, what each view does, and
what the coefficients of the policies that rival a reward should be.

Each variant is trained anew for several seeds (an arm each, see `tools.arms`). Then fresh agents live by it on the same
unused lifetimes as all others.
"""

import csv
import dataclasses
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import get_args, get_type_hints

import numpy as np

from orexis.config import HistoryNetConfig, MetaConfig
from orexis.errors import BadDataError
from orexis.evaluation.table import SourceTable
from orexis.presets import PAPER, preset
from orexis.statistics import bootstrap_interval
from orexis.tools.arms import Arm, train_arm

FULL = "the whole recipe"
PAPERS = "the paper's recipe instead"
FIGURES = ("mean", "low", "high", "last_ten", "gain", "gain_low", "gain_high")


@dataclasses.dataclass(frozen=True)
class Variant:
    """The tuned recipe with one ingredient left out."""

    name: str
    options: tuple[str, ...]  # of `orexis train`


def list_variants(task: str) -> list[Variant]:
    """Returns the recipe of `task` and what is left of it without each ingredient that it has."""
    meta, paper = preset(task), PAPER.get(task)
    found = [Variant(FULL, ())]
    for name, has, options in _ingredients(meta):
        if has:
            found.append(Variant(f"without {name}", options))
    if paper is not None and paper.agent.optimizer != meta.agent.optimizer:
        found.append(Variant("with the paper's agent", _agent_options(paper)))
    return [*found, Variant(PAPERS, ("--recipe", "paper"))] if paper is not None else found


def list_views(task: str) -> list[Variant]:
    """Returns the recipe of `task` with each view of its reward, its own first."""
    meta = preset(task)
    own = meta.reward.view
    others = [view for view in get_args(get_type_hints(HistoryNetConfig)["view"]) if view != own]
    return [Variant(f"{own} (the recipe's)", ()), *(Variant(view, _view_options(meta, view)) for view in others)]


def list_rl2(task: str) -> list[Variant]:
    """Returns RL² as it meets the real rewards in the end (docs/explanation/policies.md), with each of its coefficients
    smaller and larger in turn. Where it comes from is for `--begin-with` to say."""
    del task

    def options(cost: float, rate: float) -> tuple[str, ...]:
        constant = ("--outer.gae-lambda", "0.98", "--outer.reward-learning-rate.transition-steps", "3000")
        return ("--learn", "rl2", *constant, *_schedule("entropy-cost", cost, cost), *_rates(rate, rate / 3))

    return [
        Variant("entropy cost 0.01, rate 3e-4 (the recipe)", options(0.01, 3e-4)),
        *(Variant(f"entropy cost {cost:g}", options(cost, 3e-4)) for cost in (0.003, 0.03)),
        *(Variant(f"rate {rate:g}", options(0.01, rate)) for rate in (1e-4, 1e-3)),
    ]


def list_maml(task: str) -> list[Variant]:
    """Returns the recipe of MAML on `task`, with each of its coefficients smaller and larger in turn, and with first
    order alone."""
    outer = preset(task, learn="maml").outer
    cost, rate, learned = outer.entropy_cost, outer.reward_learning_rate, ("--learn", "maml")
    return [
        Variant(f"entropy cost {cost.init_value:g}, rate {rate.init_value:g} (the recipe)", learned),
        *(
            Variant(
                f"entropy cost {times * cost.init_value:g}",
                (*learned, *_schedule("entropy-cost", times * cost.init_value, times * cost.end_value)),
            )
            for times in (0.4, 2.0)
        ),
        *(
            Variant(f"rate {times * rate.init_value:g}", (*learned, *_rates(times * rate.init_value, rate.end_value)))
            for times in (0.5, 2.0)
        ),
        Variant("first order", (*learned, "--maml.first-order")),
    ]


def _rates(first: float, last: float) -> tuple[str, ...]:
    return _schedule("reward-learning-rate", first, last)


def _schedule(name: str, first: float, last: float) -> tuple[str, ...]:
    return f"--outer.{name}.init-value", f"{first:g}", f"--outer.{name}.end-value", f"{last:g}"


VARIANTS: dict[str, Callable[[str], list[Variant]]] = {
    "recipe": list_variants,
    "view": list_views,
    "rl2": list_rl2,
    "maml": list_maml,
}
"""What a sweep trains, by its name."""

_SAID = {
    "recipe": ("What makes the recipe of {task} work", "Each ingredient left out in turn"),
    "view": ("What the reward of {task} should see", "Each view of the reward's network"),
    "rl2": ("The coefficients of RL² on {task}", "Each coefficient smaller and larger in turn"),
    "maml": ("The coefficients of MAML on {task}", "Each coefficient smaller and larger in turn"),
}


def _ingredients(meta: MetaConfig) -> list[tuple[str, bool, tuple[str, ...]]]:
    """Returns each ingredient that a recipe may have: its name, whether it has it, and how to leave it out."""
    agent, outer = meta.agent, meta.outer
    falls = outer.entropy_cost.init_value > outer.entropy_cost.end_value
    end = f"{outer.entropy_cost.end_value:g}"
    return [
        ("the privileged value", outer.privileged_value, ("--outer.no-privileged-value",)),
        ("the cost on rewards", outer.reward_cost > 0, ("--outer.reward-cost", "0")),
        ("the inner clip", agent.gradient_clip is not None, ("--agent.gradient-clip", "None")),
        ("the outer clip", outer.gradient_clip is not None, ("--outer.gradient-clip", "None")),
        ("GAE (λ = 1)", outer.gae_lambda < 1, ("--outer.gae-lambda", "1")),
        ("annealing the entropy cost", falls, ("--outer.entropy-cost.init-value", end)),
        ("holding the entropy", outer.entropy_level.share is not None, ("--outer.entropy-level.share", "None")),
        ("running scales", outer.normalize, ("--outer.no-normalize",)),
        ("all actions", outer.all_actions, ("--outer.no-all-actions",)),
        ("the ledger", meta.reward.keeps_ledger, ("--reward.no-keeps-ledger",)),
        ("the egocentric view", meta.reward.view == "egocentric", _view_options(meta, "planes")),
    ]


def _view_options(meta: MetaConfig, view: str) -> tuple[str, ...]:
    """Returns the options that give a recipe another view; a ledger goes with the egocentric one."""
    return ("--reward.view", view, *(("--reward.no-keeps-ledger",) if meta.reward.keeps_ledger else ()))


def _agent_options(paper: MetaConfig) -> tuple[str, ...]:
    """Returns the options that give a tuned recipe the paper's agent and window."""
    agent, net = paper.agent, paper.agent.net
    fields = {
        "agent.optimizer": agent.optimizer,
        "agent.learning-rate": agent.learning_rate,
        "agent.rollout-length": agent.rollout_length,
        "agent.entropy-cost": agent.entropy_cost,
        "agent.gradient-clip": None,
        "agent.net.conv-gain": net.conv_gain,
        "agent.net.hidden-gain": net.hidden_gain,
        "agent.net.head-gain": net.head_gain,
        "outer.window": paper.outer.window,
    }
    return tuple(text for name, value in fields.items() for text in (f"--{name}", str(value)))


@dataclasses.dataclass(frozen=True)
class RecipePlan:
    """How long, how often and where the variants are trained."""

    task: str
    updates: int
    seeds: tuple[int, ...]
    episodes: int | None
    folder: Path  # of the runs
    devices: int | None = None
    what: str = "recipe"  # of VARIANTS
    begin_with: str | None = None  # what every training starts from

    def arm(self, variant: Variant, seed: int) -> Arm:
        """Returns the training of a variant."""
        episodes = ("--episodes", str(self.episodes)) if self.episodes else ()
        beginning = ("--begin-with", self.begin_with) if self.begin_with else ()
        return Arm(variant.name, self.task, self.updates, seed, (*episodes, *beginning, *variant.options))

    def place(self, number: int, seed: int) -> Path:
        """Returns the run folder of variant `number`."""
        is_recipe = self.what == "recipe" or (self.what == "view" and number == 0)  # which is trained once
        kind = "" if is_recipe else f"-{self.what}"
        return self.folder / f"{self.task}{kind}-{number:02d}-seed{seed}"


def train_variant(plan: RecipePlan, number: int, variant: Variant, seed: int) -> Path:
    """Returns the run folder of a variant, trained to the end, see `train_arm`."""
    return train_arm(plan.arm(variant, seed), plan.place(number, seed), plan.devices)


@dataclasses.dataclass(frozen=True)
class RecipeRow:
    """What came of one variant."""

    variant: Variant
    means: tuple[float, ...]  # of an episode over the lifetime, one for each training seed
    low: float  # of the 95 % interval of the mean over seeds and lifetimes
    high: float
    last_ten: float
    returns: tuple[float, ...]  # of each lifetime, averaged over training seeds: for comparing row with row
    failed: tuple[str, ...] = ()  # training seeds that gave no reward, and why

    @property
    def mean(self) -> float:
        return float(np.mean(self.means)) if self.means else float("nan")

    def gain_over(self, other: "RecipeRow") -> tuple[float, float, float]:
        """Returns the mean difference to another row and its 95 % interval, lifetime by lifetime."""
        if not self.returns or not other.returns:
            return (float("nan"),) * 3
        differences = np.subtract(self.returns, other.returns)
        low, high = bootstrap_interval(differences)
        return float(differences.mean()), float(low), float(high)


def judge(variant: Variant, tables: Sequence[SourceTable], failed: Sequence[str]) -> RecipeRow:
    """Returns the row of a variant from one table for each training seed.

    The interval resamples lifetimes within each seed's table; the seeds' own spread is in `means`.
    """
    if not tables:
        return RecipeRow(variant, (), float("nan"), float("nan"), float("nan"), (), tuple(failed))
    returns = np.stack([table.extrinsic.mean(axis=1, dtype=np.float64) for table in tables])
    low, high = bootstrap_interval(returns.mean(axis=0))
    last = np.mean([table.extrinsic[:, -10:].mean() for table in tables])
    return RecipeRow(
        variant=variant,
        means=tuple(float(x) for x in returns.mean(axis=1)),
        low=float(low),
        high=float(high),
        last_ten=float(last),
        returns=tuple(float(x) for x in returns.mean(axis=0)),
        failed=tuple(failed),
    )


def sweep_recipe(
    plan: RecipePlan,
    evaluate: Callable[[Path], SourceTable],
    log: Callable[[str], None],
    train: Callable[[RecipePlan, int, Variant, int], Path] = train_variant,
) -> list[RecipeRow]:
    """Returns a row for each variant of the recipe: all seeds trained, each evaluated on the same lifetimes."""
    rows = []
    for number, variant in enumerate(VARIANTS[plan.what](plan.task)):
        tables, failed = [], []
        for seed in plan.seeds:
            try:
                tables.append(evaluate(train(plan, number, variant, seed)))
            except BadDataError as error:
                failed.append(f"seed {seed}: {error}")
        rows.append(judge(variant, tables, failed))
        log(f"{variant.name}: {rows[-1].mean:.3f} ({', '.join(f'{x:.3f}' for x in rows[-1].means)})")
    return rows


def write_recipe_sweep(out: Path, plan: RecipePlan, rows: list[RecipeRow], command: Sequence[str]) -> Path:
    """Writes `TASK-recipe.csv` (or `-view`) and `.md` into `out` and returns the page."""
    out.mkdir(parents=True, exist_ok=True)
    stem = f"{plan.task}-{plan.what}"
    heading, turns = (text.format(task=plan.task) for text in _SAID[plan.what])
    with (out / f"{stem}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["variant", "options", *FIGURES, *(f"seed_{s}" for s in plan.seeds)])
        for row in rows:
            figures = (row.mean, row.low, row.high, row.last_ten, *row.gain_over(rows[0]), *row.means)
            writer.writerow([row.variant.name, shlex.join(row.variant.options), *(f"{x:.4f}" for x in figures)])
    lines = [
        f"# {heading}",
        "",
        f"{turns}, {plan.updates} updates, training seed{'s' * (len(plan.seeds) > 1)} "
        f"{', '.join(map(str, plan.seeds))}; mean extrinsic return of an episode on lifetimes that nothing was chosen "
        "on. Intervals resample lifetimes; the difference to the first row is taken lifetime by lifetime. The "
        "seeds' own means stand beside it.",
        "",
        "    " + shlex.join(command),
        "",
        "| variant | mean | 95 % interval | last ten | more than the first row | each training seed | options |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        seeds = ", ".join(f"{x:.3f}" for x in row.means) + "".join(f"; {why}" for why in row.failed)
        options = f"`{shlex.join(row.variant.options)}`" if row.variant.options else ""
        gain, low, high = row.gain_over(rows[0])
        compared = "" if row is rows[0] else f"{gain:+.3f} ({low:+.3f} to {high:+.3f})"
        lines.append(
            f"| {row.variant.name} | {row.mean:.3f} | {row.low:.3f} to {row.high:.3f} | {row.last_ten:.3f} "
            f"| {compared} | {seeds} | {options} |"
        )
    page = out / f"{stem}.md"
    page.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return page
