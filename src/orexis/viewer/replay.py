"""A lifetime that was lived, once more: its states, and what every action would have been paid.

A trace tells the actions; chance is drawn from the lifetime's own keys, as `orexis.evaluation.lifetimes` drew it. So
the same states come back, and at each of them every action can be tried: one step of the task's own, paid by the
reward as it remembers the life so far. Nothing is remembered of what was tried.
"""

import dataclasses
import functools
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from orexis.evaluation.lifetimes import FIRST_ROLLOUT, REWARD, WORLD, Trace, lifetime_key, lifetimes_program
from orexis.evaluation.sources import Source
from orexis.meta.engine import make_mesh
from orexis.meta.rollout import split_keys
from orexis.tasks.base import Task, begin_world, step_world
from orexis.types import PyTree, Rollout, World, record

BLOCK = 256  # steps that one call of the compiled program takes
CLOSE = 1e-4  # what a replay may pay other than the lifetime was paid, for rounding


@dataclasses.dataclass(frozen=True)
class LivedLife:
    """One lifetime of one source, S steps and E episodes, in NumPy."""

    params: PyTree  # of the task
    trace: Trace  # [S] each, without what fills up after the end
    starts: PyTree  # states, [E, ...]   that the episodes begin in
    arrivals: PyTree  # states, [S, ...]  that the steps lead to, before any reset
    extrinsic: np.ndarray  # f32[S, A]  what the task would pay for each action
    intrinsic: np.ndarray | None  # f32[S, A]  what the source would; None: it cannot be asked step by step
    outcome: np.ndarray  # i32[E]  see `Task.outcomes`


@record
class Tried:
    """What the A actions bring in one state."""

    world: World  # after it, the episode's end handled
    reward_state: PyTree
    extrinsic: jax.Array  # f32[]
    intrinsic: jax.Array  # f32[]


def live(task: Task, source: Source, seed: int, number: int) -> LivedLife:
    """Returns lifetime `number` of `seed` under `source`, lived and replayed."""
    program = lifetimes_program(
        *cast(Any, (task, source.agent, source.reward, make_mesh(jax.devices()[:1]), True, None))
    )
    numbers = np.array([[number]], np.int32)
    params, episodes, trace = jax.device_get(program(numbers, np.uint32(seed), (), source.params))
    num_steps = int((trace.episode[0, 0] >= 0).sum())
    lived = jax.tree.map(lambda column: column[0, 0, :num_steps], trace)
    return replay(task, source, seed, number, lived, jax.tree.map(lambda x: x[0, 0], params), episodes.outcome[0, 0])


def replay(
    task: Task, source: Source, seed: int, number: int, trace: Trace, params: PyTree, outcome: np.ndarray
) -> LivedLife:
    """Returns the lifetime that `trace` tells, whose columns are [S]. Raises ValueError if it is of another one."""
    program = _program(*cast(Any, (task, source.reward, source.agent.rollout_length)))
    actions = np.asarray(trace.action)
    num_steps = len(actions)
    carry = program.begin(source.params, np.uint32(seed), np.int32(number))
    blocks = []
    for begin in range(0, num_steps, BLOCK):
        taken = np.zeros(BLOCK, np.int32)
        taken[: len(actions[begin : begin + BLOCK])] = actions[begin : begin + BLOCK]
        carry, rows = program.go_on(source.params, carry, np.int32(begin), taken)
        blocks.append(jax.device_get(rows))
    before, arrivals, extrinsic, intrinsic = jax.tree.map(lambda *xs: np.concatenate(xs)[:num_steps], *blocks)
    rows = np.arange(num_steps)
    if not np.array_equal(extrinsic[rows, actions], trace.extrinsic):
        raise ValueError(f"the trace is not that of lifetime {number} of seed {seed} on this task")
    asked = np.allclose(intrinsic[rows, actions], trace.intrinsic, atol=CLOSE)  # ICM learns once a rollout, and differs
    first = np.flatnonzero(np.diff(trace.episode, prepend=-1))
    starts = jax.tree.map(lambda column: column[first], before)
    return LivedLife(params, trace, starts, arrivals, extrinsic, intrinsic if asked else None, outcome)


@dataclasses.dataclass(frozen=True)
class _Program:
    begin: Any  # (params, seed, number) -> carry
    go_on: Any  # (params, carry, first step, actions i32[BLOCK]) -> carry, rows


@functools.lru_cache(maxsize=8)
def _program(task: Any, reward: Any, rollout_length: int) -> _Program:
    """Returns the compiled replay of a task under a reward source."""

    def begin(params: PyTree, seed: jax.Array, number: jax.Array):
        key = lifetime_key(seed, number)
        world = begin_world(task, jax.random.fold_in(key, WORLD), jnp.zeros((), jnp.int32))
        return key, world, reward.begin(params, jax.random.fold_in(key, REWARD))

    def try_action(params: PyTree, key: jax.Array, world: World, reward_state: PyTree, action: jax.Array) -> Tried:
        following, result = step_world(task, key, world, action)
        seen = task.observe(world.params, world.state)
        rollout = Rollout(
            observation=jnp.stack([seen, task.observe(following.params, following.state)]),
            next_observation=result.observation[None],
            action=action[None],
            reward=result.reward[None],
            episode_goes_on=jnp.where(result.episode_ended, 0.0, 1.0)[None],
            lifetime_goes_on=following.alive[None],
            in_lifetime=world.alive[None],
            value=jnp.zeros(2),
        )
        rewards, reward_state = reward.unroll(params, reward_state, rollout)
        return Tried(following, reward_state, result.reward, rewards[0])

    def go_on(params: PyTree, carry: tuple, first: jax.Array, taken: jax.Array):
        actions = jnp.arange(task.spec.num_actions, dtype=jnp.int32)

        def advance(carry: tuple, row: tuple[jax.Array, jax.Array]):
            key, world, reward_state = carry
            step, action = row
            rollout_key = jax.random.fold_in(key, FIRST_ROLLOUT + step // rollout_length)
            key_world = split_keys(rollout_key, rollout_length).world[step % rollout_length]
            tried = jax.vmap(lambda each: try_action(params, key_world, world, reward_state, each))(actions)
            key_step, _ = jax.random.split(key_world)  # as `step_world` does, but here nothing is reset
            arrival, _, _ = task.step(key_step, world.params, world.state, action)
            chosen = jax.tree.map(lambda leaf: leaf[action], tried)
            return (key, chosen.world, chosen.reward_state), (world.state, arrival, tried.extrinsic, tried.intrinsic)

        return jax.lax.scan(advance, carry, (first + jnp.arange(BLOCK), taken))

    return _Program(jax.jit(begin), jax.jit(go_on))
