"""`orexis play`."""

import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tyro.conf import Positional

from orexis.commands.checks import (
    require_episodes,
    require_file_places,
    require_task,
)
from orexis.errors import UsageError

if TYPE_CHECKING:
    pass


@dataclasses.dataclass(frozen=True)
class Play:
    """Walk through a lifetime of a task, with the arrow keys or at random."""

    task: Positional[str]
    """A name from `orexis tasks`, or module:Class for your own."""
    random: bool = False
    """Walk at random instead of asking for keys."""
    gif: Path | None = None
    """Where to write the walk as a moving picture."""
    episodes: int | None = None
    """How many; default 5 at random, else the whole lifetime."""
    seed: int = 0
    """Which lifetime."""
    actions: Literal["normal", "permuted", "extended"] = "normal"
    """As they are; or reversed; or with four diagonals more."""

    def run(self) -> int:
        require_task(self.task)
        require_episodes(self.episodes)
        if not 0 <= self.seed < 2**32:
            raise UsageError(f"--seed must be between 0 and 2^32 - 1, not {self.seed}")
        require_file_places(self.gif)
        if not self.random and not sys.stdin.isatty():
            raise UsageError("keys can be read from a terminal only; add --random to watch a random walk")
        from orexis.platform import prepare_jax

        prepare_jax(1)
        from orexis.tools.play import play

        return play(self.task, self.random, self.gif, self.episodes, self.seed, self.actions)
