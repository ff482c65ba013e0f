"""Choosing a run's best reward or policy while it trains: when to validate, what to keep, what to say, when to end.

The first process validates, on its own devices; the others go on to where they meet next.
"""

import math
import time
from collections.abc import Callable

import jax

from orexis.config import RunConfig
from orexis.meta.learner import Learner
from orexis.tasks.base import Task
from orexis.training import distributed
from orexis.training.choosing.best import PATIENCE
from orexis.training.choosing.validation import COSTLY, Validator, share_of_steps
from orexis.training.folder import BEST
from orexis.training.outputs import Outputs
from orexis.training.progress import Progress
from orexis.types import PyTree


class Chooser:
    """Validates what is learned, averaged, every `validate_every` updates and keeps the best."""

    def __init__(self, config: RunConfig, task: Task, outputs: Outputs):
        self.config, self._task, self._outputs = config, task, outputs
        self._validator: Validator | None = None

    def prepare(self, progress: Progress, eta: PyTree) -> None:
        """Compiles what validates things shaped like `eta`, in the first process, if the run will come to it."""
        every = self.config.validate_every
        comes = every is not None and self.config.updates // every > progress.step // every
        if distributed.is_first() and (comes or progress.best.owed):
            validator = Validator(self._task, self.config.meta, self.config.validation_lifetimes)
            validator.compile(eta)
            self._validator = validator

    def is_due(self, step: int) -> bool:
        """Returns whether the reward is to be validated after `step` updates."""
        return self.config.validate_every is not None and step % self.config.validate_every == 0

    def validate(
        self, learner: Learner, progress: Progress, log: Callable[[str], None], must_stop: Callable[[], bool]
    ) -> None:
        """Validates the averaged reward, which is owed, and keeps it if it is the best so far.

        If the run is asked to stop meanwhile, it is still owed.
        """
        best, step = progress.best, progress.step
        if not distributed.is_first():
            best.owed = False
            return
        assert self._validator is not None
        start = time.monotonic()
        whole = jax.device_get(learner)
        score = self._validator.score(whole.eta_average, must_stop)
        if score is None:
            return
        before = best.collapsed
        if best.add(step, score):
            self._outputs.write_best(whole, progress, score)
        error = f" ± {score.error:.4f}" if self.config.validation_lifetimes > 1 else ""  # of one lifetime there is none
        log(
            f"validated at update {step}: fresh agents collect {score.episode_return:.4f}{error} an episode, "
            f"{score.last_tenth:.4f} in the last tenth of their lifetime; {self._which_is_best(progress)}; "
            f"took {time.monotonic() - start:.3g} s"
        )
        if best.collapsed not in (None, before):
            log(
                f"warning: the run has collapsed: {PATIENCE} validations in a row were clearly below the "
                f"{self._which_is_best(progress)}, which is kept in {self._outputs.run_dir / BEST}"
            )

    def must_end(self, progress: Progress) -> bool:
        """Returns whether the run has collapsed and is to end then."""
        return self.config.stop_on_collapse and progress.best.collapsed is not None

    def farewell(self, progress: Progress) -> str:
        """Returns why a run ended that had to."""
        return (
            f"ended at update {progress.step}, because it has collapsed; the {self._which_is_best(progress)}, "
            f"is in {self._outputs.run_dir / BEST}; --resume without --stop-on-collapse goes on"
        )

    def warnings(self) -> list[str]:
        """Returns a sentence if validation may cost much beside training."""
        share = share_of_steps(self.config, self._task.spec)
        if share <= COSTLY or self.config.validate_every is None:
            return []
        rarer = math.ceil(self.config.validate_every * share / COSTLY)
        return [
            f"validation may take up to {share:.0%} as many steps as training; with --validate-every {rarer} "
            f"it takes at most {COSTLY:.0%}"
        ]

    def _which_is_best(self, progress: Progress) -> str:
        best = progress.best
        return "no best yet" if best.score is None else f"best {best.score:.4f} at update {best.update}"
