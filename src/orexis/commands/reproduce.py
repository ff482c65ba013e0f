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
    """Learned rewards that are there already, each TASK=SOURCE; shipped ones need not be named."""
    train: bool = True
    """Train rewards that are missing; without, their lines are missing too."""
    cache: Path | None = None
    """Folder of tables to reuse and to add to; default in your cache folder."""

    def run(self) -> int:
        require_folder_place(self.out, "--out")
        require_folder_place(self.cache, "--cache")
        figures = figures_of(self.figure)
        panels = [task for task in PAPER_TASKS if any(task in figure.tasks for figure in figures)]
        chosen = tuple(panels) if self.tasks is None else self.tasks
        for task in chosen:
            if task not in panels:
                raise UsageError(f"{self.figure} has no panel for {task!r}; it has {', '.join(panels)}")
        if not chosen or len(set(chosen)) != len(chosen):
            raise UsageError("name at least one of --tasks, and none twice")
        rewards = dict(_split_reward(text, chosen) for text in self.rewards)
        from orexis.platform import prepare_jax

        prepare_jax()
        for figure in figures:
            tasks = tuple(task for task in chosen if task in figure.tasks)
            named = {task: source for task, source in rewards.items() if task in tasks}
            code = figure.run(self._request(figure.name, tasks, named)) if tasks else OK
            if code != OK:
                return code
        return OK

    def _request(self, figure: str, tasks: tuple[str, ...], rewards: dict[str, str]) -> "Request":
        """Returns what is asked of one figure, with the command that asks for it alone."""
        from orexis.evaluation.cache import default_folder
        from orexis.reproduce.base import Request

        line = ["orexis", "reproduce", figure, "--budget", self.budget, "--out", str(self.out), "--tasks", *tasks]
        line += ["--rewards", *(f"{task}={source}" for task, source in rewards.items())] if rewards else []
        line += [] if self.train else ["--no-train"]
        cache = self.cache or default_folder()
        return Request(self.budget, self.out, tasks, rewards, self.train, cache, tuple(line))


def _split_reward(text: str, tasks: Sequence[str]) -> tuple[str, str]:
    """Returns the task and the source that TASK=SOURCE names. Raises UsageError if it names none."""
    task, _, source = text.partition("=")
    if task not in tasks or not source:
        raise UsageError(f"--rewards takes TASK=SOURCE with a task of the figure, not {text!r}")
    check_source_name(source)
    return task, source
