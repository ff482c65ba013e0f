"""What a run's validations said: which reward was the best so far, and whether the run has collapsed since.

    collapsed:  score < best − max(¼·|best − first|, ⅒·|best|, 2·error),  twice in a row

`first` is the first score and `error` the best score's standard error over lifetimes: a fall counts if it gives back
a quarter of what was learned, is more than a tenth, and cannot be chance.
"""

import dataclasses
import math
from typing import Any, cast

PATIENCE = 2
"""Validations in a row that must be clearly below the best before a run is said to have collapsed."""


@dataclasses.dataclass(frozen=True)
class Score:
    """What agents collected under one reward on the validation lifetimes."""

    episode_return: float  # extrinsic, mean over all episodes and lifetimes
    last_tenth: float  # the same, over the last tenth of each lifetime's episodes
    error: float  # standard error of the first, over lifetimes
    env_steps: int  # that it took


@dataclasses.dataclass
class Best:
    """The validations of a run so far. All numbers are None before the first."""

    env_steps: int = 0  # of all validations together: part of what the run's reward cost
    owed: bool = False  # the last update has to be validated before the next one is made
    first: float | None = None
    score: float | None = None  # of the best
    error: float | None = None  # its standard error
    update: int | None = None  # that the best was validated at
    low_in_a_row: int = 0
    collapsed: int | None = None  # update at which the run was found to have collapsed
    latest_return: float | None = None  # of the row of metrics that was begun
    latest_last_tenth: float | None = None

    def add(self, update: int, score: Score) -> bool:
        """Notes the validation of `update`; returns whether it is the best so far. What is not finite is no score."""
        self.owed = False
        self.env_steps += score.env_steps
        if not (math.isfinite(score.episode_return) and math.isfinite(score.last_tenth)):
            return False
        self.latest_return, self.latest_last_tenth = score.episode_return, score.last_tenth
        if self.first is None:
            self.first = score.episode_return
        if self.score is None or score.episode_return > self.score:
            self.score, self.error, self.update = score.episode_return, score.error, update
            self.low_in_a_row, self.collapsed = 0, None
            return True
        self.low_in_a_row = self.low_in_a_row + 1 if score.episode_return < self.floor() else 0
        if self.low_in_a_row >= PATIENCE and self.collapsed is None:
            self.collapsed = update
        return False

    def floor(self) -> float:
        """Returns the score below which a validation is clearly worse than the best, see the module."""
        assert None not in (self.score, self.first, self.error)
        best, first, error = cast("tuple[float, float, float]", (self.score, self.first, self.error))
        return best - max(0.25 * abs(best - first), 0.1 * abs(best), 2.0 * error)

    def forget(self) -> None:
        """Forgets which was the best, where its files are lost: the next validation is the best again."""
        self.score = self.error = self.update = self.collapsed = None
        self.low_in_a_row = 0

    def row(self) -> dict[str, float]:
        """Returns the columns of metrics.csv, NaN where the row had no validation."""
        values = {"validation_return": self.latest_return, "validation_last_tenth": self.latest_last_tenth}
        return {name: math.nan if value is None else value for name, value in values.items()}

    def begin_row(self) -> None:
        self.latest_return = self.latest_last_tenth = None

    def to_json(self) -> dict[str, Any]:
        """Returns what a checkpoint keeps."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, told: Any) -> "Best":
        """Returns what `to_json` gave; nothing yet for None, which older checkpoints tell. Raises ValueError."""
        if told is None:
            return cls()
        if not isinstance(told, dict) or set(told) != set(KINDS):
            raise ValueError(f"validation must have {', '.join(KINDS)}")
        for name, kind in KINDS.items():
            value = told[name]
            if value is None and name not in COUNTED:
                continue
            if type(value) is not kind or not _makes_sense(value):
                raise ValueError(f"validation.{name} must be {kind.__name__}, not {value!r}")
        known = [told[name] is None for name in ("first", "score", "error", "update")]
        if len(set(known[1:])) > 1 or (known[0] and not known[1]):
            raise ValueError("validation must tell first, score, error and update together")
        return cls(**told)


def _makes_sense(value: Any) -> bool:
    return math.isfinite(value) and (type(value) is float or value >= 0)


COUNTED: dict[str, type] = {"env_steps": int, "owed": bool, "low_in_a_row": int}
KINDS: dict[str, type] = {
    **COUNTED,
    **dict.fromkeys(("update", "collapsed"), int),
    **dict.fromkeys(("first", "score", "error", "latest_return", "latest_last_tenth"), float),
}
"""The type of each field of `Best`; those that are not counted may be None."""
