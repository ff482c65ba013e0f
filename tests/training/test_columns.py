"""metrics.csv read back, and the one table that says what its columns mean."""

import math

import numpy as np
import pytest

from orexis.errors import BadDataError
from orexis.training.choosing.best import Best
from orexis.training.columns import COLUMNS, HEADINGS, NAMES, Column, read_metrics
from orexis.training.progress import Progress
from orexis.training.writers import Totals
from tests.test_docs_tables import read_table


def test_the_table_of_metrics_is_that_of_the_columns():
    _, *rows = read_table("reference/metrics.md", "column")
    assert rows == [[f"`{column.name}`", column.meaning, column.healthy] for column in COLUMNS]


def test_every_column_is_written_by_a_run_and_none_besides():
    assert set(Progress(Totals(4), Best()).row()) == set(NAMES)
    assert len(set(NAMES)) == len(NAMES)


def test_what_is_a_curve_has_a_heading_that_fits_a_panel():
    assert set(NAMES) - set(HEADINGS) == {"update", "env_steps", "wall_s"}
    assert max(map(len, HEADINGS.values())) <= 30
    assert len(set(HEADINGS.values())) == len(HEADINGS)


@pytest.mark.parametrize("words", [("two words", "x"), ("name", ""), ("name", "a | b")])
def test_a_column_that_would_break_the_table_is_refused(words):
    with pytest.raises(ValueError, match="must be a name"):
        Column(*words)


def test_metrics_are_read_as_columns_with_gaps(tmp_path):
    path = tmp_path / "metrics.csv"
    path.write_text("update,episode_return\n10,\n20,0.25\n")
    columns = read_metrics(path)
    np.testing.assert_array_equal(columns["update"], [10, 20])
    np.testing.assert_array_equal(columns["episode_return"], [math.nan, 0.25])


@pytest.mark.parametrize("tail", ["3", "30,0.2", "30,0.2,"])
def test_a_line_that_is_being_written_is_no_row_yet(tmp_path, tail):
    path = tmp_path / "metrics.csv"
    path.write_text(f"update,episode_return\n10,0.1\n{tail}")
    assert read_metrics(path)["update"].tolist() == [10]


def test_a_header_alone_is_no_rows(tmp_path):
    path = tmp_path / "metrics.csv"
    path.write_text("update,episode_return\n")
    assert {name: len(values) for name, values in read_metrics(path).items()} == {"update": 0, "episode_return": 0}


@pytest.mark.parametrize(
    "content", [None, "", "update", "a,b\n1,2\n", "update,update\n1,2\n", "update,x\n10\n", "update\nten\n", "\xff\n"]
)
def test_damaged_metrics_are_one_sentence(tmp_path, content):
    path = tmp_path / "metrics.csv"
    if content is not None:
        path.write_bytes(content.encode("latin-1"))
    with pytest.raises(BadDataError, match=r"cannot be read: .*; orexis doctor"):
        read_metrics(path)
