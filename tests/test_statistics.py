"""Statistics against arithmetic by hand and against SciPy, whose `trim_mean` and `mannwhitneyu` are what rliable
(Agarwal et al., 2021) calls for the interquartile mean and the probability of improvement.
"""

import numpy as np
import pytest
import scipy.stats

from orexis.statistics import (
    area_under_curve,
    bootstrap_interval,
    improvement_interval,
    interquartile_mean,
    probability_of_improvement,
    ratio_interval,
    resample_counts,
    student_interval,
    weighted_iqm,
)

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([8.0, 1.0, 3.0, 2.0], 2.5),  # 1 and 8 are left out
        ([5.0], 5.0),
        ([0.0, 10.0], 5.0),  # half of each
        ([0.0, 1.0, 2.0, 3.0, 100.0], 2.0),  # 1.25 off each end: (0.75·1 + 2 + 0.75·3) / 2.5 = 5 / 2.5
        ([1.0, 2.0, 30.0], 6.5),  # 0.75 off each end: (0.25·1 + 2 + 0.25·30) / 1.5 = 9.75 / 1.5
    ],
)
def test_the_interquartile_mean_by_hand(values, expected):
    assert interquartile_mean(np.array(values)) == pytest.approx(expected)


@pytest.mark.parametrize("n", [4, 20, 256])
def test_the_interquartile_mean_is_scipys_trimmed_mean_where_a_quarter_is_a_whole_number(n: int):
    values = RANDOM.standard_cauchy(n)
    assert interquartile_mean(values) == pytest.approx(scipy.stats.trim_mean(values, 0.25), rel=1e-12)


def test_counting_a_value_twice_is_having_it_twice():
    values, counts = np.array([3.0, -1.0, 7.0, 2.0, 5.0]), np.array([[2.0, 0.0, 1.0, 3.0, 1.0]])
    repeated = np.repeat(values, counts[0].astype(int))
    assert weighted_iqm(values, counts)[0] == pytest.approx(interquartile_mean(repeated))


def test_the_bootstrap_interval_of_two_values_by_hand():
    # Of {0, 1} two are drawn: means 0, ½, 1 with chances ¼, ½, ¼. The middle 40 % are all ½, the middle 95 % all three.
    values = np.array([0.0, 1.0])
    np.testing.assert_array_equal(bootstrap_interval(values, level=0.4), [0.5, 0.5])
    np.testing.assert_array_equal(bootstrap_interval(values), [0.0, 1.0])


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [({}, np.mean), ({"statistic": weighted_iqm}, lambda x, axis: scipy.stats.trim_mean(x, 0.25, axis))],
)
def test_the_bootstrap_interval_is_scipys(ours, theirs):
    values = RANDOM.exponential(size=100)
    expected = scipy.stats.bootstrap(
        (values,), theirs, n_resamples=20_000, method="percentile", rng=np.random.default_rng(1), vectorized=True
    ).confidence_interval
    found = bootstrap_interval(values, num_resamples=20_000, **ours)
    np.testing.assert_allclose(found, [expected.low, expected.high], atol=0.05 * (expected.high - expected.low))


def test_the_interval_of_a_ratio_resamples_both_together():
    random = np.random.default_rng(3)
    second = random.uniform(1.0, 3.0, 60)
    np.testing.assert_allclose(ratio_interval(0.8 * second, second), [0.8, 0.8])  # apart they would not cancel
    first = second * random.uniform(0.5, 1.0, 60)
    expected = scipy.stats.bootstrap(
        (first, second), lambda a, b, axis: a.mean(axis) / b.mean(axis), paired=True, method="percentile", rng=0
    ).confidence_interval
    np.testing.assert_allclose(ratio_interval(first, second, num_resamples=20_000), expected, atol=2e-3)


def test_columns_of_a_lifetime_stay_together():
    values = RANDOM.normal(size=(50, 3))
    both = bootstrap_interval(np.stack([values, 2 * values], axis=-1))
    np.testing.assert_allclose(both[..., 1], 2 * both[..., 0])
    np.testing.assert_allclose(bootstrap_interval(values), both[..., 0])


def test_resampling_never_mixes_strata():
    strata = np.array([0, 1, 0, 1, 1])
    counts = resample_counts(5, strata, 200, seed=0)
    np.testing.assert_array_equal(counts[:, strata == 0].sum(axis=1), 2.0)
    np.testing.assert_array_equal(counts[:, strata == 1].sum(axis=1), 3.0)
    values = np.array([0.0, 10.0, 0.0, 10.0, 10.0])  # constant within strata: nothing is left to chance
    np.testing.assert_allclose(bootstrap_interval(values, strata=strata), [6.0, 6.0])
    assert bootstrap_interval(values)[0] < 6.0


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([1.0, 2.0], [0.0], 1.0),
        ([1.0], [1.0], 0.5),
        ([0.0, 1.0], [1.0, 2.0, 3.0], 1 / 12),  # six pairs, one tie: ½ / 6
    ],
)
def test_the_probability_of_improvement_by_hand(first, second, expected):
    assert probability_of_improvement(np.array(first), np.array(second)) == pytest.approx(expected)


def test_the_probability_of_improvement_is_scipys_mann_whitney_statistic():
    first, second = RANDOM.integers(0, 9, 30).astype(float), RANDOM.integers(1, 8, 40).astype(float)
    expected = scipy.stats.mannwhitneyu(first, second).statistic / (30 * 40)
    assert probability_of_improvement(first, second) == pytest.approx(expected)
    assert probability_of_improvement(second, first) == pytest.approx(1 - expected)
    low, high = improvement_interval(first, second)
    assert low < expected < high
    assert np.ptp(improvement_interval(np.array([2.0, 3.0]), np.array([0.0, 1.0]))) == 0.0


def test_the_area_under_a_curve_by_hand():
    # (0 + 1)/2 = 0.5 and (1 + 0)/2 = 0.5, over two intervals; a line from 0 to 2 is 1 high on average
    np.testing.assert_allclose(area_under_curve(np.array([[0.0, 1.0, 0.0], [0.0, 1.0, 2.0]])), [0.5, 1.0])
    np.testing.assert_allclose(area_under_curve(np.array([[3.0]])), [3.0])


def test_an_interval_by_students_t_is_that_of_the_tables():
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    # mean 3, s = sqrt(2.5), t of four degrees of freedom 2.776445
    half = 2.776445 * (2.5 / 5) ** 0.5
    np.testing.assert_allclose(student_interval(values), [3 - half, 3 + half], rtol=1e-6)
    with pytest.raises(ValueError, match="two values or more, not 1"):
        student_interval(values[:1])
