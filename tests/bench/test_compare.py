"""The benchmark's own arithmetic; its timings are nobody's business here."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.bench.compare import Setting
from orexis.bench.worker import config_of, count_matmul_flops
from orexis.figures.scaling import scaling_figure
from orexis.networks import layers
from orexis.presets import PAPER_TASKS, TUNED, preset
from orexis.reference.naive import Naive
from orexis.tasks.abc import ABC_MAP, RandomABC, abc_map

ONE = 2 * 3 * 4 * 5  # flops of [3, 4]·[4, 5]


def flops(function, num_chunks: int = 1) -> float:
    x, w = jnp.ones((3, 4)), jnp.ones((4, 5))
    return count_matmul_flops(jax.make_jaxpr(function)(x, w).jaxpr, num_chunks)


def test_matmuls_are_counted_through_batches_scans_and_the_loop_over_chunks():
    def repeated(x, w):
        return jax.lax.scan(lambda carry, _: (carry, x @ w), 0, None, length=7)[1]

    def chunked(x, w):
        body = lambda i, total: total + jnp.sum(repeated(x, w))  # noqa: E731
        return jax.lax.fori_loop(0, jnp.int32(jnp.sum(x)), body, 0.0)

    assert flops(lambda x, w: x @ w) == ONE
    assert flops(lambda x, w: jax.vmap(lambda row: row @ w)(x)) == ONE
    assert flops(lambda x, w: jax.jit(repeated)(x, w)) == 7 * ONE
    assert flops(chunked, num_chunks=3) == 3 * 7 * ONE
    assert flops(lambda x, w: x + 1.0) == 0


def test_products_that_nobody_uses_are_not_counted():
    def gradient_of_x(x, w):
        """x·W, and g·Wᵀ; W's own gradient is made by the rule of `times`, and dropped."""
        return jax.grad(lambda x: jnp.sum(jnp.sin(layers.times(x, w))))(x)

    assert flops(gradient_of_x) == 2 * ONE
    assert flops(lambda x, w: jax.grad(lambda w: jnp.sum(jnp.sin(layers.times(x, w))))(w)) == 2 * ONE


@pytest.mark.parametrize("task", [*TUNED, "my_module:Mine"])
def test_the_reference_knows_all_that_it_is_measured_with_and_the_tuned_recipe_is_measured_too(task: str):
    Naive(RandomABC(), config_of(Setting(task)))
    assert config_of(Setting(task, recipe="tuned")) == preset(task)
    if task in PAPER_TASKS:
        assert config_of(Setting(task)) == preset(task, "paper")


def test_convolutions_are_counted():
    image, kernel = jnp.ones((1, 6, 6, 2)), jnp.ones((3, 3, 2, 8))
    numbers = ("NHWC", "HWIO", "NHWC")
    convolve = lambda x, k: jax.lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=numbers)  # noqa: E731
    assert count_matmul_flops(jax.make_jaxpr(convolve)(image, kernel).jaxpr, 1) == 2 * 36 * 8 * 9 * 2


def test_rooms_of_other_sizes_are_the_papers_grown():
    assert abc_map(5) == ABC_MAP
    assert RandomABC(drawing=abc_map(9)).spec.observation_shape == (9, 9, 4)
    for size in (1, 4):
        with pytest.raises(ValueError, match="odd number of rows"):
            abc_map(size)


def test_the_figure_draws_every_point():
    figure = scaling_figure({"lifetimes": ([16, 64], [10.0, 41.0]), "grid": ([5, 7], [40.0, 70.0])})
    for panel, (values, times) in zip(figure.axes, (([16, 64], [10.0, 41.0]), ([5, 7], [40.0, 70.0])), strict=True):
        drawn = [line for line in panel.lines if line.get_marker() == "o"]
        assert len(drawn) == 1
        np.testing.assert_array_equal(drawn[0].get_xdata(), values)
        np.testing.assert_array_equal(drawn[0].get_ydata(), times)
