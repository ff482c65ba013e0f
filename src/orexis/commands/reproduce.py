"""`orexis reproduce`."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

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


Named: TypeAlias = dict[str, tuple[str, ...]]
"""By task: sources, as typed."""


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
    """Folder of the figures, each in a folder of its own."""
    tasks: tuple[str, ...] | None = None
    """Which panels; default all that the figure has."""
    rewards: tuple[str, ...] = ()
    """Learned rewards that are there already, each TASK=SOURCE; shipped ones need not be named. fig5 judges several."""
    policies: tuple[str, ...] = ()
    """Learned policies that are there already, each TASK=SOURCE, of fig8 and fig9; shipped ones need not be named."""
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
        rewards = _split_sources("--rewards", self.rewards, chosen)
        policies = _split_sources("--policies", self.policies, chosen)
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
            acting = {task: sources for task, sources in policies.items() if task in tasks}
            code = figure.run(self._request(figure.name, tasks, named, acting)) if tasks else OK
            if code != OK:
                return code
        return OK

    def _request(self, figure: str, tasks: tuple[str, ...], rewards: Named, policies: Named) -> "Request":
        """Returns what is asked of one figure, with the command that asks for it alone."""
        from orexis.evaluation.cache import default_folder
        from orexis.reproduce.base import Request

        line = ["orexis", "reproduce", figure, "--budget", self.budget, "--out", str(self.out), "--tasks", *tasks]
        for option, named in (("--rewards", rewards), ("--policies", policies)):
            texts = [f"{task}={source}" for task, sources in named.items() for source in sources]
            line += [option, *texts] if texts else []
        line += [] if self.train else ["--no-train"]
        line += ["--runs", str(self.runs)] if self.runs else []
        line += ["--seeds", *map(str, self.seeds)] if self.seeds != (0,) else []
        return Request(
            budget=self.budget,
            out=self.out,
            tasks=tasks,
            rewards={task: sources[0] for task, sources in rewards.items()},
            train=self.train,
            cache=self.cache or default_folder(),
            command=tuple(line),
            others={task: sources[1:] for task, sources in rewards.items()},
            runs=self.runs,
            seeds=self.seeds,
            policies=policies,
        )


def _split_sources(option: str, texts: Sequence[str], tasks: Sequence[str]) -> Named:
    """Returns the sources that were named for each task, in their order. Raises UsageError for one named twice."""
    named: Named = {}
    for task, source in (_split_source(option, text, tasks) for text in texts):
        if source in named.get(task, ()):
            raise UsageError(f"{option} {task}={source} was given twice")
        named[task] = (*named.get(task, ()), source)
    return named


def _split_source(option: str, text: str, tasks: Sequence[str]) -> tuple[str, str]:
    """Returns the task and the source that TASK=SOURCE names. Raises UsageError if it names none."""
    task, _, source = text.partition("=")
    if task not in tasks or not source:
        raise UsageError(f"{option} takes TASK=SOURCE with a task of the figure, not {text!r}")
    check_source_name(source)
    return task, source
