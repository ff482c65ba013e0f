"""Gradients added up over chunks of lifetimes, those that are not finite left out and started again.

One chunk's forward and backward pass at a time stays in cache, so a device's lifetimes are a loop over chunks. A theta
that has diverged would make NaN of every sum it enters, the meta-gradient first of all. So each chunk is looked at
after its window. If all of its lifetimes are finite, as they nearly always are, that was that. If not, the same
program runs over the chunk once more, the place of each that was not finite taken by a copy of a finite neighbour that
counts nothing: its random numbers are the neighbour's too, so it is as finite as the neighbour was.

    while chunks are left:   run the window of chunk i ──all finite─► keep the result, i + 1
                                        ▲                   │ not all, first try
                                        └── replace them ◄──┘

The loop is the one that runs over chunks anyway: the second try compiles nothing twice, and without a fault it costs
the looking alone.
"""

import dataclasses
import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from orexis.meta.outer import WindowMetrics
from orexis.types import Lifetime, PyTree, record


@record
class ChunkResult:
    """What the window made of a chunk of C lifetimes."""

    gradients: PyTree  # summed over the lifetimes that count
    following: Lifetime  # [C]
    metrics: WindowMetrics  # f32[C] each
    norm: jax.Array  # f32[C]  of theta
    is_finite: jax.Array  # bool[C]  finite, the gradient's share included


@record
class Accumulated:
    """The same for K chunks in B blocks, with those that were not finite left out."""

    gradients: PyTree  # leading B: the chunks of a block added in their order
    following: Lifetime  # [K, C]; those left out are dead, so that they are replaced by newborns
    metrics: WindowMetrics  # f32[B] each, likewise
    norm: jax.Array  # f32[K, C]; NaN for those left out
    is_finite: jax.Array  # bool[K, C]


def accumulate_chunks(
    run_chunk: Callable[[Lifetime, jax.Array], ChunkResult], chunks: Lifetime, networks: PyTree, num_blocks: int
) -> Accumulated:
    """Returns what the window makes of `chunks` [K, C], chunk by chunk, `num_blocks` blocks of equally many.

    run_chunk: what it makes of one chunk, given the lifetimes [C] and f32[C], 1 where one counts and else 0.
    networks: what the gradients are with respect to.
    """
    num_chunks, size = chunks.slot.shape
    everyone = jnp.ones(size, bool)

    def run_one(carry):
        number, counted, results = carry
        lifetimes = results.following
        # A copy of one that counts stands in for each that does not: chosen while the chunk is copied anyway.
        places = jnp.where(counted, jnp.arange(size), jnp.argmax(counted))
        chunk = jax.tree.map(lambda x: x[number, places], lifetimes)
        result = run_chunk(chunk, jnp.where(counted, 1.0, 0.0))
        is_finite = counted & result.is_finite
        again = jnp.all(counted) & jnp.any(is_finite) & ~jnp.all(is_finite)
        following = _restart(result.following, lifetimes.slot[number], lifetimes.generation[number], is_finite)
        # Before a second try all of the chunk counted: `chunk` is what it was, and its gradients do not count yet.
        following = jax.tree.map(lambda old, new: jnp.where(again, old, new), chunk, following)
        added = jnp.any(is_finite) & ~again
        gradients = jax.tree.map(lambda g: jnp.where(added, g, 0.0), result.gradients)
        metrics = jax.tree.map(lambda x: jnp.sum(jnp.where(is_finite & added, x, 0.0)), result.metrics)
        block = number // (num_chunks // num_blocks)

        def write(rows: jax.Array, row: jax.Array) -> jax.Array:
            return jax.lax.dynamic_update_index_in_dim(rows, row, number, 0)

        def add(rows: jax.Array, row: jax.Array) -> jax.Array:
            return jax.lax.dynamic_update_index_in_dim(rows, rows[block] + row, block, 0)

        results = Accumulated(
            gradients=jax.tree.map(add, results.gradients, gradients),
            following=jax.tree.map(write, lifetimes, following),
            metrics=jax.tree.map(add, results.metrics, metrics),
            norm=write(results.norm, jnp.where(is_finite, result.norm, jnp.nan)),
            is_finite=write(results.is_finite, is_finite),
        )
        return jnp.where(again, number, number + 1), jnp.where(again, is_finite, everyone), results

    begun = Accumulated(
        gradients=jax.tree.map(lambda x: jnp.zeros((num_blocks, *x.shape), x.dtype), networks),
        following=chunks,  # each is overwritten by what becomes of it: no second copy of all thetas
        metrics=jax.tree.map(lambda _: jnp.zeros(num_blocks), WindowMetrics.zero()),
        norm=jnp.zeros((num_chunks, size)),
        is_finite=jnp.zeros((num_chunks, size), bool),
    )
    start = (jnp.zeros((), jnp.int32), everyone, begun)
    return jax.lax.while_loop(lambda carry: carry[0] < num_chunks, run_one, start)[2]


def add_in_order(rows: PyTree) -> PyTree:
    """Returns the sum over the leading axis, from the first row to the last: the same bits however rows came about."""
    return jax.tree.map(lambda x: functools.reduce(jnp.add, [x[i] for i in range(x.shape[0])]), rows)


def all_finite(tree: PyTree) -> jax.Array:
    """Returns whether every float of `tree` is finite, bool[]."""
    floats = [x for x in jax.tree.leaves(tree) if jnp.issubdtype(x.dtype, jnp.floating)]
    return jnp.all(jnp.array([jnp.all(jnp.isfinite(x)) for x in floats]))


def _restart(following: Lifetime, slot: jax.Array, generation: jax.Array, is_finite: jax.Array) -> Lifetime:
    """Returns `following` with the lifetimes that are not finite dead, each in its own slot."""
    world = dataclasses.replace(following.world, alive=jnp.where(is_finite, following.world.alive, 0.0))
    return dataclasses.replace(following, slot=slot, generation=generation, world=world)


def gather(tree: PyTree, axis: str) -> PyTree:
    """Returns the leaves of all devices, joined along their first axes.

    One message, not one for each leaf: between processes every message costs about a millisecond.
    All travel as the widest of their types: truths and small counts go through a float unharmed.
    """
    mine, unravel = ravel_pytree(tree)
    everyone = jax.vmap(unravel)(jax.lax.all_gather(mine, axis))
    return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), everyone)
