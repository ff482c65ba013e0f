"""`orexis doctor`."""

import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING

from tyro.conf import Positional

from orexis.errors import UsageError

if TYPE_CHECKING:
    pass


@dataclasses.dataclass(frozen=True)
class Doctor:
    """Verify a run, a reward or a policy byte by byte; say what is wrong and what a resume would do."""

    folder: Positional[Path]
    """A run folder, or the folder of a reward, a policy or a learner."""

    def run(self) -> int:
        if not os.path.isdir(self.folder):
            raise UsageError(f"{self.folder} is neither a run folder nor a reward or policy folder")
        from orexis.tools.doctor import examine

        diagnosis = examine(self.folder)
        print("\n".join(diagnosis.lines()))
        return diagnosis.code
