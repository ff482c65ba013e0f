"""Task names: what the command line and run folders call a task distribution."""

import dataclasses
import importlib
from collections.abc import Callable
from typing import Any

from orexis.presets import check_task_name
from orexis.tasks.abc import NonstationaryABC, RandomABC
from orexis.tasks.base import Task
from orexis.tasks.empty_rooms import EmptyRooms
from orexis.tasks.key_box import KeyBox
from orexis.tasks.probes import Bandit, Constant, Delayed


@dataclasses.dataclass(frozen=True)
class TaskEntry:
    """One row of the list of tasks."""

    make: Callable[..., Any]
    summary: str


TASKS: dict[str, TaskEntry] = {
    "empty-rooms": TaskEntry(EmptyRooms, "a hidden goal, in the same cell for a lifetime; search, then return"),
    "random-abc": TaskEntry(RandomABC, "three objects of uncertain worth; find out which, then go there"),
    "nonstationary-abc": TaskEntry(NonstationaryABC, "the best and the worst object change places every 250 episodes"),
    "key-box": TaskEntry(KeyBox, "three boxes of uncertain worth that open only to the key; all move every episode"),
    "bandit": TaskEntry(Bandit, "probe: one of three arms pays, another one each lifetime"),
    "delayed": TaskEntry(Delayed, "probe: the first action decides, the last step pays"),
    "constant": TaskEntry(Constant, "probe: nothing to learn"),
}

TITLES: dict[str, str] = {
    "empty-rooms": "Empty Rooms",
    "random-abc": "Random ABC",
    "key-box": "Key-Box",
    "nonstationary-abc": "Non-stationary ABC",
}
"""The paper's domains, as it calls them."""


def make_task(name: str, **options: Any) -> Task:
    """Returns the task called `name`: one of `TASKS`, or `module:Class` for a task of your own.

    Raises ValueError with the names that exist, or with what is wrong with the module.
    """
    if name in TASKS:
        return TASKS[name].make(**options)
    check_task_name(name)
    module_name, class_name = name.split(":")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise ValueError(f"cannot import module {module_name!r} of task {name!r}: {error}") from error
    except (Exception, SystemExit) as error:  # whatever the user's module does when it is imported
        raise ValueError(f"cannot import module {module_name!r} of task {name!r}: {_in_words(error)}") from error
    if not hasattr(module, class_name):
        raise ValueError(f"module {module_name!r} has no class {class_name!r}")
    try:
        return getattr(module, class_name)(**options)
    except (ValueError, TypeError):
        raise
    except (Exception, SystemExit) as error:
        raise ValueError(f"cannot make task {name!r}: {_in_words(error)}") from error


def _in_words(error: BaseException) -> str:
    """Returns an error's type and first line."""
    said = str(error).strip().splitlines()
    return f"{type(error).__name__}: {said[0]}" if said else type(error).__name__
