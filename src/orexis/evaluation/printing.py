"""What the console shows at the end: small tables."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from orexis.evaluation.scores import summarise
from orexis.evaluation.table import SourceTable


def print_summary(tables: Sequence[SourceTable]) -> None:
    """Prints a row for each source: mean of an episode with its interval, the first ten and the last ten episodes."""
    shown = Table(title=f"{tables[0].task}: extrinsic return of an episode, {len(tables[0].extrinsic)} lifetimes")
    for heading in ("source", "mean", "95 % interval", "first ten", "last ten"):
        shown.add_column(heading, justify="left" if heading == "source" else "right")
    for table in tables:
        mean = summarise(table)["mean_episode_return"]
        low, high = mean["ci95"]
        shown.add_row(
            table.source,
            f"{mean['mean']:.3f}",
            f"{low:.3f} to {high:.3f}",
            f"{table.extrinsic[:, :10].mean():.3f}",
            f"{table.extrinsic[:, -10:].mean():.3f}",
        )
    Console().print(shown)
