"""`orexis reproduce`."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

from orexis.commands.checks import (
    require_folder_place,
)
from orexis.errors import OK, UsageError
from orexis.evaluation.sources import check_source_name
from orexis.presets import PAPER_TASKS
from orexis.reproduce.registry import ALL, FIGURES, figures_of

if TYPE_CHECKING:
    from orexis.reproduce.base import Request

    FigureName = str
else:
    FigureName = Literal[(*FIGURES, ALL)]


@dataclasses.dataclass(frozen=True)
class Reproduce:
    """Run what a figure of the paper needs, draw it, and check what the paper says about it."""

    figure: Annotated[
        Positional[FigureName],
        arg(help="; ".join([*(f"{name}: {entry.summary}" for name, entry in FIGURES.items()), f"{ALL}: every figure"])),
    ]
    budget: Literal["smoke", "small", "paper"] = "small"
    """Training of the rewards that are not there yet; smoke also shortens lifetimes."""
    out: Path = Path("results")
    tasks: tuple[str, ...] | None = None
    """Which panels; default all that the figure has."""
    rewards: tuple[str, ...] = ()
    """Learned rewards that are there already, each TASK=SOURCE; shipped ones need not be named. fig5 judges several."""
    train: bool = True
    """Train rewards that are missing; without, their lines are missing too."""
    runs: Path | None = None
    """Folder of the trainings, which are kept, gone on with and used again; default OUT/FIGURE/runs."""
    seeds: tuple[int, ...] = (0,)
    """Of fig7: training seeds of each arm."""
    cache: Path | None = None
    """Folder of tables to reuse and to add to; default in your cache folder."""

    def run(self) -> int:
        require_folder_place(self.out, "--out")
        require_folder_place(self.cache, "--cache")
        require_folder_place(self.runs, "--runs")
        if not self.seeds or len(set(self.seeds)) != len(self.seeds) or min(self.seeds) < 0:
            raise UsageError("--seeds takes different numbers from 0 on, at least one")
        figures = figures_of(self.figure)
        panels = [task for task in PAPER_TASKS if any(task in figure.tasks for figure in figures)]
        chosen = tuple(panels) if self.tasks is None else self.tasks
        for task in chosen:
            if task not in panels:
                raise UsageError(f"{self.figure} has no panel for {task!r}; it has {', '.join(panels)}")
        if not chosen or len(set(chosen)) != len(chosen):
            raise UsageError("name at least one of --tasks, and none twice")
        rewards = _split_rewards(self.rewards, chosen)
        for task, sources in rewards.items():
            if len(sources) > 1 and not any(figure.several and task in figure.tasks for figure in figures):
                raise UsageError(f"{self.figure} takes one reward of {task}, not {len(sources)}")
        from orexis.platform import prepare_jax

        prepare_jax()
        for figure in figures:
            own = figure.panels(self.budget) if self.tasks is None else figure.tasks
            tasks = tuple(task for task in chosen if task in own)
            most = None if figure.several else 1
            named = {task: sources[:most] for task, sources in rewards.items() if task in tasks}
            code = figure.run(self._request(figure.name, tasks, named)) if tasks else OK
            if code != OK:
                return code
        return OK

    def _request(self, figure: str, tasks: tuple[str, ...], rewards: dict[str, tuple[str, ...]]) -> "Request":
        """Returns what is asked of one figure, with the command that asks for it alone."""
        from orexis.evaluation.cache import default_folder
        from orexis.reproduce.base import Request

        line = ["orexis", "reproduce", figure, "--budget", self.budget, "--out", str(self.out), "--tasks", *tasks]
        named = [f"{task}={source}" for task, sources in rewards.items() for source in sources]
        line += ["--rewards", *named] if named else []
        line += [] if self.train else ["--no-train"]
        line += ["--runs", str(self.runs)] if self.runs else []
        line += ["--seeds", *map(str, self.seeds)] if self.seeds != (0,) else []
        cache = self.cache or default_folder()
        first = {task: sources[0] for task, sources in rewards.items()}
        others = {task: sources[1:] for task, sources in rewards.items()}
        return Request(
            self.budget, self.out, tasks, first, self.train, cache, tuple(line), others, self.runs, self.seeds
        )


def _split_rewards(texts: Sequence[str], tasks: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Returns the sources that were named for each task, in their order. Raises UsageError for one named twice."""
    rewards: dict[str, tuple[str, ...]] = {}
    for task, source in (_split_reward(text, tasks) for text in texts):
        if source in rewards.get(task, ()):
            raise UsageError(f"--rewards {task}={source} was given twice")
        rewards[task] = (*rewards.get(task, ()), source)
    return rewards


def _split_reward(text: str, tasks: Sequence[str]) -> tuple[str, str]:
    """Returns the task and the source that TASK=SOURCE names. Raises UsageError if it names none."""
    task, _, source = text.partition("=")
    if task not in tasks or not source:
        raise UsageError(f"--rewards takes TASK=SOURCE with a task of the figure, not {text!r}")
    check_source_name(source)
    return task, source
