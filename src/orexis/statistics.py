"""Honest summaries of many lifetimes: interquartile means, stratified bootstrap intervals, chances of improvement.

The measures are those of Agarwal et al. (2021, "Deep reinforcement learning at the edge of the statistical
precipice"). A *stratum* is what runs are compared within: a task, or an evaluation seed. Resampling never mixes
strata.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

NUM_RESAMPLES = 2000
LEVEL = 0.95

Statistic: TypeAlias = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Takes values f[n] and how often each counts f[R, n], returns f[R]."""


def interquartile_mean(values: np.ndarray) -> float:
    """Returns the mean of the middle half of f[n]: the lowest and the highest quarter are left out.

    Where n is not a multiple of four the values on the border count in part, so that exactly
    half of the weight is kept.
    """
    values = np.asarray(values, np.float64)
    return float(weighted_iqm(values, np.ones((1, len(values))))[0])


def weighted_iqm(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Returns f[R], the interquartile mean of f[n] with each value taken `counts` f[R, n] times."""
    order = np.argsort(values)
    ends = np.cumsum(counts[:, order], axis=1)
    total = ends[:, -1:]
    kept = np.minimum(ends, 0.75 * total) - np.maximum(ends - counts[:, order], 0.25 * total)
    return np.clip(kept, 0.0, None) @ values[order] / (0.5 * total[:, 0])


def weighted_mean(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Returns f[R], the mean of f[n] with each value taken `counts` f[R, n] times."""
    return counts @ values / counts.sum(axis=1)


def bootstrap_interval(
    values: np.ndarray,
    statistic: Statistic = weighted_mean,
    strata: np.ndarray | None = None,
    num_resamples: int = NUM_RESAMPLES,
    seed: int = 0,
    level: float = LEVEL,
) -> np.ndarray:
    """Returns the percentile bootstrap interval of a statistic over axis 0, f[2, ...] (low, high), from f[n, ...].

    Lifetimes are drawn with replacement, within their stratum (i[n], one for all if None); the columns of one lifetime
    stay together.
    """
    values = np.asarray(values, np.float64)
    columns = values.reshape(len(values), -1)
    counts = resample_counts(len(values), strata, num_resamples, seed)
    if statistic is weighted_mean:
        drawn = counts @ columns / len(values)
    else:
        drawn = np.stack([statistic(column, counts) for column in columns.T], axis=1)
    return percentile_interval(drawn, level).reshape(2, *values.shape[1:])


def ratio_interval(
    first: np.ndarray, second: np.ndarray, num_resamples: int = NUM_RESAMPLES, seed: int = 0, level: float = LEVEL
) -> np.ndarray:
    """Returns the bootstrap interval f[2] of mean over mean of f[n] and f[n], whose rows are drawn together."""
    counts = resample_counts(len(first), None, num_resamples, seed)
    return percentile_interval((counts @ first) / (counts @ second), level)


def student_interval(values: np.ndarray, level: float = LEVEL) -> np.ndarray:
    """Returns the interval f[2] of the mean of f[n], n >= 2, by Student's t: mean ± t_{n−1} · s / √n.

    For a handful of seeds, of which a bootstrap's interval would be much too narrow.
    """
    from scipy.special import stdtrit  # type: ignore[import-untyped]  # JAX brings SciPy

    values = np.asarray(values, np.float64)
    if len(values) < 2:
        raise ValueError(f"an interval needs two values or more, not {len(values)}")
    half = stdtrit(len(values) - 1, 0.5 * (1 + level)) * values.std(ddof=1) / len(values) ** 0.5
    return values.mean() + np.array([-half, half])


def resample_counts(n: int, strata: np.ndarray | None, num_resamples: int, seed: int) -> np.ndarray:
    """Returns f[R, n], how often each of n lifetimes is drawn in each resample; strata keep their sizes."""
    random = np.random.default_rng(seed)
    strata = np.zeros(n, int) if strata is None else np.asarray(strata)
    counts = np.zeros((num_resamples, n))
    for stratum in np.unique(strata):
        members = np.flatnonzero(strata == stratum)
        size = len(members)
        counts[:, members] = random.multinomial(size, np.full(size, 1.0 / size), size=num_resamples)
    return counts


def percentile_interval(drawn: np.ndarray, level: float = LEVEL) -> np.ndarray:
    """Returns f[2, ...], the middle `level` of what the resamples f[R, ...] gave."""
    return np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)


def probability_of_improvement(first: np.ndarray, second: np.ndarray) -> float:
    """Returns P(X > Y) + ½ P(X = Y) for X, Y drawn from f[n] and f[m]: the Mann–Whitney statistic U / (n·m)."""
    return float(_wins(first, second).mean())


def improvement_interval(
    first: np.ndarray, second: np.ndarray, num_resamples: int = NUM_RESAMPLES, seed: int = 0, level: float = LEVEL
) -> np.ndarray:
    """Returns the bootstrap interval f[2] of `probability_of_improvement`; both samples are resampled."""
    wins = _wins(first, second)
    rows = resample_counts(len(first), None, num_resamples, seed)
    columns = resample_counts(len(second), None, num_resamples, seed + 1)
    drawn = np.einsum("rn,rn->r", rows @ wins, columns) / wins.size
    return percentile_interval(drawn, level)


def _wins(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Returns f[n, m]: 1 where the first is larger, ½ where they are equal."""
    difference = np.asarray(first, np.float64)[:, None] - np.asarray(second, np.float64)[None, :]
    return 0.5 * (np.sign(difference) + 1.0)


def area_under_curve(values: np.ndarray) -> np.ndarray:
    """Returns f[n], the area under each curve f[n, E] by the trapezoid rule, over its width: a mean height."""
    values = np.asarray(values, np.float64)
    if values.shape[1] == 1:
        return values[:, 0]
    return np.mean(0.5 * (values[:, 1:] + values[:, :-1]), axis=1)
