"""`orexis view`."""

import dataclasses
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from orexis.commands.checks import require_episodes, require_file_places, require_task
from orexis.errors import MAX_LIFETIMES, UsageError, check_numbers
from orexis.evaluation.sources import check_source_name


@dataclasses.dataclass(frozen=True)
class View:
    """Watch a lifetime: writes one HTML file to step through, with the training curves of runs."""

    sources: Annotated[
        Positional[tuple[str, ...]],
        arg(help="Run folders, reward folders, shipped rewards, or any other source of orexis evaluate."),
    ]
    task: str | None = None
    """Default: the task that the rewards were learned on."""
    seed: int = 0
    """As of orexis evaluate."""
    lifetime: int = 0
    """Which one of the seed: the same as in orexis evaluate, counted from 0."""
    episodes: int | None = None
    """Of the lifetime; default the task's own."""
    recipe: Literal["tuned", "paper"] | None = None
    """Whose settings the agent has; default those that the rewards were trained with, else the tuned ones."""
    out: Path = Path("view.html")
    """Where to write the page."""

    def run(self) -> int:
        if not self.sources:
            raise UsageError("name at least one run or reward, for example random-abc")
        if len(set(self.sources)) != len(self.sources):
            raise UsageError("a source is named twice")
        for name in self.sources:
            check_source_name(name)
        if self.task is not None:
            require_task(self.task)
        require_episodes(self.episodes)
        check_numbers(1, self.seed)
        if not 0 <= self.lifetime < MAX_LIFETIMES:
            raise UsageError(f"--lifetime must be between 0 and {MAX_LIFETIMES - 1}, not {self.lifetime}")
        require_file_places(self.out)
        from orexis.platform import prepare_jax

        prepare_jax(1)
        from orexis.tools.view import view

        return view(self.sources, self.out, self.task, self.seed, self.lifetime, self.episodes, self.recipe)
