"""The figures that can be reproduced, by name: a new one takes a module of its own and one entry here.

Needs no JAX: a figure's module is imported when it is run.
"""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

from orexis.presets import PAPER_TASKS

if TYPE_CHECKING:
    from orexis.reproduce.base import Request

ALL = "all"
"""What one types for every figure."""


@dataclasses.dataclass(frozen=True)
class PaperFigure:
    """One figure of the paper."""

    name: str  # as typed
    summary: str  # one line of the help
    run: Callable[["Request"], int]  # writes everything into `Request.out`/NAME, returns the exit code
    tasks: tuple[str, ...] = PAPER_TASKS  # those it has panels for
    several: bool = False  # judges several learned rewards of a task, such as those of other training seeds
    smoke: tuple[str, ...] = PAPER_TASKS  # the tasks of a smoke run that names none: each training compiles anew

    def panels(self, budget: str) -> tuple[str, ...]:
        """Returns the tasks that it is drawn for where nobody names them."""
        return tuple(task for task in self.tasks if budget != "smoke" or task in self.smoke)


def _fig3(request: "Request") -> int:
    from orexis.reproduce.fig3 import reproduce

    return reproduce(request)


def _fig4(request: "Request") -> int:
    from orexis.reproduce.fig4 import reproduce

    return reproduce(request)


def _fig5(request: "Request") -> int:
    from orexis.reproduce.fig5 import reproduce

    return reproduce(request)


def _fig6(request: "Request") -> int:
    from orexis.reproduce.fig6 import reproduce

    return reproduce(request)


def _fig7(request: "Request") -> int:
    from orexis.reproduce.studies.fig7 import reproduce

    return reproduce(request)


def _fig8(request: "Request") -> int:
    from orexis.reproduce.studies.fig8 import reproduce

    return reproduce(request)


def _fig9(request: "Request") -> int:
    from orexis.reproduce.studies.fig9 import reproduce

    return reproduce(request)


_ENTRIES = (
    PaperFigure("fig3", "agents under the learned reward and under its baselines", _fig3),
    PaperFigure("fig4", "where agents go before and after they find the goal", _fig4, ("empty-rooms",)),
    PaperFigure("fig5", "what walks to A, B and C are paid in Random ABC", _fig5, ("random-abc",), several=True),
    PaperFigure("fig6", "returns and entropy around the swaps", _fig6, ("nonstationary-abc",)),
    PaperFigure("fig7", "rewards without history or lifetime objective", _fig7, smoke=("random-abc",)),
    PaperFigure("fig8", "learned rewards against learned policies", _fig8, smoke=("random-abc",)),
    PaperFigure("fig9", "agents that the reward never met, and policies", _fig9, ("random-abc",)),
)

FIGURES: dict[str, PaperFigure] = {entry.name: entry for entry in _ENTRIES}
"""Every figure by the name one types."""


def figures_of(name: str) -> list[PaperFigure]:
    """Returns the figure called `name`, or all of them."""
    return list(FIGURES.values()) if name == ALL else [FIGURES[name]]
