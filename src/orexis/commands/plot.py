"""`orexis plot`."""

import dataclasses
from pathlib import Path

from tyro.conf import Positional

from orexis.commands.checks import require_file_places
from orexis.errors import OK, UsageError
from orexis.training.columns import HEADINGS
from orexis.training.folder import METRICS

DEFAULT = ("episode_return", "validation_return", "policy_entropy", "intrinsic_magnitude")


@dataclasses.dataclass(frozen=True)
class Plot:
    """Draw the curves of a run, or of several over each other, as PNG and SVG."""

    runs: Positional[tuple[Path, ...]]
    """Run folders, whether they still train or not."""
    columns: tuple[str, ...] = DEFAULT
    """Of metrics.csv, see docs/reference/metrics.md, a panel for each; or all."""
    out: Path = Path("curves")
    """Where to: OUT.png and OUT.svg."""

    def run(self) -> int:
        if not self.runs:
            raise UsageError("name at least one run folder: orexis plot RUN...; orexis runs tells which there are")
        if len(set(self.runs)) < len(self.runs):
            raise UsageError("a run is named twice")
        for folder in self.runs:
            if not (folder / METRICS).is_file():
                raise UsageError(f"{folder} has no {METRICS}: it is no run folder, or its run has not begun to train")
        unknown = [name for name in self.columns if name not in HEADINGS and self.columns != ("all",)]
        if unknown or not self.columns:
            raise UsageError(f"--columns {' '.join(unknown)}: columns are {', '.join(HEADINGS)}, or all")
        stem = self.out.with_suffix("") if self.out.suffix in (".png", ".svg") else self.out
        require_file_places(*(stem.with_name(f"{stem.name}{suffix}") for suffix in (".png", ".svg")))
        from orexis.tools.plot import plot

        for path in plot(self.runs, tuple(HEADINGS) if self.columns == ("all",) else self.columns, stem):
            print(path)
        return OK
