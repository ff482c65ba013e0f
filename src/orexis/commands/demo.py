"""`orexis demo`."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from orexis.commands.checks import (
    require_folder_place,
)
from orexis.errors import UsageError, check_numbers

if TYPE_CHECKING:
    pass


@dataclasses.dataclass(frozen=True)
class Demo:
    """The main job in minutes: train a reward, evaluate it on fresh agents, draw, write a report."""

    out: Path = Path("demo")
    """Folder of the report and of all that it was made from."""
    updates: int = 2500
    """Of the reward."""
    seed: int = 0
    """Of the training."""

    def run(self) -> int:
        if self.updates < 1:
            raise UsageError(f"--updates must be at least 1, not {self.updates}")
        require_folder_place(self.out, "--out")
        check_numbers(1, self.seed)
        from orexis.platform import prepare_jax

        prepare_jax()
        from orexis.tools.demo import demo

        return demo(self.out, self.updates, self.seed)
