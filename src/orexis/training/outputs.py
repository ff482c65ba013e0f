"""What a run makes of its learner: `learner/` and `reward/` (or `policy/`) at each checkpoint, `best/` when a
validation was best."""

import dataclasses
from pathlib import Path
from typing import Any

from orexis.config import RunConfig, TaskSpec
from orexis.config_json import to_json
from orexis.meta.learner import Learner
from orexis.platform import versions
from orexis.storage.artefact import Kind, kind_of, read_artefact, write_artefact
from orexis.storage.reading import DamagedError
from orexis.training.choosing.best import Score
from orexis.training.choosing.validation import VALIDATION_SEED
from orexis.training.folder import BEST, LEARNER
from orexis.training.learners import read_learner, write_learner
from orexis.training.progress import Progress


@dataclasses.dataclass(frozen=True)
class Outputs:
    """Writes and looks at what lies beside the checkpoints of one run."""

    run_dir: Path
    config: RunConfig
    spec: TaskSpec

    def write(self, learner: Learner, progress: Progress) -> None:
        """Writes the learner, then what it has learned, averaged."""
        record = self._record(progress)
        about = {"task": self.config.task, "spec": to_json(self.spec), **record}
        write_learner(self.run_dir / LEARNER, learner, about)
        self._write_artefact(self.kind, learner, record)

    def write_best(self, learner: Learner, progress: Progress, score: Score) -> None:
        """Writes what was learned, averaged, as the best so far, and by which validation."""
        record = self._record(progress)
        on = {"lifetimes": self.config.validation_lifetimes, "seed": VALIDATION_SEED}
        record["training"]["validation"] = {**dataclasses.asdict(score), **on}
        self._write_artefact(BEST, learner, record)

    def are_of(self, step: int) -> bool:
        """Returns whether learner and artefact are there and of update `step`; a kill may have come before."""
        try:
            records = read_learner(self.run_dir / LEARNER)[1], read_artefact(self.run_dir / self.kind).record
        except (DamagedError, FileNotFoundError):
            return False
        told = [record.get("training") for record in records]
        return all(isinstance(training, dict) and training.get("updates") == step for training in told)

    def has_best(self) -> bool:
        """Returns whether the best artefact is there, every byte as it was written."""
        try:
            read_artefact(self.run_dir / BEST)
        except (DamagedError, FileNotFoundError):
            return False
        return True

    @property
    def kind(self) -> Kind:
        """What the run learns, and where in its folder that lies."""
        return kind_of(self.config.meta.learn)

    def _write_artefact(self, name: str, learner: Learner, record: dict[str, Any]) -> None:
        meta, place = self.config.meta, self.run_dir / name
        write_artefact(place, self.config.task, self.spec, meta.network, learner.eta_average, record, meta.learn)

    def _record(self, progress: Progress) -> dict[str, Any]:
        """Returns what is told of the run so far."""
        training = {
            "updates": progress.step,
            "lifetimes": self.config.meta.lifetimes,
            "seed": self.config.seed,
            "env_steps": progress.env_steps,
            "validation_env_steps": progress.best.env_steps,
            "wall_s": progress.wall_s,
            "begun_with": progress.begun_with,
            "stages": progress.stages,
        }
        return {"config": to_json(self.config), "training": training, "versions": versions()}
