"""Tables in Markdown."""

from collections.abc import Sequence


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Returns the lines of a table; a column in which no row has anything is left out."""
    kept = [place for place in range(len(headings)) if any(row[place] for row in rows)]
    lines = [[headings[place] for place in kept], ["---"] * len(kept)]
    lines += [[row[place].replace("|", "\\|") for place in kept] for row in rows]
    return [f"| {' | '.join(line)} |" for line in lines]
