"""Signs that a run goes wrong, each said once, in a sentence with the option to try.

Every sign is a column of metrics.csv that left its healthy range (docs/reference/metrics.md). Nothing here stops a run.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

from orexis.config import RunConfig, TaskSpec
from orexis.storage.artefact import kind_of

Row = Mapping[str, float]

GROWTH = 5.0  # of theta's norm since the first row
RUNAWAY = 5.0  # of a value, beyond what rewards can add up to
SATURATED = 1.2  # arctan ends at 1.57, and its slope is 0.13 here
ENTROPY_SHARE = 0.05  # of log A
LARGE_GRADIENT = 1000.0
VALUE_GROWTH = 10.0  # of the lifetime value's error since the first row
SMALL_ERROR = 0.1  # an error that grows from less than this has just found its first rewards


@dataclasses.dataclass(frozen=True)
class Situation:
    """What a sign is read from."""

    first: Row  # the run's first row: theta_norm_p99 and lifetime_value_rmse of it
    row: Row
    config: RunConfig
    spec: TaskSpec


def find_signs(first: Row, row: Row, config: RunConfig, spec: TaskSpec) -> dict[str, str]:
    """Returns a sentence for each bad sign in `row`, by the sign's name. An empty cell, NaN, is no sign."""
    situation = Situation(first, row, config, spec)
    found = {name: sign(situation) for name, sign in SIGNS.items()}
    return {name: sentence for name, sentence in found.items() if sentence is not None}


def _diverging_agents(at: Situation) -> str | None:
    norm, before = at.row["theta_norm_p99"], at.first["theta_norm_p99"]
    if not norm > GROWTH * before or at.config.meta.learn == "rl2":  # a memory fills while it is learned
        return None
    clip = at.config.meta.agent.gradient_clip
    advice = "--agent.gradient-clip 2" if clip is None else f"an --agent.gradient-clip below {clip:g}"
    return (
        f"agents diverge: the norm of theta (99th percentile) is {norm:.3g}, at first it was {before:.3g}; "
        f"try {advice}, or a smaller --agent.learning-rate"
    )


def _runaway_values(at: Situation) -> str | None:
    value, discount = at.row["recorded_value_max"], at.config.meta.agent.discount
    if not value * (1.0 - discount) > RUNAWAY * math.pi / 2:
        return None
    return (
        f"agents' critics diverge: a value is {value:.3g}, and rewards of at most 1.57 add up to "
        f"{math.pi / 2 / (1.0 - discount):.3g}; try --agent.gradient-clip 2, or a smaller --agent.learning-rate"
    )


def _saturated_rewards(at: Situation) -> str | None:
    magnitude, cost = at.row["intrinsic_magnitude"], at.config.meta.outer.reward_cost
    if not magnitude > SATURATED or at.config.meta.learn != "reward":
        return None
    advice = "--outer.reward-cost 0.05" if cost == 0.0 else f"an --outer.reward-cost above {cost:g}"
    return f"rewards saturate: their mean magnitude is {magnitude:.3g} and arctan ends at 1.57; try {advice}"


def _stubborn_policies(at: Situation) -> str | None:
    entropy, most = at.row["policy_entropy"], math.log(at.spec.num_actions)
    if not entropy < ENTROPY_SHARE * most:
        return None
    return (
        f"policies hardly explore: their entropy is {entropy:.3g} of at most {most:.3g}; "
        "try a larger --outer.entropy-cost.end-value, or --outer.entropy-level.share 0.5"
    )


def _dropped_lifetimes(at: Situation) -> str | None:
    dropped = at.row["dropped_lifetimes"]
    if not dropped > 0:
        return None
    return (
        f"{dropped:.0f} lifetimes were not finite and were started again; "
        "try --agent.gradient-clip 2, or a smaller --agent.learning-rate"
    )


def _skipped_updates(at: Situation) -> str | None:
    skipped = at.row["skipped_updates"]
    if not skipped > 0:
        return None
    return f"{skipped:.0f} updates were skipped, their meta-gradient was not finite; try --outer.gradient-clip 3"


def _no_gradient(at: Situation) -> str | None:
    if at.row["eta_gradient_norm"] != 0.0:
        return None
    return (
        f"the meta-gradient is zero, so the {kind_of(at.config.meta.learn)} cannot learn: does the task ever pay? "
        "If so, try a larger --outer.entropy-cost.init-value or --agent.learning-rate"
    )


def _large_gradient(at: Situation) -> str | None:
    norm, clip = at.row["eta_gradient_norm"], at.config.meta.outer.gradient_clip
    if not norm > LARGE_GRADIENT:
        return None
    advice = "--outer.gradient-clip 3" if clip is None else "--agent.gradient-clip 2 or a smaller one"
    return f"the meta-gradient's norm is {norm:.3g}, and a few such updates undo many; try {advice}"


def _lost_value(at: Situation) -> str | None:
    error, before = at.row["lifetime_value_rmse"], at.first["lifetime_value_rmse"]
    if not error > VALUE_GROWTH * max(before, SMALL_ERROR):
        return None
    return (
        f"the lifetime value has lost track: its error is {error:.3g}, at first it was {before:.3g}; "
        "try --outer.normalize, --outer.privileged-value, or a smaller --outer.value-learning-rate"
    )


SIGNS: dict[str, Callable[[Situation], str | None]] = {
    "diverging agents": _diverging_agents,
    "runaway values": _runaway_values,
    "saturated rewards": _saturated_rewards,
    "stubborn policies": _stubborn_policies,
    "dropped lifetimes": _dropped_lifetimes,
    "skipped updates": _skipped_updates,
    "no gradient": _no_gradient,
    "large gradient": _large_gradient,
    "lost value": _lost_value,
}


def limits(first: Row, num_actions: int | None) -> dict[str, tuple[float, float]]:
    """Returns below and above what a column gives rise to a sign, −inf and inf where it never does.

    first: as in `Situation`; num_actions: None where it is not known, and then entropy has no limit.
    """
    least_entropy = ENTROPY_SHARE * math.log(num_actions) if num_actions else -math.inf
    most_error = VALUE_GROWTH * max(first["lifetime_value_rmse"], SMALL_ERROR)
    return {
        "theta_norm_p99": (-math.inf, GROWTH * first["theta_norm_p99"]),
        "intrinsic_magnitude": (-math.inf, SATURATED),
        "policy_entropy": (least_entropy, math.inf),
        "dropped_lifetimes": (-math.inf, 0.0),
        "skipped_updates": (-math.inf, 0.0),
        "eta_gradient_norm": (0.0, LARGE_GRADIENT),
        "lifetime_value_rmse": (-math.inf, most_error),
    }


@dataclasses.dataclass
class Health:
    """What was said about a run so far, and the first row, which later ones are held against."""

    first: dict[str, float] = dataclasses.field(default_factory=dict)  # empty before the first row
    said: list[str] = dataclasses.field(default_factory=list)

    def look(self, row: Row, config: RunConfig, spec: TaskSpec) -> list[str]:
        """Returns the sentences that `row` gives rise to and that were not said before."""
        for name in FIRST:
            if name not in self.first and math.isfinite(row[name]):
                self.first[name] = row[name]
        first = {name: self.first.get(name, math.nan) for name in FIRST}
        found = find_signs(first, row, config, spec)
        new = [name for name in found if name not in self.said]
        self.said += new
        return [found[name] for name in new]

    def to_json(self) -> dict[str, Any]:
        """Returns what a checkpoint keeps."""
        return {"first": self.first, "said": self.said}

    @classmethod
    def from_json(cls, told: Any) -> "Health":
        """Returns what `to_json` gave; nothing yet for None, which older checkpoints tell. Raises ValueError."""
        if told is None:
            return cls()
        if not isinstance(told, dict) or set(told) != {"first", "said"}:
            raise ValueError("health must have first and said")
        first, said = told["first"], told["said"]
        if not isinstance(first, dict) or not all(
            name in FIRST and type(value) is float and math.isfinite(value) for name, value in first.items()
        ):
            raise ValueError(f"health.first must be finite numbers by column, not {first!r}")
        if not isinstance(said, list) or not all(isinstance(name, str) for name in said):
            raise ValueError(f"health.said must be names, not {said!r}")
        return cls(dict(first), list(said))


FIRST = ("theta_norm_p99", "lifetime_value_rmse")
"""The columns of the first row that later ones are held against."""
