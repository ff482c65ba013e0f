"""The columns of metrics.csv: what each is, and where it is healthy. docs/metrics.md and the viewer read it here."""

import csv
import dataclasses
from pathlib import Path
from typing import Literal

import numpy as np

from orexis.errors import BadDataError

HEALTHY_ON = "random-abc"
"""The task whose healthy ranges are told, with the tuned recipe."""


@dataclasses.dataclass(frozen=True)
class Column:
    """One logged number."""

    name: str
    meaning: str
    healthy: str = ""  # on Random ABC
    band: tuple[float, float] | None = None  # the same as a range, where it is one
    merged: Literal["mean", "max", "sum", "last"] = "mean"  # how rows are merged where all are too many to be drawn


METRICS: tuple[Column, ...] = (
    Column("update", "updates of the reward so far", merged="last"),
    Column(
        "env_steps",
        "environment steps inside lifetimes so far, over all lifetimes",
        "about 1150 an update with 64 lifetimes",
        merged="last",
    ),
    Column("wall_s", "seconds of training, over all resumes, without compiling", merged="last"),
    Column("reward_per_step", "mean extrinsic reward of a step", "rises from 0 to about 0.05"),
    Column(
        "episode_return",
        "extrinsic reward divided by the episodes that ended: mean over agents of all ages",
        "the training curve; 0.26–0.31 when learned",
        (0.26, 0.31),
    ),
    Column(
        "lifetime_return",
        "mean total extrinsic return of the lifetimes that ended in these updates, first generation left out; divide "
        "by 50 for the mean of an episode",
        "empty before the first whole lifetime has ended",
    ),
    Column(
        "finished_share",
        "share of lifetimes that ended, per update",
        "about 1/15: constant, because ages are staggered. A wave means that lifetimes run in phase",
    ),
    Column(
        "policy_entropy",
        "mean entropy of the policies that acted, nats (uniform over four actions: 1.386)",
        "falls to 0.7–0.9. Near 0: policies have collapsed",
        (0.7, 0.9),
    ),
    Column(
        "intrinsic_magnitude",
        "mean absolute intrinsic reward",
        "0.2–0.35. At 1.5 arctan is saturated: something diverges",
        (0.2, 0.35),
    ),
    Column(
        "lifetime_value_rmse",
        "root mean squared error of the lifetime value against its n-step target",
        "0.3 at the start (nothing to predict), 1.1–1.3 later. A jump means that the value has lost track",
        (0.3, 1.3),
    ),
    Column("policy_loss", "the policy's part of the outer loss, per lifetime", "no target value"),
    Column("value_loss", "the lifetime value's part of the outer loss, per lifetime", "no target value"),
    Column("eta_gradient_norm", "norm of the raw meta-gradient, before Adam", "1–5, never 0, never NaN", (1.0, 5.0)),
    Column("phi_gradient_norm", "norm of the lifetime value's gradient"),
    Column("theta_norm_mean", "norm of theta, mean over lifetimes", "20.2"),
    Column(
        "theta_norm_p99",
        "norm of theta, 99th percentile over lifetimes, the largest of the row",
        "20.4; more than five times its first value means diverging agents",
        merged="max",
    ),
    Column(
        "recorded_value_max",
        "largest value estimate of any agent in its last rollout, absolute",
        "1–5. The first sign of a diverging inner critic",
        (1.0, 5.0),
        merged="max",
    ),
    Column(
        "skipped_updates",
        "updates thrown away because the meta-gradient, or the learner itself, was not finite",
        "0",
        merged="sum",
    ),
    Column(
        "dropped_lifetimes",
        "lifetimes that were not finite: left out of the average and started again",
        "0",
        merged="sum",
    ),
    Column("entropy_cost", "where the schedule of the outer entropy cost stands"),
    Column("reward_learning_rate", "where the schedule of eta's learning rate stands"),
    Column(
        "validation_return",
        "what fresh agents collect in an episode under the averaged reward, mean over the validation lifetimes. In the "
        "row of the update that was validated (the last one, if a row had several), empty elsewhere",
        "rises; 0.30–0.35 when learned",
        (0.30, 0.35),
    ),
    Column(
        "validation_last_tenth",
        "the same over the last tenth of the lifetime's episodes",
        "rises; 0.35–0.39 when learned",
        (0.35, 0.39),
    ),
)
"""In the order of the file."""


def read_metrics(path: Path) -> dict[str, np.ndarray]:
    """Returns the columns of a metrics.csv, f[rows] each, NaN for an empty cell. Raises BadDataError."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        return {name: np.array([float("nan" if row[name] == "" else row[name]) for row in rows]) for name in rows[0]}
    except (OSError, ValueError, TypeError, IndexError) as error:
        raise BadDataError(f"{path} cannot be read: {error}; train again, or remove the folder") from error
