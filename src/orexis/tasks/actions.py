"""Other action spaces for the same task: the paper's study of generalisation (section 5.1).

What a task pays and shows is untouched; only the meaning or the number of the actions changes.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from orexis.config import TaskSpec
from orexis.tasks.base import Task, TaskWrapper
from orexis.types import PyTree


@dataclasses.dataclass(frozen=True)
class _Wrapper(TaskWrapper):
    """A task like `task`; what is not overridden, optional methods included, is the wrapped task's own."""

    task: Any

    def __post_init__(self) -> None:
        if not hasattr(self.task, "moves"):
            raise ValueError(f"the actions of {type(self.task).__name__} are no directions: it has no `moves`")

    def __getattr__(self, name: str) -> Any:
        if name == "task" or name.startswith("__"):  # not there yet, while being copied or unpickled
            raise AttributeError(name)
        return getattr(self.task, name)


@dataclasses.dataclass(frozen=True)
class Permuted(_Wrapper):
    """Every action leads the opposite way: left and right are reversed, up and down too."""

    def step(
        self, key: jax.Array, params: PyTree, state: PyTree, action: jax.Array
    ) -> tuple[PyTree, jax.Array, jax.Array]:
        meant = jnp.zeros((), jnp.int32)
        for index, opposite in enumerate(opposites(self.task.moves)[: self.spec.num_actions]):
            meant = jnp.where(action == index, jnp.int32(opposite), meant)
        return self.task.step(key, params, state, meant)


@dataclasses.dataclass(frozen=True)
class Extended(_Wrapper):
    """Four actions more, numbers 4 to 7: the diagonals."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.task.moves) <= self.task.spec.num_actions:
            raise ValueError(f"{type(self.task).__name__} offers all of its moves already")

    @property
    def spec(self) -> TaskSpec:
        return dataclasses.replace(self.task.spec, num_actions=len(self.task.moves))

    def optimum(self) -> float:
        """Returns the best expected return of an episode; paths are shorter by the diagonals."""
        return self.task.optimum(self.task.moves)


def opposites(moves: np.ndarray) -> list[int]:
    """Returns for each of `moves` i[M, 2] the index of the move that undoes it."""
    return [int(np.flatnonzero((moves == -move).all(axis=1))[0]) for move in moves]


_SPACES: dict[str, Callable[[Task], Task]] = {
    "normal": lambda task: task,
    "permuted": Permuted,
    "extended": Extended,
}


def with_actions(task: Task, actions: str) -> Task:
    """Returns `task` with the action space called `actions`: normal, permuted or extended.

    Raises ValueError for another name, or if the task's actions are no directions.
    """
    if actions not in _SPACES:
        raise ValueError(f"unknown action space {actions!r}; there are {', '.join(_SPACES)}")
    return _SPACES[actions](task)
