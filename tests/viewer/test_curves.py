"""Training curves: rows are merged as their columns ask for, and limits are those that training warns at."""

import math

import numpy as np
import pytest

from orexis.colors import BLUE, ORANGE
from orexis.config import TaskSpec
from orexis.training.columns import COLUMNS
from orexis.training.health import FIRST, find_signs, limits
from orexis.viewer.curves import MAX_ROWS, RunCurves, training_data
from tests.training.test_health import HEALTHY, SPEC
from tests.training.tiny import TINY


def curves(num_rows: int, name: str = "runs/a", task: str = "random-abc") -> RunCurves:
    columns = {column.name: np.full(num_rows, 0.5) for column in COLUMNS}
    columns["update"] = 10.0 * np.arange(1, num_rows + 1)
    columns["validation_return"][1:] = np.nan
    return RunCurves(name, task, 4, columns)


def test_few_rows_are_told_as_they_are():
    run = training_data([curves(3)])["runs"][0]
    assert run["columns"]["update"] == [10, 20, 30]
    assert run["columns"]["validation_return"] == [0.5, None, None]


def test_many_rows_are_merged_and_no_dropped_lifetime_is_lost():
    given = curves(4 * MAX_ROWS)
    given.columns["dropped_lifetimes"][:] = 0
    given.columns["dropped_lifetimes"][[5, 6, 900]] = 1
    given.columns["theta_norm_p99"][901] = 99.0
    run = training_data([given])["runs"][0]
    assert len(run["columns"]["update"]) == MAX_ROWS
    assert run["columns"]["update"][-1] == 40 * MAX_ROWS
    assert sum(run["columns"]["dropped_lifetimes"]) == 3
    assert max(run["columns"]["theta_norm_p99"]) == 99
    assert run["columns"]["policy_entropy"] == MAX_ROWS * [0.5]


def test_runs_have_colours_of_their_own_and_bands_are_for_the_task_that_they_were_seen_on():
    told = training_data([curves(3), curves(3, "runs/b")])
    assert [run["color"] for run in told["runs"]] == [BLUE, ORANGE]
    bands = {column["name"]: column["band"] for column in told["columns"]}
    assert bands["policy_entropy"] == (0.7, 0.9)
    assert "update" not in bands
    elsewhere = training_data([curves(3), curves(3, "runs/b", task="key-box")])
    assert {column["band"] for column in elsewhere["columns"]} == {None}


@pytest.mark.parametrize("name", limits(HEALTHY, SPEC.num_actions))
def test_a_column_beyond_its_limit_is_what_training_warns_of(name: str):
    spec: TaskSpec = SPEC
    low, high = limits(HEALTHY, spec.num_actions)[name]
    first = {key: HEALTHY[key] for key in FIRST}
    for border, inside, outside in ((low, 1.001, 0.999), (high, 0.999, 1.001)):
        if math.isfinite(border) and border != 0:
            assert find_signs(first, {**HEALTHY, name: border * inside}, TINY, spec) == {}
            assert len(find_signs(first, {**HEALTHY, name: border * outside}, TINY, spec)) == 1
        elif border == 0:
            beyond = 0.0 if border == low else 1.0  # no gradient at all; a lifetime or an update too many
            assert len(find_signs(first, {**HEALTHY, name: beyond}, TINY, spec)) == 1


def test_a_run_that_has_only_begun_has_no_points():
    run = training_data([curves(0)])["runs"][0]
    assert run["columns"]["update"] == []
