"""`orexis zoo`."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tyro.conf import Positional

from orexis.errors import OK, UsageError

if TYPE_CHECKING:
    pass


@dataclasses.dataclass(frozen=True)
class Zoo:
    """List the rewards and policies that came with Orexis, show the card of one, or copy one."""

    what: Positional[Literal["list", "show", "export"]]
    name: Positional[str | None] = None
    """A shipped reward or policy, a run folder, or the folder of either."""
    out: Positional[Path | None] = None
    """The new folder that export writes."""
    evaluation: Path | None = None
    """A file of `orexis evaluate --json`, to be told on the card of the copy."""
    failures: tuple[str, ...] = ()
    """Sentences for the card of the copy: what it is known to do badly."""

    def run(self) -> int:
        if self.what != "list" and self.name is None:
            raise UsageError(f"say which reward: orexis zoo {self.what} NAME; orexis zoo list tells the names")
        if self.what == "export" and self.out is None:
            raise UsageError("say where to: orexis zoo export NAME FOLDER")
        from orexis.tools import zoo

        if self.what == "list":
            zoo.print_shipped()
        elif self.what == "show":
            zoo.print_card(str(self.name))
        else:
            zoo.export(str(self.name), Path(str(self.out)), self.evaluation, self.failures)
        return OK
