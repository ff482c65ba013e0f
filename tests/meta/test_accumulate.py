"""The guard alone, with windows made by hand: what is not finite is left out, and everything else is as it was."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.meta.accumulate import Accumulated, ChunkResult, accumulate_chunks, add_in_order, all_finite
from orexis.meta.outer import WindowMetrics
from orexis.types import Last, Lifetime, Rollout, World

NUM_CHUNKS, SIZE = 4, 4
NETWORKS = {"w": np.float32(2.0)}


def make_chunks(numbers: np.ndarray) -> Lifetime:
    """Returns lifetimes [K, C] of which all that matters is a number each: what their theta is."""
    zeros = np.zeros((NUM_CHUNKS, SIZE), np.float32)
    integers = zeros.astype(np.int32)
    slots = np.arange(NUM_CHUNKS * SIZE, dtype=np.int32).reshape(NUM_CHUNKS, SIZE)
    world = World((), (), integers, integers, zeros + 1.0, Last(integers, zeros, zeros))
    return Lifetime(
        slot=slots,
        generation=10 * slots,
        age=integers,
        world=world,
        agent=numbers,
        rollout=Rollout(*[zeros] * 8),
        reward_state=zeros,
        value_state=zeros,
        extrinsic=zeros,
        episodes=integers,
    )


def live(chunk: Lifetime, counts: jax.Array) -> ChunkResult:
    """A window: theta grows by one; the gradient of w is the sum of all thetas, so one NaN makes it NaN."""
    grown = chunk.agent + 1.0
    following = jax.tree.map(lambda x: x, chunk)
    following = Lifetime(**{**vars(following), "agent": grown, "age": chunk.age + 1})
    metrics = jax.tree.map(lambda _: grown, WindowMetrics.zero())
    return ChunkResult(
        gradients={"w": jnp.sum(grown * counts)},
        following=following,
        metrics=metrics,
        norm=jnp.abs(grown),
        is_finite=jnp.isfinite(grown),
    )


@functools.partial(jax.jit, static_argnums=1)
def guarded(chunks: Lifetime, num_blocks: int) -> Accumulated:
    return accumulate_chunks(live, chunks, NETWORKS, num_blocks)


def sum_blocks(numbers: np.ndarray, num_blocks: int) -> np.ndarray:
    return numbers.reshape(num_blocks, -1).sum(axis=1)


def numbers_with(*faults: tuple[int, int, float]) -> np.ndarray:
    numbers = np.arange(NUM_CHUNKS * SIZE, dtype=np.float32).reshape(NUM_CHUNKS, SIZE)
    for chunk, place, value in faults:
        numbers[chunk, place] = value
    return numbers


@pytest.mark.parametrize("num_blocks", [1, 2, 4])
def test_without_a_fault_every_chunk_is_lived_once(num_blocks: int):
    numbers = numbers_with()
    found = guarded(make_chunks(numbers), num_blocks)
    np.testing.assert_array_equal(found.gradients["w"], sum_blocks(numbers + 1.0, num_blocks))
    np.testing.assert_array_equal(found.metrics.steps, sum_blocks(numbers + 1.0, num_blocks))
    np.testing.assert_array_equal(found.following.agent, numbers + 1.0)
    np.testing.assert_array_equal(found.following.age, np.ones((NUM_CHUNKS, SIZE)))
    np.testing.assert_array_equal(found.norm, numbers + 1.0)
    assert found.is_finite.all()
    assert (found.following.world.alive == 1.0).all()


@pytest.mark.parametrize(
    "faults",
    [
        [(1, 0, np.nan)],
        [(1, 3, np.inf)],
        [(0, 0, np.nan), (0, 1, -np.inf), (0, 3, np.nan)],
        [(0, 2, np.nan), (1, 1, np.nan), (2, 3, np.nan)],
        [(2, 0, np.nan), (2, 1, np.nan), (2, 2, np.nan), (2, 3, np.nan)],
        [(k, c, np.nan) for k in range(NUM_CHUNKS) for c in range(SIZE)],
    ],
    ids=["first", "last", "three of four", "one in each", "a whole chunk", "all"],
)
@pytest.mark.parametrize("num_blocks", [1, 2, 4])
def test_what_is_not_finite_is_left_out_and_buried_and_the_rest_is_as_it_was(faults, num_blocks: int):
    numbers = numbers_with(*faults)
    chunks = make_chunks(numbers)
    found = guarded(chunks, num_blocks)
    is_finite = np.isfinite(numbers)
    np.testing.assert_array_equal(found.is_finite, is_finite)
    expected = sum_blocks(np.where(is_finite, numbers + 1.0, 0.0), num_blocks)
    np.testing.assert_array_equal(found.gradients["w"], expected)
    np.testing.assert_array_equal(found.metrics.extrinsic, expected)
    np.testing.assert_array_equal(found.following.agent[is_finite], (numbers + 1.0)[is_finite])
    np.testing.assert_array_equal(found.following.world.alive, is_finite)
    np.testing.assert_array_equal(found.following.slot, chunks.slot)
    np.testing.assert_array_equal(found.following.generation, chunks.generation)
    np.testing.assert_array_equal(np.isnan(found.norm), ~is_finite)


def test_a_fault_that_only_the_gradient_shows_reaches_the_meta_gradient():
    # If nobody can be blamed, nobody is left out: the update is then skipped as a whole.
    def blind(chunk: Lifetime, counts: jax.Array) -> ChunkResult:
        lived = live(chunk, counts)
        return ChunkResult(**{**vars(lived), "is_finite": jnp.ones(SIZE, bool)})

    chunks = make_chunks(numbers_with((1, 2, np.nan)))
    found = jax.jit(lambda chunks: accumulate_chunks(blind, chunks, NETWORKS, NUM_CHUNKS))(chunks)
    np.testing.assert_array_equal(np.isnan(found.gradients["w"]), [False, True, False, False])


def test_rows_are_added_from_the_first_to_the_last():
    rows = np.float32([1e8, 1.0, -1e8, 1.0])  # ((1e8 + 1) − 1e8) + 1 = 1 in float32; 1 + 1 = 2 in any other order
    assert float(jax.jit(add_in_order)({"x": rows})["x"]) == 1.0
    np.testing.assert_array_equal(add_in_order(np.float32([[1, 2], [3, 4]])), [4, 6])


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        ({"a": np.ones(3), "b": (np.int32(2), np.zeros((2, 2)))}, True),
        ({"a": np.ones(3), "b": np.array([0.0, np.nan])}, False),
        ({"a": np.float32(np.inf)}, False),
        ({"a": np.int32(5)}, True),
    ],
)
def test_all_finite(tree, expected):
    assert bool(all_finite(tree)) is expected
