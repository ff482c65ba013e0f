"""What is shown and written at the end: small tables, on the console and as pages of Markdown."""

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from orexis.evaluation.scores import summarise
from orexis.evaluation.table import SourceTable


def print_summary(tables: Sequence[SourceTable]) -> None:
    """Prints a row for each source, see `summary_cells`, and a warning for each that had lifetimes that diverged.

    Names are whole: on a narrow terminal they take several lines, and elsewhere lines are as long as they must be.
    """
    console = Console()
    if not console.is_terminal:
        console.width = ENDLESS
    shown = Table(title=f"{tables[0].task}: extrinsic return of an episode, {len(tables[0].extrinsic)} lifetimes")
    headings = (*HEADINGS, "not finite") if any(not table.finite.all() for table in tables) else HEADINGS
    for heading in headings:
        if heading == "source":
            shown.add_column(heading, overflow="fold")
        else:
            shown.add_column(heading, justify="right", no_wrap=True)
    for table in tables:
        lost = f"{(~table.finite).sum()} of {len(table.finite)}"
        shown.add_row(*(table.source, *summary_cells(table), lost)[: len(headings)])
    console.print(shown)
    for sentence in filter(None, map(say_not_finite, tables)):
        console.print(f"warning: {sentence}", highlight=False, markup=False, soft_wrap=True)


ENDLESS = 10_000  # columns
HEADINGS = ("source", "mean", "95 % interval", "first ten", "last ten")


def summary_cells(table: SourceTable) -> tuple[str, str, str, str]:
    """Returns the mean of an episode, its interval, the first ten and the last ten episodes, of the lifetimes that were
    finite; dashes where none was."""
    mean = summarise(table)["mean_episode_return"]
    if mean["mean"] is None:
        return ("–", "–", "–", "–")
    low, high = mean["ci95"]
    extrinsic = table.extrinsic[table.finite]
    first, last = extrinsic[:, :10].mean(), extrinsic[:, -10:].mean()
    return f"{mean['mean']:.3f}", f"{low:.3f} to {high:.3f}", f"{first:.3f}", f"{last:.3f}"


def say_not_finite(table: SourceTable) -> str | None:
    """Returns what is to be said about lifetimes that were not finite; None if all were."""
    lost, count = int((~table.finite).sum()), len(table.finite)
    if not lost:
        return None
    means = "there is no mean to give" if lost == count else f"the means are over the other {count - lost}"
    return (
        f"{lost} of {count} lifetimes under {table.source} were not finite (agents diverged, or rewards overflowed), "
        f"and {means}; such agents need a smaller learning rate or a gradient clip"
    )


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
