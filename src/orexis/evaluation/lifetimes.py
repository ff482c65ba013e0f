"""Whole lifetimes with nothing meta-learned: any agent, paid by any reward source, from birth to death.

This is what evaluation runs. Lifetimes are numbered, and number i of a seed is the same task,
the same theta and the same random numbers whatever the batch, the device or the reward source.
"""

import functools
from collections.abc import Callable
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec

from orexis.agents.base import Agent
from orexis.meta.rollout import collect
from orexis.rewards.base import RewardSource
from orexis.tasks.base import Task, begin_world
from orexis.tasks.tabled import find_rows, has_table, table_of
from orexis.types import PyTree, Rollout, Steps, World, record

FIRST_ROUND = 4  # a lifetime's keys before it are spent on its birth
CHUNK = 4  # lifetimes that a device lives at once: thetas of 4 stay in a cache, those of 16 do not
EVALUATION_STREAM = 0x0E7A1  # apart from the slots of training, which count from zero
WORLD, AGENT, REWARD, FIRST_ROLLOUT = range(FIRST_ROUND)
"""Which of a lifetime's keys its task, its agent, its reward source and its first rollout are born with."""


def lifetime_key(seed: int | jax.Array, number: int | jax.Array) -> jax.Array:
    """Returns the key of evaluation lifetime `number` of `seed`; `fold_in` of it and a number is for one use.

    Rollout j of the lifetime, counted from 0, has the number FIRST_ROLLOUT + j.
    """
    return jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), EVALUATION_STREAM), number)


@record
class Episodes:
    """One row for each episode of a lifetime."""

    extrinsic: jax.Array  # f32[E]  return, undiscounted
    intrinsic: jax.Array  # f32[E]  sum of what the reward source paid
    length: jax.Array  # f32[E]
    entropy: jax.Array  # f32[E]  summed over steps; divide by length. NaN where the agent was not finite
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
    agent_is_finite = jnp.isfinite(rollout.value[:-1])  # a Q-learner's entropy does not tell
    return Episodes(
        extrinsic=add(table.extrinsic, rollout.reward),
        intrinsic=add(table.intrinsic, rewards),
        length=add(table.length, jnp.ones_like(mask)),
        entropy=add(table.entropy, jnp.where(agent_is_finite, steps.entropy, jnp.nan)),
        outcome=table.outcome.at[steps.episode].max(ended_so, mode="drop"),
    )


@record
class Trace:
    """One row for each step of a lifetime, S = the most that it can have; -1 and 0 fill up after its end."""

    episode: jax.Array  # i32[S]    -1 after the lifetime's end
    action: jax.Array  # i32[S]
    next_observation: jax.Array  # i32[S]    row of the task's table of observations; -1 if it has none
    extrinsic: jax.Array  # f32[S]
    intrinsic: jax.Array  # f32[S]
    entropy: jax.Array  # f32[S]

    @classmethod
    def empty(cls, num_steps: int) -> "Trace":
        nothing, zeros = -jnp.ones(num_steps, jnp.int32), jnp.zeros(num_steps)
        return cls(nothing, nothing, nothing, zeros, zeros, zeros)


def record_steps(trace: Trace, task: Task, rollout: Rollout, steps: Steps, rewards: jax.Array, begin: jax.Array):
    """Returns `trace` with a rollout's T steps written from row `begin` on."""
    lived = rollout.in_lifetime > 0
    rows = find_rows(table_of(task), rollout.next_observation) if has_table(task) else -jnp.ones_like(rollout.action)
    values = Trace(steps.episode, rollout.action, rows, rollout.reward, rewards, steps.entropy)

    def write(column: jax.Array, new: jax.Array) -> jax.Array:
        nothing = jnp.zeros((), column.dtype) - (column.dtype == jnp.int32)
        kept = jnp.where(lived, new, nothing).astype(column.dtype)
        return jax.lax.dynamic_update_slice(column, kept, (begin,))

    return jax.tree.map(write, trace, values)


@record
class EvaluationState:
    """A lifetime between two updates of its agent."""

    agent: PyTree
    reward_state: PyTree
    world: World
    rollout: Rollout  # not yet paid
    steps: Steps
    episodes: Episodes
    trace: Trace | tuple[()]  # () where nobody asked for one


def evaluate_batch(
    task: Task,
    agent: Agent,
    learned: PyTree,
    reward: RewardSource,
    params: PyTree,
    seed: int | jax.Array,
    numbers: jax.Array,
    traced: bool = False,
    num_steps: int | None = None,
) -> EvaluationState:
    """Returns the lifetimes `numbers` (i32[B]) of `seed` as they ended.

    Pay, learn, act, until every lifetime of the batch has ended; a rollout pays for one update. num_steps: stop all of
    them after so many steps, rounded up to whole rollouts; what comes later is missing in their episodes and traces.
    """
    keys = jax.vmap(lambda number: lifetime_key(seed, number))(numbers)
    length = agent.rollout_length
    most_steps = task.spec.episodes_per_lifetime * task.spec.time_limit
    most_rollouts = -(-min(most_steps, num_steps or most_steps) // length)

    def begin(key: jax.Array) -> EvaluationState:
        key_world, key_agent, key_reward, key_first = (
            jax.random.fold_in(key, stream) for stream in (WORLD, AGENT, REWARD, FIRST_ROLLOUT)
        )
        world = begin_world(task, key_world, jnp.zeros((), jnp.int32))
        agent_state = agent.init(key_agent, learned)
        agent_state, world, rollout, steps = collect(task, agent, agent_state, world, key_first)
        table = Episodes.empty(task.spec.episodes_per_lifetime)
        trace = Trace.empty(most_rollouts * length) if traced else ()
        return EvaluationState(agent_state, reward.begin(params, key_reward), world, rollout, steps, table, trace)

    def advance(key: jax.Array, life: EvaluationState, age: jax.Array) -> EvaluationState:
        rewards, reward_state = reward.unroll(params, life.reward_state, life.rollout)
        episodes = record_rollout(life.episodes, life.rollout, life.steps, rewards)
        trace = life.trace
        if isinstance(trace, Trace):
            trace = record_steps(trace, task, life.rollout, life.steps, rewards, age * length)
        agent_state = agent.update(life.agent, life.rollout, rewards, reward.returns)
        agent_state, world, rollout, steps = collect(task, agent, agent_state, life.world, key)
        return EvaluationState(agent_state, reward_state, world, rollout, steps, episodes, trace)

    def advance_all(carry: tuple[EvaluationState, jax.Array]) -> tuple[EvaluationState, jax.Array]:
        lives, age = carry
        round_keys = jax.vmap(lambda key: jax.random.fold_in(key, FIRST_ROUND + age))(keys)
        return jax.vmap(advance, in_axes=(0, 0, None))(round_keys, lives, age), age + 1

    def anyone_alive(carry: tuple[EvaluationState, jax.Array]) -> jax.Array:
        lives, age = carry
        return jnp.any(lives.rollout.in_lifetime[:, 0] > 0) & (age < most_rollouts)

    lives, _ = jax.lax.while_loop(anyone_alive, advance_all, (jax.vmap(begin)(keys), jnp.int32(0)))
    return lives


def evaluate_lifetimes(
    task: Task,
    agent: Agent,
    learned: PyTree,
    reward: RewardSource,
    params: PyTree,
    seed: int,
    num_lifetimes: int,
    mesh: Mesh,
    chunk: int = CHUNK,
    traced: bool = False,
    num_steps: int | None = None,
    on_progress: Callable[[int], None] = lambda num_done: None,
) -> tuple[PyTree, Episodes, Trace | tuple[()]]:
    """Returns task params, episodes and traces of lifetimes 0..num_lifetimes−1 as NumPy arrays.

    A chunk at a time on every device, the first `num_steps` of each; `on_progress` is told how many have ended. The
    program is compiled once for each task, agent, reward source and mesh, whatever the parameters and the seed.
    """
    at_once = chunk * mesh.size
    compiled = lifetimes_program(*cast(Any, (task, agent, reward, mesh, traced, num_steps)))
    pieces = []
    for begin in range(0, num_lifetimes, at_once):
        numbers = np.arange(begin, begin + at_once, dtype=np.int32).reshape(mesh.size, chunk)
        pieces.append(jax.device_get(compiled(numbers, np.uint32(seed), learned, params)))
        on_progress(min(begin + at_once, num_lifetimes))
    return jax.tree.map(lambda *xs: np.concatenate([x.reshape(-1, *x.shape[2:]) for x in xs])[:num_lifetimes], *pieces)


@functools.lru_cache(maxsize=32)
def lifetimes_program(task: Any, agent: Any, reward: Any, mesh: Mesh, traced: bool, num_steps: int | None = None):
    """Returns the jitted `(numbers[devices, chunk], seed, learned, params) -> (task params, episodes, trace)`."""

    def live_shard(numbers: jax.Array, seed: jax.Array, learned: PyTree, params: PyTree):
        lives = evaluate_batch(task, agent, learned, reward, params, seed, numbers[0], traced, num_steps)
        return jax.tree.map(lambda x: x[None], (lives.world.params, lives.episodes, lives.trace))

    devices = PartitionSpec(mesh.axis_names[0])
    same = PartitionSpec()
    return jax.jit(
        jax.shard_map(live_shard, mesh=mesh, in_specs=(devices, same, same, same), out_specs=devices, check_vma=False)
    )
