"""How far a run is: what a checkpoint keeps beside the training state, in its manifest; and how a resume goes on."""

import dataclasses
import math
from pathlib import Path
from typing import Any

from orexis.config import RunConfig
from orexis.config_json import from_json
from orexis.errors import BadDataError, CommandError
from orexis.meta.state import UpdateMetrics
from orexis.storage.manifests import Survey, survey
from orexis.training.best import Best
from orexis.training.folder import (
    CHECKPOINTS,
    CONFIG,
    check_use,
    read_config,
    refuse_another,
    refuse_lost,
    refuse_obstacles,
)
from orexis.training.health import Health
from orexis.training.writers import Totals


@dataclasses.dataclass
class Progress:
    """How far a run is."""

    totals: Totals  # of the row of metrics that was begun
    best: Best = dataclasses.field(default_factory=Best)  # what its validations said
    health: Health = dataclasses.field(default_factory=Health)  # which warnings were given
    begun_with: dict[str, str] | None = None  # what the first update started from, see `orexis.training.learners`
    step: int = 0  # updates done
    env_steps: int = 0
    wall_s: float = 0.0
    metrics_bytes: int = 0  # length of metrics.csv
    metrics_sha256: str | None = None  # of so many bytes; None: an earlier version did not tell
    skipped_in_a_row: int = 0

    @classmethod
    def from_manifest(cls, manifest: dict[str, Any], num_lifetimes: int) -> "Progress":
        """Returns the progress that a manifest tells. Raises BadDataError if it does not."""
        fields = {"step": int, "env_steps": int, "wall_s": float, "metrics_bytes": int, "skipped_in_a_row": int}
        told = {"skipped_in_a_row": 0, **manifest}  # format 1 did not count them
        try:
            for name, kind in fields.items():
                if type(told.get(name)) is not kind or not 0 <= told[name] < math.inf:
                    raise ValueError(f"{name} must be {kind.__name__} and not negative, not {told.get(name)!r}")
            totals = Totals(num_lifetimes, told.get("totals"))
            best = Best.from_json(told.get("validation"))
            health = Health.from_json(told.get("health"))
            begun_with = _texts(told.get("begun_with"))
            digest = told.get("metrics_sha256")
            if digest is not None and not isinstance(digest, str):
                raise ValueError(f"metrics_sha256 must be a text, not {digest!r}")
        except ValueError as error:
            raise BadDataError(f"the manifest of step {manifest.get('step')} cannot be used: {error}") from error
        counted = {name: told[name] for name in fields}
        return cls(totals=totals, best=best, health=health, begun_with=begun_with, metrics_sha256=digest, **counted)

    def to_manifest(self) -> dict[str, Any]:
        """Returns what the manifest is to tell, but for the step."""
        return {
            "env_steps": self.env_steps,
            "wall_s": self.wall_s,
            "metrics_bytes": self.metrics_bytes,
            "metrics_sha256": self.metrics_sha256,
            "skipped_in_a_row": self.skipped_in_a_row,
            "totals": self.totals.to_json(),
            "validation": self.best.to_json(),
            "health": self.health.to_json(),
            "begun_with": self.begun_with,
        }

    def count(self, metrics: UpdateMetrics) -> None:
        """Counts one update."""
        self.step += 1
        self.env_steps += round(float(metrics.window.steps))
        self.skipped_in_a_row = self.skipped_in_a_row + 1 if metrics.skipped else 0
        self.totals.add(metrics)

    def row(self) -> dict[str, float]:
        """Returns the row of metrics that was begun."""
        counted = {"update": self.step, "env_steps": self.env_steps, "wall_s": self.wall_s}
        return {**counted, **self.totals.row(), **self.best.row()}

    def begin_row(self) -> None:
        """Begins the next row of metrics."""
        self.totals = Totals(self.totals.num_lifetimes)
        self.best.begin_row()


def _texts(told: Any) -> dict[str, str] | None:
    """Returns an object of texts, or None. Raises ValueError for anything else."""
    if told is None:
        return None
    if not isinstance(told, dict) or not all(isinstance(text, str) for text in told.values()):
        raise ValueError(f"begun_with must be texts by name, not {told!r}")
    return dict(told)


@dataclasses.dataclass(frozen=True)
class Outlook:
    """What a resume makes of a run folder, as far as files decide it."""

    survey: Survey  # of its checkpoints
    refusal: CommandError | None  # why it does not go on

    @property
    def step(self) -> int:
        """The update that it goes on from; 0: it starts from the beginning."""
        return self.survey.manifest.get("step", 0)


def foresee(run_dir: Path, config: RunConfig | None = None, limit: int | None = None) -> Outlook:
    """Returns what a resume with `config` does: the resume asks, and does it; the doctor asks, and says it.

    config: by default the one that the checkpoint to go on from was trained with, or else that of the folder.
    limit: bytes that a state can have at most.
    """
    found = survey(run_dir / CHECKPOINTS, accept_manifest, limit)
    try:
        refuse_obstacles(run_dir)
        trained_with = accept_manifest(found.manifest) if found.good else None
        if config is None:
            config = trained_with or (read_config(run_dir) if (run_dir / CONFIG).is_file() else None)
        if config is not None:
            check_use(run_dir, config, resume=True)
        if found.refusal is not None:
            raise found.refusal
        if trained_with is None:
            refuse_lost(run_dir)
        elif config is not None:
            refuse_another(run_dir, trained_with, config)
    except CommandError as error:
        return Outlook(found, error)
    return Outlook(found, None)


def choose(run_dir: Path, config: RunConfig, limit: int) -> Survey:
    """Returns which checkpoint a resume goes on from, by `foresee`. Raises CommandError where it must not go on."""
    outlook = foresee(run_dir, config, limit)
    if outlook.refusal is not None and outlook.survey.refusal is None:
        raise outlook.refusal
    return outlook.survey


def accept_manifest(manifest: dict[str, Any]) -> RunConfig:
    """Returns the config that a checkpoint was trained with. Raises BadDataError if a run cannot go on from it."""
    try:
        trained_with = from_json(RunConfig, manifest.get("config"), "config of the manifest")
    except ValueError as error:
        raise BadDataError(f"the manifest of step {manifest['step']} cannot be used: {error}") from error
    Progress.from_manifest(manifest, trained_with.meta.lifetimes)
    return trained_with
