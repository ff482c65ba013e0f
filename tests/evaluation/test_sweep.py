"""Sweeps: the grid, where coefficients go, and the table that is written."""

import csv
import dataclasses

import pytest

from orexis.config import BonusConfig
from orexis.errors import UsageError
from orexis.evaluation.evaluate import Plan, evaluate_source, settle
from orexis.evaluation.sources import Setting
from orexis.evaluation.sweep import GRIDS, grid_of, sweep, with_coefficients, write_sweep
from orexis.presets import BONUSES, PAPER_BONUSES, preset
from orexis.tasks.probes import Bandit

SETTING = Setting("bandit", Bandit(episodes=4), preset("bandit").agent)
PLAN = Plan(num_lifetimes=8, seed=9000)


@pytest.fixture(scope="module")
def rows():
    return sweep("count", SETTING, PLAN)


def test_a_sweep_scores_every_point_and_puts_the_best_first(rows):
    assert {row.coefficients["count_scale"] for row in rows} == set(GRIDS["count"]["count_scale"])
    assert [row.mean for row in rows] == sorted((row.mean for row in rows), reverse=True)
    assert all(row.low <= row.mean <= row.high for row in rows)


def test_a_row_is_the_evaluation_with_its_coefficients(rows):
    row = rows[-1]
    setting = dataclasses.replace(SETTING, bonus=BonusConfig({"count": row.coefficients["count_scale"]}))
    table, _ = evaluate_source("count", setting, PLAN)
    assert row.mean == pytest.approx(table.extrinsic.mean())


def test_coefficients_go_where_they_belong():
    changed = with_coefficients(SETTING, {"learning_rate": 0.7, "icm_scale": 0.9})
    assert changed.config.learning_rate == 0.7
    assert changed.bonus.scales == {"icm": 0.9}
    assert with_coefficients(SETTING, {}) == SETTING


def test_the_grid_of_two_coefficients_is_their_product():
    grid = grid_of("extrinsic-ep")
    assert len(grid) == len(GRIDS["extrinsic-ep"]["learning_rate"]) * len(GRIDS["extrinsic-ep"]["entropy_cost"])
    with pytest.raises(UsageError, match="no coefficients to sweep"):
        grid_of("random")


def test_the_tables_say_the_same_and_the_command(rows, tmp_path):
    page = write_sweep(tmp_path / "new", "count", "bandit", rows, ["orexis", "sweep", "count"])
    text = page.read_text()
    assert "    orexis sweep count\n" in text
    with page.with_suffix(".csv").open() as file:
        read = list(csv.reader(file))
    assert read[1:] == [row.cells() for row in rows]
    assert all(f"| {' | '.join(cells)} |" in text for cells in read)


def test_a_page_of_the_papers_agent_is_one_of_its_own_and_says_whose(rows, tmp_path):
    ours = write_sweep(tmp_path, "count", "key-box", rows, ["orexis"])
    theirs = write_sweep(tmp_path, "count", "key-box", rows, ["orexis"], "paper")
    assert [page.name for page in (ours, theirs)] == ["key-box-count.md", "key-box-count-paper.md"]
    assert theirs.read_text().startswith("# Sweep of `count` on key-box, the paper's agent\n")


def test_the_papers_agents_have_scales_of_their_own():
    for recipe, bonuses in (("tuned", BONUSES), ("paper", PAPER_BONUSES)):
        setting = settle(["count"], "key-box", recipe=recipe)
        assert setting.bonus == bonuses["key-box"]
        assert setting.config == preset("key-box", recipe).agent
    assert PAPER_BONUSES.keys() == BONUSES.keys()
