"""`orexis sweep`."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

from orexis.agents.registry import POLICIES
from orexis.api import file_name
from orexis.commands.checks import (
    require_episodes,
    require_folder_place,
    require_recipe,
    require_task,
)
from orexis.errors import OK, UsageError, check_numbers
from orexis.rewards.registry import REWARDS
from orexis.training.folder import check_beginning

if TYPE_CHECKING:
    from orexis.evaluation.evaluate import Plan


@dataclasses.dataclass(frozen=True)
class Sweep:
    """Find the coefficients that serve a source best, or the best agent, on lifetimes that no report uses."""

    source: Annotated[
        Positional[str],
        arg(
            help=f"One of {', '.join(name for name, entry in REWARDS.items() if entry.grid)}; or agent, for settings "
            "of the agent under extrinsic-ep and teacher; or recipe, for what each part of a tuned recipe buys; or "
            "view, for what the reward's network sees; or rl2 or maml, for the coefficients of a policy."
        ),
    ]
    task: str
    """A name from `orexis tasks`, or module:Class for your own."""
    lifetimes: int = 64
    """How many fresh agents live under each variant."""
    episodes: int | None = None
    """Of a lifetime; default the task's own."""
    seed: int = 9000
    """Reports use 0: keep away from it."""
    recipe: Literal["tuned", "paper"] = "tuned"
    """Of a source: whose agents live."""
    out: Path = Path("results/sweeps")
    """Folder for the table, as CSV and as Markdown."""
    cache: Path | None = None
    """Folder of tables to reuse and to add to; default in your cache folder."""
    base: tuple[str, ...] = ()
    """Of sweep agent: FIELD=VALUE laid over the preset before it is varied, for example gradient_clip=2."""
    vary: tuple[str, ...] = ()
    """Of sweep agent: the fields that vary, for example learning_rate net; default all that are listed for it."""
    teacher_scale: float | None = None
    """Of sweep agent: what a step of the teacher pays; default the task's."""
    updates: int = 3000
    """Of those that train, recipe, view, rl2 and maml: updates of each training."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Of those that train: training seeds."""
    runs: Path = Path("runs/recipe")
    """Of those that train: folder of the runs, which are kept and gone on with."""
    devices: int | None = None
    """Of those that train: CPU devices of each training; default one a core."""
    begin_with: str | None = None
    """Of those that train: what every training starts from, a run, a learner, a reward or a policy."""

    def run(self) -> int:
        require_task(self.task)
        require_recipe(self.task, self.recipe)
        check_numbers(self.lifetimes, self.seed)
        require_folder_place(self.out, "--out")
        if self.source != "agent" and (self.base or self.vary or self.teacher_scale is not None):
            raise UsageError("--base, --vary and --teacher-scale belong to orexis sweep agent")
        trains = self.source in ("recipe", "view", *POLICIES)
        if self.recipe != "tuned" and (trains or self.source == "agent"):
            raise UsageError("--recipe belongs to the sweep of a source, such as count")
        if self.begin_with is not None:
            if not trains:
                raise UsageError("--begin-with belongs to a sweep that trains: recipe, view, rl2 or maml")
            check_beginning(self.begin_with)
        require_folder_place(self.cache, "--cache")
        require_episodes(self.episodes)
        from orexis.platform import prepare_jax

        prepare_jax()
        from orexis.evaluation.cache import default_folder
        from orexis.evaluation.evaluate import Plan, settle
        from orexis.evaluation.progress import progress_bars
        from orexis.evaluation.sweep import grid_of, sweep, write_sweep

        line = ["orexis", "sweep", self.source, "--task", self.task, "--lifetimes", str(self.lifetimes)]
        line += ["--episodes", str(self.episodes)] if self.episodes else []
        line += ["--seed", str(self.seed)]
        with progress_bars(self.task, self.lifetimes) as on_progress:
            plan = Plan(self.lifetimes, self.seed, False, self.cache or default_folder(), on_progress=on_progress)
            if self.source == "agent":
                page = self._sweep_agent(plan, line)
            elif trains:
                page = self._sweep_recipe(plan, line)
            else:
                grid_of(self.source)
                setting = settle([self.source], self.task, episodes=self.episodes, recipe=self.recipe)
                line += ["--recipe", self.recipe] if self.recipe != "tuned" else []
                rows = sweep(self.source, setting, plan)
                page = write_sweep(self.out, self.source, self.task, rows, line, self.recipe)
        print(page.read_text(encoding="utf-8"))
        return OK

    def _sweep_recipe(self, plan: "Plan", line: list[str]) -> Path:
        """Writes the table of the variants of a recipe, each trained; returns the page."""
        from orexis.evaluation.evaluate import evaluate_source, settle
        from orexis.tools.sweep_recipe import RecipePlan, sweep_recipe, write_recipe_sweep

        if not self.seeds or len(set(self.seeds)) != len(self.seeds) or self.updates < 1:
            raise UsageError("--seeds takes different numbers, at least one, and --updates at least 1")
        recipes = RecipePlan(
            self.task,
            self.updates,
            self.seeds,
            self.episodes,
            self.runs,
            self.devices,
            self.source,
            self.begin_with,
        )

        def evaluate(run: Path):
            return evaluate_source(str(run), settle([str(run)], self.task, episodes=self.episodes), plan)[0]

        line = [*line, "--updates", str(self.updates), "--seeds", *map(str, self.seeds)]
        line += ["--begin-with", self.begin_with] if self.begin_with else []
        return write_recipe_sweep(self.out, recipes, sweep_recipe(recipes, evaluate, print), line)

    def _sweep_agent(self, plan: "Plan", line: list[str]) -> Path:
        """Writes the tables of agents, each under every source; returns the page."""
        from orexis.evaluation.evaluate import settle
        from orexis.evaluation.sweep import with_coefficients
        from orexis.evaluation.sweep_agent import list_settings, parse_changes, sweep_agent, write_agent_sweep
        from orexis.presets import PAPER

        setting = settle(["extrinsic-ep"], self.task, episodes=self.episodes)
        try:
            if self.teacher_scale is not None:
                setting = with_coefficients(setting, {"teacher_scale": self.teacher_scale})
        except ValueError as error:
            raise UsageError(str(error)) from error
        agents = list_settings(setting.config, parse_changes(self.base), self.vary, PAPER.get(self.task))
        rows = sweep_agent(setting, agents, plan)
        line = line + (["--base", *self.base] if self.base else []) + (["--vary", *self.vary] if self.vary else [])
        line += [] if self.teacher_scale is None else ["--teacher-scale", f"{self.teacher_scale:g}"]
        return write_agent_sweep(self.out, file_name(self.task), rows, line)
