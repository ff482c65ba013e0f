"""`orexis reproduce`."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tyro.conf import Positional

from orexis.commands.checks import (
    require_folder_place,
)
from orexis.errors import UsageError
from orexis.evaluation.sources import check_source_name
from orexis.presets import PAPER_TASKS

if TYPE_CHECKING:
    pass


@dataclasses.dataclass(frozen=True)
class Reproduce:
    """Run what a figure of the paper needs, draw it, and check what the paper says about it."""

    figure: Positional[Literal["fig3", "all"]]
    budget: Literal["smoke", "small", "paper"] = "small"
    """Training of the rewards that are not there yet; smoke also shortens lifetimes."""
    out: Path = Path("results")
    tasks: tuple[str, ...] = PAPER_TASKS
    """Which panels."""
    rewards: tuple[str, ...] = ()
    """Learned rewards that are there already, each TASK=SOURCE; shipped ones need not be named."""
    train: bool = True
    """Train rewards that are missing; without, their lines are missing too."""
    cache: Path | None = None
    """Folder of tables to reuse and to add to; default in your cache folder."""

    def run(self) -> int:
        require_folder_place(self.out, "--out")
        require_folder_place(self.cache, "--cache")
        for task in self.tasks:
            if task not in PAPER_TASKS:
                raise UsageError(f"{self.figure} has no panel for {task!r}; it has {', '.join(PAPER_TASKS)}")
        if not self.tasks or len(set(self.tasks)) != len(self.tasks):
            raise UsageError("name at least one of --tasks, and none twice")
        rewards = dict(_split_reward(text, self.tasks) for text in self.rewards)
        from orexis.platform import prepare_jax

        prepare_jax()
        from orexis.evaluation.cache import default_folder
        from orexis.reproduce.fig3 import Request, reproduce

        line = ["orexis", "reproduce", self.figure, "--budget", self.budget, "--out", str(self.out)]
        line += ["--tasks", *self.tasks]
        line += ["--rewards", *self.rewards] if self.rewards else []
        line += [] if self.train else ["--no-train"]
        cache = self.cache or default_folder()
        return reproduce(Request(self.budget, self.out, self.tasks, rewards, self.train, cache, tuple(line)))


def _split_reward(text: str, tasks: Sequence[str]) -> tuple[str, str]:
    """Returns the task and the source that TASK=SOURCE names. Raises UsageError if it names none."""
    task, _, source = text.partition("=")
    if task not in tasks or not source:
        raise UsageError(f"--rewards takes TASK=SOURCE with a task of the figure, not {text!r}")
    check_source_name(source)
    return task, source
