"""Honest summaries of many lifetimes: interquartile means and bootstrap intervals."""

import numpy as np


def interquartile_mean(values: np.ndarray) -> float:
    """Returns the mean of the middle half of f[n]: the lowest and the highest quarter are left out.

    Where n is not a multiple of four the values on the border count in part, so that exactly
    half of the weight is kept.
    """
    ordered = np.sort(np.asarray(values, np.float64))
    n = len(ordered)
    edges = np.arange(n + 1) / n
    weights = np.clip(np.minimum(edges[1:], 0.75) - np.maximum(edges[:-1], 0.25), 0.0, None)
    return float(np.sum(weights * ordered) / 0.5)


def bootstrap_interval(values: np.ndarray, num_resamples: int = 2000, seed: int = 0, level: float = 0.95) -> np.ndarray:
    """Returns the percentile bootstrap interval of the mean over axis 0, f[2, ...] (low, high), from f[n, ...].

    Lifetimes are drawn with replacement; the columns of one lifetime stay together.
    """
    values = np.asarray(values, np.float64)
    n = len(values)
    counts = np.random.default_rng(seed).multinomial(n, np.full(n, 1.0 / n), size=num_resamples)
    means = (counts / n) @ values.reshape(n, -1)
    ends = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return ends.reshape(2, *values.shape[1:])
