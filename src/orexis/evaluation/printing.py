"""What is shown and written at the end: small tables, on the console and as pages of Markdown."""

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

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


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Returns the lines of a table in Markdown."""
    return [
        f"| {' | '.join(headings)} |",
        f"|{'---|' * len(headings)}",
        *(f"| {' | '.join(cells)} |" for cells in rows),
    ]


def write_page(path: Path, title: str, command: Sequence[str], paragraph: Sequence[str], table: Sequence[str]) -> Path:
    """Writes a page of Markdown, `path`: a title, the command that made it, what it shows, a table. Returns `path`."""
    lines = [f"# {title}", "", f"    {shlex.join(command)}", "", *paragraph, "", *table]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
