"""A task seen through its table of observations: what the engine runs where there are few of them."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from orexis.tasks.base import Task, TaskWrapper
from orexis.types import PyTree


def has_table(task: Task) -> bool:
    """Returns whether `task` can list its observations, see `orexis.tasks.base.Task`."""
    return hasattr(task, "observation_table") and hasattr(task, "observation_index")


def table_of(task: Task) -> np.ndarray:
    """Returns all that `task` can show, f32[S, H, W, C]; for a task that `has_table`."""
    return task.observation_table()  # type: ignore[attr-defined]


def find_rows(table: np.ndarray, observations: jax.Array) -> jax.Array:
    """Returns i32[T], the row of the table f32[S, H, W, C] that equals each of the observations f32[T, H, W, C]."""
    rows = jnp.asarray(table)
    same = jax.vmap(lambda observation: jnp.all(rows == observation, axis=(1, 2, 3)))(observations)
    return jnp.argmax(same, axis=1).astype(jnp.int32)


@dataclasses.dataclass(frozen=True)
class Tabled(TaskWrapper):
    """`task`, but an observation is its row number, i32[], in the table of all that can be observed."""

    @property
    def table(self) -> np.ndarray:
        """All observations, f32[S, H, W, C]."""
        return self.task.observation_table()  # type: ignore[attr-defined]

    def observe(self, params: PyTree, state: PyTree) -> jax.Array:
        return self.task.observation_index(params, state)  # type: ignore[attr-defined]
