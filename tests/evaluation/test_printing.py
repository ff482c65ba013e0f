"""The table that `orexis evaluate` prints: names of sources are whole on a terminal of any width and in a file."""

import functools

import numpy as np
import pytest
from rich.console import Console

from orexis.evaluation import printing
from orexis.evaluation.table import SourceTable

NAMES = ("runs/my_module-MyTaskWithALongName-seed0/best", "runs/my_module-MyTaskWithALongName-seed0/reward")


def table_of(source: str) -> SourceTable:
    values = np.full((3, 20), 0.25)
    return SourceTable(source, "bandit", 0, values, values, values, values, values.astype(int), (), {})


def test_names_are_whole_where_lines_go_to_a_file(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    printing.print_summary([table_of(name) for name in NAMES])
    rows = [line.split("│") for line in capsys.readouterr().out.splitlines() if "│" in line]
    assert [[cell.strip() for cell in row[1:-1]] for row in rows] == [
        [name, "0.250", "0.250 to 0.250", "0.250", "0.250"] for name in NAMES
    ]


@pytest.mark.parametrize("width", [70, 80, 100])
def test_names_are_whole_on_a_narrow_terminal(width: int, capsys, monkeypatch):
    monkeypatch.setattr(printing, "Console", functools.partial(Console, force_terminal=True, width=width))
    monkeypatch.setenv("NO_COLOR", "1")
    printing.print_summary([table_of(name) for name in NAMES])
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split("│")[1:-1] for line in lines if "│" in line]
    assert "".join(row[0].strip() for row in rows) == "".join(NAMES)
    assert [row[2].strip() for row in rows if row[2].strip()] == 2 * ["0.250 to 0.250"]
