import sys
import types

import pytest

from orexis.tasks.abc import RandomABC
from orexis.tasks.probes import Constant
from orexis.tasks.registry import TASKS, make_task


@pytest.mark.parametrize("name", TASKS)
def test_every_registered_task_can_be_made_by_its_name(name: str):
    task = make_task(name)
    assert isinstance(task, TASKS[name].make)
    assert task.spec.num_actions >= 2
    assert TASKS[name].summary


def test_random_abc_has_the_name_of_the_design():
    assert make_task("random-abc") == RandomABC()


def test_options_reach_the_task():
    assert make_task("constant", reward=2.0) == Constant(reward=2.0)


def test_an_unknown_name_is_answered_with_the_names_that_exist():
    with pytest.raises(ValueError, match=r"unknown task 'randomabc'.*random-abc.*module:Class"):
        make_task("randomabc")


@pytest.fixture
def module_with_a_task(monkeypatch) -> str:
    module = types.ModuleType("somebodys_tasks")
    module.Mine = Constant
    monkeypatch.setitem(sys.modules, "somebodys_tasks", module)
    return "somebodys_tasks"


def test_a_task_of_ones_own_is_named_by_module_and_class(module_with_a_task):
    assert make_task(f"{module_with_a_task}:Mine", length=4) == Constant(length=4)


def test_a_class_that_is_not_there_is_named(module_with_a_task):
    with pytest.raises(ValueError, match="module 'somebodys_tasks' has no class 'Yours'"):
        make_task(f"{module_with_a_task}:Yours")


def test_a_module_that_cannot_be_imported_is_named():
    with pytest.raises(ValueError, match="cannot import module 'nobodys_tasks'"):
        make_task("nobodys_tasks:Mine")
