"""Lifetimes that are not finite: found, left out of the average, started again.

One theta that has diverged makes NaN of every sum it enters, the meta-gradient first of all. So each chunk of
lifetimes is looked at after its window. If all are finite, as they nearly always are, that was that. If not,
the same program runs over the chunk once more, the place of each that was not finite taken by a copy of a sound
neighbour that counts nothing: its random numbers are the neighbour's too, so it is as finite as the neighbour was.

    while chunks are left:   live the window of chunk i ──all sound──► keep the result, i + 1
                                        ▲                   │ not all, first try
                                        └── replace them ◄──┘

The loop is the one that runs over chunks anyway: the guard compiles nothing twice, and without a fault it costs
the looking alone.
"""

import dataclasses
import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp

from orexis.meta.outer import WindowMetrics
from orexis.types import Lifetime, PyTree, record


@record
class Lived:
    """What the window made of a chunk of C lifetimes."""

    gradients: PyTree  # summed over the lifetimes that count
    following: Lifetime  # [C]
    metrics: WindowMetrics  # f32[C] each
    norm: jax.Array  # f32[C]  of theta
    sound: jax.Array  # bool[C]  finite, the gradient's share included


@record
class Guarded:
    """The same for K chunks in B blocks, with those that were not sound left out."""

    gradients: PyTree  # leading B: the chunks of a block added in their order
    following: Lifetime  # [K, C]; those left out are dead, so that they are replaced by newborns
    metrics: WindowMetrics  # f32[B] each, likewise
    norm: jax.Array  # f32[K, C]; NaN for those left out
    sound: jax.Array  # bool[K, C]


def live_chunks(
    live: Callable[[Lifetime, jax.Array], Lived], chunks: Lifetime, networks: PyTree, num_blocks: int
) -> Guarded:
    """Returns what the window makes of `chunks` [K, C], chunk by chunk, `num_blocks` blocks of equally many.

    live: what it makes of one chunk, given the lifetimes [C] and f32[C], 1 where one counts and else 0.
    networks: what the gradients are with respect to.
    """
    num_chunks, size = chunks.slot.shape
    everyone = jnp.ones(size, bool)

    def live_one(carry):
        number, counted, results = carry
        lifetimes = results.following
        # A copy of one that counts stands in for each that does not: chosen while the chunk is copied anyway.
        places = jnp.where(counted, jnp.arange(size), jnp.argmax(counted))
        chunk = jax.tree.map(lambda x: x[number, places], lifetimes)
        lived = live(chunk, jnp.where(counted, 1.0, 0.0))
        sound = counted & lived.sound
        again = jnp.all(counted) & jnp.any(sound) & ~jnp.all(sound)
        following = _bury(lived.following, lifetimes.slot[number], lifetimes.generation[number], sound)
        # Before a second try all of the chunk counted: `chunk` is what it was, and its gradients do not count yet.
        following = jax.tree.map(lambda old, new: jnp.where(again, old, new), chunk, following)
        added = jnp.any(sound) & ~again
        gradients = jax.tree.map(lambda g: jnp.where(added, g, 0.0), lived.gradients)
        metrics = jax.tree.map(lambda x: jnp.sum(jnp.where(sound & added, x, 0.0)), lived.metrics)
        block = number // (num_chunks // num_blocks)

        def write(rows: jax.Array, row: jax.Array) -> jax.Array:
            return jax.lax.dynamic_update_index_in_dim(rows, row, number, 0)

        def add(rows: jax.Array, row: jax.Array) -> jax.Array:
            return jax.lax.dynamic_update_index_in_dim(rows, rows[block] + row, block, 0)

        results = Guarded(
            gradients=jax.tree.map(add, results.gradients, gradients),
            following=jax.tree.map(write, lifetimes, following),
            metrics=jax.tree.map(add, results.metrics, metrics),
            norm=write(results.norm, jnp.where(sound, lived.norm, jnp.nan)),
            sound=write(results.sound, sound),
        )
        return jnp.where(again, number, number + 1), jnp.where(again, sound, everyone), results

    begun = Guarded(
        gradients=jax.tree.map(lambda x: jnp.zeros((num_blocks, *x.shape), x.dtype), networks),
        following=chunks,  # each is overwritten by what becomes of it: no second copy of all thetas
        metrics=jax.tree.map(lambda _: jnp.zeros(num_blocks), WindowMetrics.zero()),
        norm=jnp.zeros((num_chunks, size)),
        sound=jnp.zeros((num_chunks, size), bool),
    )
    start = (jnp.zeros((), jnp.int32), everyone, begun)
    return jax.lax.while_loop(lambda carry: carry[0] < num_chunks, live_one, start)[2]


def add_in_order(rows: PyTree) -> PyTree:
    """Returns the sum over the leading axis, from the first row to the last: the same bits however rows came about."""
    return jax.tree.map(lambda x: functools.reduce(jnp.add, [x[i] for i in range(x.shape[0])]), rows)


def all_finite(tree: PyTree) -> jax.Array:
    """Returns whether every float of `tree` is finite, bool[]."""
    floats = [x for x in jax.tree.leaves(tree) if jnp.issubdtype(x.dtype, jnp.floating)]
    return jnp.all(jnp.array([jnp.all(jnp.isfinite(x)) for x in floats]))


def _bury(following: Lifetime, slot: jax.Array, generation: jax.Array, sound: jax.Array) -> Lifetime:
    """Returns `following` with the lifetimes that are not sound dead, each in its own slot."""
    world = dataclasses.replace(following.world, alive=jnp.where(sound, following.world.alive, 0.0))
    return dataclasses.replace(following, slot=slot, generation=generation, world=world)
