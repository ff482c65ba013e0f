"""What each part of a recipe buys: the variants are what they say, rows are right, runs are kept."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from orexis.cli import _parse
from orexis.config_json import differences
from orexis.errors import BadDataError, MachineError
from orexis.evaluation.table import SourceTable
from orexis.presets import PAPER_TASKS, preset
from orexis.tools.sweep_recipe import (
    FULL,
    RecipePlan,
    list_maml,
    list_rl2,
    list_variants,
    list_views,
    sweep_recipe,
    train_variant,
    write_recipe_sweep,
)


def changes(task: str, options: tuple[str, ...]) -> list[str]:
    """Returns the fields in which the settings with `options` differ from the recipe."""
    config = _parse(["train", task, *options]).config()
    return [line.split(":")[0] for line in differences(preset(task), config.meta)]


@pytest.mark.parametrize("task", PAPER_TASKS)
def test_every_variant_but_the_first_changes_something_that_its_name_says(task: str):
    variants = {variant.name: changes(task, variant.options) for variant in list_variants(task)}
    assert variants.pop(FULL) == []
    assert all(variants.values())
    single = {name: fields for name, fields in variants.items() if name.startswith("without")}
    keeps_ledger = preset(task).reward.keeps_ledger  # which goes with the view
    several = {"without the egocentric view": 1 + keeps_ledger}
    assert {name: len(fields) for name, fields in single.items()} == {name: several.get(name, 1) for name in single}
    assert ("without the ledger" in single) == keeps_ledger
    assert single["without the privileged value"] == ["outer.privileged_value"]
    assert single["without the cost on rewards"] == ["outer.reward_cost"]
    assert _parse(["train", task, "--recipe", "paper"]).config().meta == preset(task, "paper")


@pytest.mark.parametrize("task", PAPER_TASKS)
def test_views_are_the_recipe_s_own_and_the_other_one(task: str):
    own, other = list_views(task)
    assert changes(task, own.options) == []
    ledger = ["reward.keeps_ledger"] if preset(task).reward.keeps_ledger else []
    assert sorted(changes(task, other.options)) == [*ledger, "reward.view"]
    assert {own.name.split()[0], other.name} == {"planes", "egocentric"}


@pytest.mark.parametrize(("learn", "variants"), [("rl2", list_rl2), ("maml", list_maml)])
def test_every_coefficient_of_a_policy_is_varied_alone(learn: str, variants):
    own, *others = (
        _parse(["train", "random-abc", *variant.options]).config().meta for variant in variants("random-abc")
    )
    assert own.learn == learn
    assert learn == "rl2" or own == preset("random-abc", learn=learn)
    cost = {"outer.entropy_cost.init_value", "outer.entropy_cost.end_value"}
    rate = {"outer.reward_learning_rate.init_value", "outer.reward_learning_rate.end_value"}
    allowed = [cost, cost, rate, rate, {"maml.first_order"}]
    for other, fields in zip(others, allowed, strict=False):
        assert other.learn == learn
        changed = {line.split(":")[0] for line in differences(own, other)}
        assert changed
        assert changed <= fields


def test_policies_have_runs_and_a_beginning_of_their_own(tmp_path: Path):
    plan = RecipePlan("random-abc", 10, (0,), None, tmp_path, what="rl2", begin_with="runs/abc3")
    own, *_ = list_rl2("random-abc")
    assert plan.place(0, 0) != dataclasses.replace(plan, what="recipe").place(0, 0)
    assert plan.arm(own, 0).options[:4] == ("--begin-with", "runs/abc3", "--learn", "rl2")


def test_views_have_runs_and_a_page_of_their_own(tmp_path: Path):
    plan = RecipePlan("key-box", 10, (0,), None, tmp_path, what="view")
    recipe = dataclasses.replace(plan, what="recipe")
    assert plan.place(1, 0) != recipe.place(1, 0)
    assert plan.place(0, 0) == recipe.place(0, 0)  # the recipe itself
    rows = sweep_recipe(plan, lambda run: table([0.1, 0.3]), print, lambda plan, number, *_: Path(str(number)))
    page = write_recipe_sweep(tmp_path / "out", plan, rows, ["orexis", "sweep", "view"])
    assert page.name == "key-box-view.md"
    assert [row.variant.name for row in rows] == ["egocentric (the recipe's)", "planes"]


def table(values: list[float]) -> SourceTable:
    rows = np.repeat(np.array(values, np.float32)[:, None], 20, axis=1)
    empty = np.zeros_like(rows)
    return SourceTable("x", "random-abc", 0, rows, empty, empty, empty, empty.astype(np.int32), (), {})


def test_rows_average_seeds_and_say_which_failed(tmp_path: Path):
    plan = RecipePlan("random-abc", 10, (0, 1), None, tmp_path)

    def train(plan: RecipePlan, number: int, variant, seed: int) -> Path:
        if number == 1 and seed == 1:
            raise BadDataError("nothing was finite")
        return Path(str(seed))

    rows = sweep_recipe(plan, lambda run: table([0.1, 0.3] if run.name == "0" else [0.5, 0.7]), print, train)
    assert rows[0].means == pytest.approx((0.2, 0.6))
    assert rows[0].mean == pytest.approx(0.4)
    assert rows[0].low == pytest.approx(0.3)  # lifetimes 0.3 and 0.5, each the mean over seeds
    assert rows[0].high == pytest.approx(0.5)
    assert rows[1].means == pytest.approx((0.2,))
    assert "seed 1: nothing was finite" in rows[1].failed

    page = write_recipe_sweep(tmp_path / "out", plan, rows, ["orexis", "sweep", "recipe"]).read_text()
    assert "| the whole recipe | 0.400 | 0.300 to 0.500 | 0.400 |  | 0.200, 0.600 |" in page
    assert rows[1].gain_over(rows[0]) == pytest.approx((-0.2, -0.2, -0.2))  # 0.1 and 0.3 against 0.3 and 0.5
    assert "-0.200 (-0.200 to -0.200)" in page
    assert "seed 1: nothing was finite" in page
    assert (tmp_path / "out" / "random-abc-recipe.csv").read_text().count("\n") == len(rows) + 1


def test_a_mistake_ends_the_sweep(tmp_path: Path):
    plan = RecipePlan("random-abc", 10, (0,), None, tmp_path)

    def train(*_) -> Path:
        raise MachineError("no such option")

    with pytest.raises(MachineError, match="no such option"):
        sweep_recipe(plan, lambda run: table([0.0]), print, train)


def test_a_command_that_is_refused_is_a_mistake(tmp_path: Path):
    plan = RecipePlan("no-such-task", 1, (0,), None, tmp_path)
    with pytest.raises(MachineError, match=r"orexis train no-such-task --updates 1 --seed 0 failed: .*unknown task"):
        train_variant(plan, 0, dataclasses.replace(list_variants("bandit")[0]), 0)
