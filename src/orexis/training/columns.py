"""The columns of metrics.csv: what each one is, where it lies in a healthy run, and reading them back. Needs no JAX.

What shows a column takes its words from here: docs/reference/metrics.md, the curves of `orexis plot`, the page of
`orexis view`.
"""

import csv
import dataclasses
import io
from pathlib import Path
from typing import Literal

import numpy as np

from orexis.errors import BadDataError
from orexis.storage.reading import DamagedError, read_bounded

HEALTHY_ON = "random-abc"
"""The task whose healthy ranges are told, with the tuned recipe."""
MAX_BYTES = 512 * 2**20
"""Of a metrics.csv: more than two million rows."""


@dataclasses.dataclass(frozen=True)
class Column:
    """One column of metrics.csv."""

    name: str
    meaning: str  # one sentence or two, in the Markdown of docs/reference/metrics.md
    healthy: str = ""  # on Random ABC, and what it means to be elsewhere; "" where there is nothing to say
    heading: str = ""  # a few words for the panel of a figure; "" where it is no curve
    band: tuple[float, float] | None = None  # `healthy` as a range, where it is one
    merged: Literal["mean", "max", "sum", "last"] = "mean"  # how rows are merged where all are too many to be drawn

    def __post_init__(self) -> None:
        if not self.name.isidentifier() or not self.meaning or "|" in self.meaning + self.healthy:
            raise ValueError(f"{self.name!r} must be a name, with a meaning, without bars: it is a row of a table")


COLUMNS: tuple[Column, ...] = (
    Column("update", "updates of the reward so far", merged="last"),
    Column(
        "env_steps",
        "environment steps inside lifetimes so far, over all lifetimes",
        "about 1240 an update with 64 lifetimes",
        merged="last",
    ),
    Column("wall_s", "seconds of training, over all resumes, without compiling", merged="last"),
    Column(
        "reward_per_step",
        "mean extrinsic reward of a step",
        "rises from 0 to about 0.05",
        "extrinsic reward of a step",
    ),
    Column(
        "episode_return",
        "extrinsic reward divided by the episodes that ended: mean over agents of all ages",
        "the training curve; 0.26–0.31 when learned",
        "extrinsic return of an episode",
        band=(0.26, 0.31),
    ),
    Column(
        "lifetime_return",
        "mean total extrinsic return of the lifetimes that ended in these updates, first generation left out; "
        "divide by 50 for the mean of an episode",
        "empty before the first whole lifetime has ended",
        "extrinsic return of a lifetime",
    ),
    Column(
        "finished_share",
        "share of lifetimes that ended, per update",
        "about 1/15: constant, because ages are staggered. A wave means that lifetimes run in phase",
        "lifetimes that ended, share",
    ),
    Column(
        "policy_entropy",
        "mean entropy of the policies that acted, nats (uniform over four actions: 1.386)",
        "falls to 0.7–0.9. Near 0: policies have collapsed",
        "entropy of the policies, nats",
        band=(0.7, 0.9),
    ),
    Column(
        "intrinsic_magnitude",
        "mean absolute intrinsic reward",
        "0.2–0.35. At 1.5 arctan is saturated: something diverges",
        "size of intrinsic rewards",
        band=(0.2, 0.35),
    ),
    Column(
        "lifetime_value_rmse",
        "root mean squared error of the lifetime value against its n-step target",
        "0.3 at the start (nothing to predict), 1.1–1.3 later. A jump means that the value has lost track",
        "lifetime value, RMSE",
        band=(0.3, 1.3),
    ),
    Column("policy_loss", "the policy's part of the outer loss, per lifetime", "no target value", "outer policy loss"),
    Column("value_loss", "the value's part of the outer loss, per lifetime", "no target value", "outer value loss"),
    Column(
        "eta_gradient_norm",
        "norm of the raw meta-gradient, before Adam",
        "1–5, never 0, never NaN",
        "norm of the meta-gradient",
        band=(1.0, 5.0),
    ),
    Column("phi_gradient_norm", "norm of the lifetime value's gradient", heading="norm of phi's gradient"),
    Column("theta_norm_mean", "norm of theta, mean over lifetimes", "20.2", "norm of theta, mean"),
    Column(
        "theta_norm_p99",
        "norm of theta, 99th percentile over lifetimes, largest of the row; of `--learn rl2` the norm of the memory, "
        "which fills while the policy learns to use it",
        "20.4; more than five times its first value means diverging agents",
        "norm of theta, 99th perc.",
        merged="max",
    ),
    Column(
        "recorded_value_max",
        "largest value estimate of any agent in its last rollout, absolute",
        "1–5. The first sign of a diverging inner critic",
        "largest value of an agent",
        band=(1.0, 5.0),
        merged="max",
    ),
    Column(
        "skipped_updates",
        "updates thrown away because the meta-gradient, or the learner itself, was not finite",
        "0",
        "skipped updates",
        merged="sum",
    ),
    Column(
        "dropped_lifetimes",
        "lifetimes that were not finite: left out of the average and started again",
        "0",
        "dropped lifetimes",
        merged="sum",
    ),
    Column("entropy_cost", "where its schedule stands", heading="entropy cost"),
    Column("reward_learning_rate", "where its schedule stands", heading="learning rate of the reward"),
    Column(
        "validation_return",
        "what fresh agents collect in an episode under the averaged reward, mean over the validation lifetimes. "
        "In the row of the update that was validated (the last one, if a row had several), empty elsewhere",
        "rises; 0.30–0.35 when learned",
        "validation return",
        band=(0.3, 0.35),
    ),
    Column(
        "validation_last_tenth",
        "the same over the last tenth of each lifetime's episodes: what its agents have learned to collect",
        "rises; 0.35–0.39 when learned",
        "validation, last tenth",
        band=(0.35, 0.39),
    ),
)
"""In the order of the file."""

NAMES: tuple[str, ...] = tuple(column.name for column in COLUMNS)
HEADINGS: dict[str, str] = {column.name: column.heading for column in COLUMNS if column.heading}
"""Of the columns that are curves."""


def read_metrics(path: Path) -> dict[str, np.ndarray]:
    """Returns the columns of a metrics.csv, f[rows] each, NaN for an empty cell; a line that is not ended yet is none.

    Raises BadDataError if it cannot be read; a file of an earlier version has the columns that it has.
    """
    try:
        data = read_bounded(path, MAX_BYTES)
        text = data[: data.rfind(b"\n") + 1].decode()
        lines = list(csv.reader(io.StringIO(text), strict=True))
        header, rows = lines[0] if lines else [], lines[1:]
        if "update" not in header or len(set(header)) < len(header):
            raise ValueError(f"it begins with {text[:40]!r}, not with the names of columns")
        cells = [[float(cell or "nan") for cell in row] for row in rows]
        values = np.array(cells, np.float64).reshape(len(rows), len(header))
    except (DamagedError, ValueError, csv.Error) as error:
        raise BadDataError(f"{path} cannot be read: {error}; orexis doctor {path.parent} tells more") from error
    return dict(zip(header, values.T, strict=True))
