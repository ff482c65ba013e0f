"""`orexis runs`."""

import dataclasses
from pathlib import Path

from tyro.conf import Positional

from orexis.errors import OK


@dataclasses.dataclass(frozen=True)
class Runs:
    """List the runs in a folder: task, seed, updates, return, best validation, and whether one runs or is damaged."""

    folders: Positional[tuple[Path, ...]] = (Path("runs"),)
    """Where to look, four folders deep; or run folders themselves."""
    json: bool = False
    """Print JSON instead of a table."""

    def run(self) -> int:
        from orexis.tools.runs import as_json, as_lines, look_at, require_runs

        runs = [look_at(folder) for folder in require_runs(self.folders)]
        if self.json:
            print(as_json(runs))
        elif runs:
            print("\n".join(as_lines(runs)))
        else:
            print(f"no runs in {' or '.join(map(str, self.folders))}; orexis train makes one")
        return OK
