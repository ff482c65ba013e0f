"""The contract of a task distribution, and the library's side of it: time limits and lifetimes."""

import dataclasses
from typing import Protocol

import jax
import jax.numpy as jnp

from orexis.config import TaskSpec
from orexis.types import Last, PyTree, World


class Task(Protocol):
    """A distribution over tasks, as pure JAX functions of ONE lifetime; callers `vmap`.

    Counting steps and episodes, time limits and the end of a lifetime are not the task's business.
    A task must be hashable (a frozen dataclass is), so that programs compiled for it are found again.
    What follows is optional; whoever uses it asks `hasattr` first.

    - `outcomes`, names for the ways in which an episode can end, with `outcome(params, state) -> i32[]`,
      the index of the way that `state` is, or -1 for none.
    - `observation_table() -> f32[S, H, W, C]`, a NumPy constant, with `observation_index(params, state) -> i32[]`:
      for a task that shows one of S different observations. table[index] equals `observe(params, state)` bit for bit,
      in every state that `reset` or `step` returns, terminal ones too. Lets the engine look networks up.
    - `optimum() -> float`, the best expected return of an episode for an agent that knows the params.
    - `sketch(params, state, reveal=False) -> str[H, W]`, a sign for each cell, for people: `#` walls, `.` free,
      `@` the agent; with `reveal` also what the agent cannot see. Called with concrete arrays, outside JAX.
    - `hints(params, state) -> f32[K]`, of order one: hidden facts that tell how much is still to be had, for the
      lifetime value alone while it is trained, see `orexis.meta.privilege`. Without it, that is told the params.
    - `moves`, i32[M, 2], if actions are steps in a grid and `step` understands M of them: what the wrappers of
      `orexis.tasks.actions` need.
    - `teacher(scale) -> RewardSource`, a hand-made reward for the evaluation source `teacher`: what an agent can get
      from a good reward. See `orexis.rewards.teaching.Teacher` for grids.
    """

    @property
    def spec(self) -> TaskSpec: ...

    def sample(self, key: jax.Array) -> PyTree:
        """Returns the task's params, drawn once a lifetime."""
        ...

    def reset(self, key: jax.Array, params: PyTree, episode: jax.Array) -> PyTree:
        """Returns the first state of episode number `episode` (i32[])."""
        ...

    def step(
        self, key: jax.Array, params: PyTree, state: PyTree, action: jax.Array
    ) -> tuple[PyTree, jax.Array, jax.Array]:
        """Returns the next state, the extrinsic reward f32[] and whether the episode terminated, bool[]."""
        ...

    def observe(self, params: PyTree, state: PyTree) -> jax.Array:
        """Returns what the agent sees, f32[H, W, C]."""
        ...


@dataclasses.dataclass(frozen=True)
class TaskWrapper:
    """`task` as it is; a subclass changes one thing about it."""

    task: Task

    @property
    def spec(self) -> TaskSpec:
        return self.task.spec

    def sample(self, key: jax.Array) -> PyTree:
        return self.task.sample(key)

    def reset(self, key: jax.Array, params: PyTree, episode: jax.Array) -> PyTree:
        return self.task.reset(key, params, episode)

    def step(
        self, key: jax.Array, params: PyTree, state: PyTree, action: jax.Array
    ) -> tuple[PyTree, jax.Array, jax.Array]:
        return self.task.step(key, params, state, action)

    def observe(self, params: PyTree, state: PyTree) -> jax.Array:
        return self.task.observe(params, state)


@dataclasses.dataclass(frozen=True)
class StepResult:
    """What one step brought, before any reset. Made and used inside a traced step only."""

    observation: jax.Array  # f32[H, W, C]  of the state arrived in
    reward: jax.Array  # f32[]   0 outside the lifetime
    episode_ended: jax.Array  # bool[]
    outcome: jax.Array  # i32[]


def begin_world(task: Task, key: jax.Array, episode: jax.Array) -> World:
    """Returns a world at the start of `episode` of a freshly sampled task. The key is consumed."""
    key_task, key_reset = jax.random.split(key)
    params = task.sample(key_task)
    return World(
        params=params,
        state=task.reset(key_reset, params, episode),
        steps=jnp.zeros((), jnp.int32),
        episode=episode,
        alive=jnp.ones(()),
        last=Last.nothing(),
    )


def step_world(task: Task, key: jax.Array, world: World, action: jax.Array) -> tuple[World, StepResult]:
    """Returns the world after `action`, episode ends handled, and what the step brought.

    A time limit ends an episode like termination does. After the last episode the world goes
    on turning (shapes are static) but is no longer alive and pays nothing. The key is consumed.
    """
    key_step, key_reset = jax.random.split(key)
    state, reward, terminated = task.step(key_step, world.params, world.state, action)
    steps = world.steps + 1
    ended = terminated | (steps >= task.spec.time_limit)
    reward = reward * world.alive
    outcome = task.outcome(world.params, state) if hasattr(task, "outcome") else -jnp.ones((), jnp.int32)
    result = StepResult(
        observation=task.observe(world.params, state), reward=reward, episode_ended=ended, outcome=outcome
    )
    episode = world.episode + ended
    fresh = task.reset(key_reset, world.params, episode)
    return (
        World(
            params=world.params,
            state=jax.tree.map(lambda new, old: jnp.where(ended, new, old), fresh, state),
            steps=jnp.where(ended, 0, steps),
            episode=episode,
            alive=jnp.where(episode >= task.spec.episodes_per_lifetime, 0.0, world.alive),
            last=Last(action=action.astype(jnp.int32), reward=reward, done=jnp.where(ended, 1.0, 0.0)),
        ),
        result,
    )
