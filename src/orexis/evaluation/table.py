"""The table that every figure reads: what the episodes of many lifetimes brought, for one source."""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class SourceTable:
    """One evaluation source on one task: n lifetimes of E episodes."""

    source: str  # as typed
    task: str
    seed: int
    extrinsic: np.ndarray  # f[n, E]  return of each episode, undiscounted
    intrinsic: np.ndarray  # f[n, E]  what the reward source paid
    length: np.ndarray  # f[n, E]
    entropy: np.ndarray  # f[n, E]   mean over the episode's steps, in nats; NaN where the agent was not finite
    outcome: np.ndarray  # i[n, E]   index into `outcomes`, -1 where the time limit ended the episode
    outcomes: tuple[str, ...]  # () where the task names none
    task_params: dict[str, np.ndarray]  # what was sampled for each lifetime, f[n, ...]

    @property
    def finite(self) -> np.ndarray:
        """bool[n], whether all of a lifetime was finite: what it earned, what it was paid, its agent."""
        return np.isfinite(self.extrinsic + self.intrinsic + self.entropy).all(axis=1)

    def select(self, chosen: np.ndarray) -> "SourceTable":
        """Returns the lifetimes where bool[n] is true."""
        columns = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        kept = {name: values[chosen] for name, values in columns.items() if isinstance(values, np.ndarray)}
        params = {name: values[chosen] for name, values in self.task_params.items()}
        return dataclasses.replace(self, **kept, task_params=params)
