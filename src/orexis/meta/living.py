"""Whole lifetimes with nothing meta-learned: any agent, paid by any reward source, from birth to death.

This is what evaluation runs. Lifetimes are numbered, and number i of a seed is the same task,
the same theta and the same dice whatever the batch, the device or the reward source.
"""

import functools
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec

from orexis.agents.base import Agent
from orexis.meta.rollout import collect
from orexis.rewards.base import RewardSource
from orexis.tasks.base import Task, begin_world
from orexis.types import PyTree, Rollout, Steps, record

EVALUATION_STREAM = 0x0E7A1  # apart from the slots of training, which count from zero


@record
class Episodes:
    """One row for each episode of a lifetime."""

    extrinsic: jax.Array  # f32[E]  return, undiscounted
    intrinsic: jax.Array  # f32[E]  sum of what the reward source paid
    length: jax.Array  # f32[E]
    entropy: jax.Array  # f32[E]  summed over steps; divide by length
    outcome: jax.Array  # i32[E]  see `Task.outcomes`; -1: the time limit ended it

    @classmethod
    def empty(cls, num_episodes: int) -> "Episodes":
        zeros = jnp.zeros(num_episodes)
        return cls(zeros, zeros, zeros, zeros, -jnp.ones(num_episodes, jnp.int32))


def record_rollout(table: Episodes, rollout: Rollout, steps: Steps, rewards: jax.Array) -> Episodes:
    """Returns `table` with a rollout's T steps added to the rows of their episodes; later ones are dropped."""
    mask = rollout.in_lifetime

    def add(column: jax.Array, values: jax.Array) -> jax.Array:
        return column.at[steps.episode].add(values * mask, mode="drop")

    ended_so = jnp.where(mask > 0, steps.outcome, -1)
    return Episodes(
        extrinsic=add(table.extrinsic, rollout.reward),
        intrinsic=add(table.intrinsic, rewards),
        length=add(table.length, jnp.ones_like(mask)),
        entropy=add(table.entropy, steps.entropy),
        outcome=table.outcome.at[steps.episode].max(ended_so, mode="drop"),
    )


def live_batch(
    task: Task,
    agent: Agent,
    learned: PyTree,
    source: RewardSource,
    params: PyTree,
    seed: int | jax.Array,
    numbers: jax.Array,
) -> tuple[PyTree, Episodes, PyTree]:
    """Returns the task params, the episodes and the final agents of the lifetimes `numbers` (i32[B]) of `seed`.

    Pay, learn, act, until every lifetime of the batch has ended; a rollout pays for one update.
    """
    base = jax.random.fold_in(jax.random.key(seed), EVALUATION_STREAM)
    keys = jax.vmap(lambda number: jax.random.fold_in(base, number))(numbers)

    def begin(key: jax.Array):
        key_world, key_agent, key_source, key_first = (jax.random.fold_in(key, stream) for stream in range(4))
        world = begin_world(task, key_world, jnp.zeros((), jnp.int32))
        agent_state = agent.init(key_agent, learned)
        agent_state, world, rollout, steps = collect(task, agent, agent_state, world, key_first)
        table = Episodes.empty(task.spec.episodes_per_lifetime)
        return agent_state, source.begin(params, key_source), world, rollout, steps, table

    def advance(key: jax.Array, life):
        agent_state, source_state, world, rollout, steps, table = life
        rewards, source_state = source.unroll(params, source_state, rollout)
        table = record_rollout(table, rollout, steps, rewards)
        agent_state = agent.update(agent_state, rollout, rewards, source.returns)
        agent_state, world, rollout, steps = collect(task, agent, agent_state, world, key)
        return agent_state, source_state, world, rollout, steps, table

    def advance_all(carry):
        lives, round_number = carry
        round_keys = jax.vmap(lambda key: jax.random.fold_in(key, round_number))(keys)
        return jax.vmap(advance)(round_keys, lives), round_number + 1

    def anyone_alive(carry) -> jax.Array:
        (_, _, _, rollout, _, _), _ = carry
        return jnp.any(rollout.in_lifetime[:, 0] > 0)

    lives, _ = jax.lax.while_loop(anyone_alive, advance_all, (jax.vmap(begin)(keys), jnp.int32(4)))
    agent_state, _, world, _, _, table = lives
    return world.params, table, agent_state


def live_many(
    task: Task,
    agent: Agent,
    learned: PyTree,
    source: RewardSource,
    params: PyTree,
    seed: int,
    num_lifetimes: int,
    mesh: Mesh,
    chunk: int = 16,
) -> tuple[PyTree, Episodes]:
    """Returns task params and episodes of lifetimes 0..num_lifetimes−1, chunk by chunk on every device.

    The program is compiled once for each task, agent, source and mesh, whatever the parameters and the seed.
    """
    num_rounds = -(-num_lifetimes // (chunk * mesh.size))
    numbers = np.arange(num_rounds * chunk * mesh.size, dtype=np.int32).reshape(-1, chunk)
    compiled = _compiled(*cast(Any, (task, agent, source, mesh)))
    result = compiled(numbers, np.uint32(seed), learned, params)
    return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:])[:num_lifetimes], result)


@functools.lru_cache(maxsize=32)
def _compiled(task: Any, agent: Any, source: Any, mesh: Mesh):
    """Returns the jitted `(numbers[R, chunk], seed, learned, params) -> (task params, episodes)`, rounds sharded."""

    def live_shard(numbers: jax.Array, seed: jax.Array, learned: PyTree, params: PyTree):
        return jax.lax.map(lambda n: live_batch(task, agent, learned, source, params, seed, n)[:2], numbers)

    rounds = PartitionSpec(mesh.axis_names[0])
    same = PartitionSpec()
    return jax.jit(
        jax.shard_map(live_shard, mesh=mesh, in_specs=(rounds, same, same, same), out_specs=rounds, check_vma=False)
    )
