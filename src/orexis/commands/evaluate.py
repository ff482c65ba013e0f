"""`orexis evaluate`."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

from orexis.agents.registry import LEARNERS
from orexis.api import evaluate
from orexis.commands.checks import (
    require_episodes,
    require_file_places,
    require_folder_place,
    require_task,
    write_result,
)
from orexis.errors import OK
from orexis.evaluation.sources import SOURCES
from orexis.presets import EVALUATION_LIFETIMES

if TYPE_CHECKING:
    AgentName = str
else:
    AgentName = Literal[LEARNERS]


@dataclasses.dataclass(frozen=True)
class Evaluate:
    """Let fresh agents live under each source and compare what they collect."""

    sources: Annotated[
        Positional[tuple[str, ...]],
        arg(
            help="Shipped rewards and policies (see orexis zoo list), folders of runs, rewards or policies, or any of: "
            f"{' '.join(SOURCES)}."
        ),
    ]
    task: str | None = None
    """Default: the task that the rewards or policies were learned on."""
    lifetimes: int = EVALUATION_LIFETIMES
    """How many fresh agents live under each source."""
    seed: int = 0
    """Of tasks, agents and chance, the same under every source; lifetime i of a seed is always the same one."""
    agent: AgentName = "actor-critic"
    """Who learns from what the sources pay."""
    recipe: Literal["tuned", "paper"] | None = None
    """Whose settings the agents have; default those that the rewards were trained with, else the tuned ones."""
    episodes: int | None = None
    """Of a lifetime; default the task's own."""
    actions: Literal["normal", "permuted", "extended"] = "normal"
    """Actions as trained; or reversed; or with four diagonals more. A reward that sees the action is refused, a
    policy where there are more of them."""
    json: Path | None = None
    """Where to write the summary."""
    csv: Path | None = None
    """Where to write a row for each source, lifetime and episode."""
    trace: Path | None = None
    """Where to write every step, as NPZ."""
    cache: Path | None = None
    """Folder of tables to reuse and to add to; default in your cache folder."""
    fresh: bool = False
    """Live again, whatever the cache holds."""

    def run(self) -> int:
        if self.task is not None:
            require_task(self.task)
        require_episodes(self.episodes)
        require_file_places(self.json, self.csv, self.trace)
        require_folder_place(self.cache, "--cache")
        result = evaluate(
            self.sources,
            self.task,
            self.lifetimes,
            self.seed,
            agent=self.agent,
            recipe=self.recipe,
            episodes=self.episodes,
            actions=self.actions,
            traced=self.trace is not None,
            cache=self.cache,
            fresh=self.fresh,
        )
        from orexis.evaluation.printing import print_summary
        from orexis.evaluation.scores import write_csv, write_trace
        from orexis.storage.files import write_json

        tables = list(result.tables)
        print_summary(tables)
        write_result(self.json, lambda path: write_json(path, result.summary))
        write_result(self.csv, lambda path: write_csv(path, tables))
        write_result(self.trace, lambda path: write_trace(path, result.traces))
        return OK
