"""How far a run is: what a checkpoint keeps beside the training state, in its manifest."""

import dataclasses
import math
import re
from typing import Any

from orexis.errors import BadDataError
from orexis.meta.state import UpdateMetrics
from orexis.platform import versions
from orexis.storage.stages import Stage, check_stages, earlier_stages
from orexis.training.choosing.best import Best
from orexis.training.health import Health
from orexis.training.writers import Totals


@dataclasses.dataclass
class Progress:
    """How far a run is."""

    totals: Totals  # of the row of metrics that was begun
    best: Best = dataclasses.field(default_factory=Best)  # what its validations said
    health: Health = dataclasses.field(default_factory=Health)  # which warnings were given
    begun_with: dict[str, str] | None = None  # what the first update started from, see `orexis.training.learners`
    stages: list[Stage] = dataclasses.field(default_factory=list)  # of the training of that, oldest first
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
        told = {"skipped_in_a_row": 0, **manifest}  # earlier versions did not count them
        try:
            for name, kind in fields.items():
                if type(told.get(name)) is not kind or not 0 <= told[name] < math.inf:
                    raise ValueError(f"{name} must be {kind.__name__} and not negative, not {told.get(name)!r}")
            totals = Totals(num_lifetimes, told.get("totals"))
            best = Best.from_json(told.get("validation"))
            health = Health.from_json(told.get("health"))
            begun_with = _texts(told.get("begun_with"))
            stages = check_stages(told.get("stages", earlier_stages(told)))
            digest = told.get("metrics_sha256")
            if digest is not None and not isinstance(digest, str):
                raise ValueError(f"metrics_sha256 must be a text, not {digest!r}")
        except ValueError as error:
            raise BadDataError(f"the manifest of step {manifest.get('step')} cannot be used: {error}") from error
        counted = {name: told[name] for name in fields}
        return cls(totals, best, health, begun_with, stages, metrics_sha256=digest, **counted)

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
            "stages": self.stages,
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


def say_what_changed(manifest: dict[str, Any], num_devices: int, deterministic: bool) -> list[str]:
    """Returns a sentence for each change since the manifest was written that a run survives, but not to the bit."""
    said, same = [], "from here: equal to rounding, not to the bit"
    before = manifest.get("devices")
    if before not in (None, num_devices) and not deterministic:
        said.append(f"trained on {before} devices so far and on {num_devices} {same}")
    then, now = _compiler(manifest.get("versions")), _compiler(versions())
    if then not in (None, now):
        said.append(f"trained with {then} so far and with {now} {same}")
    return said


def _compiler(told: Any) -> str | None:
    """Returns what compiled a run, of the versions that were told; None if they do not tell, or not in such words."""
    names = [f"{name} {told.get(name)}" for name in ("jax", "jaxlib")] if isinstance(told, dict) else []
    return " and ".join(names) if names and all(re.fullmatch(r"\w+ \d[\w.+-]{,40}", name) for name in names) else None


def _texts(told: Any) -> dict[str, str] | None:
    """Returns an object of texts, or None. Raises ValueError for anything else."""
    if told is None:
        return None
    if not isinstance(told, dict) or not all(isinstance(text, str) for text in told.values()):
        raise ValueError(f"begun_with must be texts by name, not {told!r}")
    return dict(told)
