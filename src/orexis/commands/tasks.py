"""`orexis tasks`."""

import dataclasses
from typing import TYPE_CHECKING

from orexis.errors import OK

if TYPE_CHECKING:
    pass


@dataclasses.dataclass(frozen=True)
class Tasks:
    """List what can be trained on."""

    def run(self) -> int:
        from orexis.tools.listing import print_tasks

        print_tasks()
        return OK
