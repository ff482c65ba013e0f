"""Many lifetimes in a row in one environment, as pure functions: what both Gymnasium classes run.

Lifetime n of an environment comes from (its key, n), episode e of it from (that, e), and step t from (that, t).
So the single environment and the vectorised one walk the same way, and an episode that was not
begun can be begun again.
"""

import functools
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp

from orexis.tasks.base import Task
from orexis.types import Last, PyTree, record

Form = Literal["array", "dict"]


@record
class Life:
    """Where one environment stands."""

    key: jax.Array  # key[]        of the environment
    lifetime: jax.Array  # i32[]   how many lifetimes ended here before
    episode: jax.Array  # i32[]
    steps: jax.Array  # i32[]      taken in this episode
    params: PyTree
    state: PyTree
    last: Last


class Facts(NamedTuple):
    """Where an environment stands, in whole numbers; travels from the device as one array i32[..., 6]."""

    lifetime: Any
    episode: Any
    terminated: Any = 0
    truncated: Any = 0  # by the time limit, and not terminated
    outcome: Any = -1  # see `Task.outcomes`
    lifetime_ended: Any = 0

    def pack(self) -> jax.Array:
        """Returns i32[6]."""
        return jnp.stack([jnp.asarray(number, jnp.int32) for number in self])


@record
class Arrived:
    """What a step brought, before any reset."""

    observation: PyTree
    reward: jax.Array  # f32[]
    facts: jax.Array  # i32[6]


def begin_lifetime(task: Task, key: jax.Array, lifetime: jax.Array) -> Life:
    """Returns the start of lifetime number `lifetime` of the environment that `key` belongs to."""
    params = task.sample(jax.random.fold_in(jax.random.fold_in(key, lifetime), 0))
    return begin_episode(task, key, lifetime, params, jnp.zeros((), jnp.int32), Last.nothing())


def begin_episode(
    task: Task, key: jax.Array, lifetime: jax.Array, params: PyTree, episode: jax.Array, last: Last
) -> Life:
    """Returns the start of an episode of a lifetime."""
    state = task.reset(jax.random.fold_in(_episode_key(key, lifetime, episode), 0), params, episode)
    return Life(
        key=key,
        lifetime=lifetime,
        episode=episode,
        steps=jnp.zeros((), jnp.int32),
        params=params,
        state=state,
        last=last,
    )


def next_episode(task: Task, life: Life) -> Life:
    """Returns the start of the episode after this one, or of the next lifetime if this one was the last.

    An episode in which no step was taken is begun again.
    """
    episode = jnp.where(life.steps > 0, life.episode + 1, life.episode)
    abandoned = Last(life.last.action, life.last.reward, jnp.where(life.steps > 0, 1.0, life.last.done))
    same = begin_episode(task, life.key, life.lifetime, life.params, episode, abandoned)
    other = begin_lifetime(task, life.key, life.lifetime + 1)
    return _choose(episode >= task.spec.episodes_per_lifetime, other, same)


def advance(task: Task, form: Form, life: Life, action: jax.Array) -> tuple[Life, Arrived]:
    """Returns the life after `action`, nothing reset, and what the step brought."""
    key = jax.random.fold_in(_episode_key(life.key, life.lifetime, life.episode), 1 + life.steps)
    action = action.astype(jnp.int32)
    state, reward, terminated = task.step(key, life.params, life.state, action)
    steps = life.steps + 1
    truncated = (steps >= task.spec.time_limit) & ~terminated
    ended = terminated | truncated
    following = Life(
        key=life.key,
        lifetime=life.lifetime,
        episode=life.episode,
        steps=steps,
        params=life.params,
        state=state,
        last=Last(action=action, reward=reward.astype(jnp.float32), done=jnp.where(ended, 1.0, 0.0)),
    )
    facts = Facts(
        lifetime=life.lifetime,
        episode=life.episode,
        terminated=terminated,
        truncated=truncated,
        outcome=jnp.where(ended, task.outcome(life.params, state), -1) if hasattr(task, "outcome") else -1,
        lifetime_ended=ended & (life.episode + 1 >= task.spec.episodes_per_lifetime),
    )
    return following, Arrived(observation=observe(task, form, following), reward=reward, facts=facts.pack())


def observe(task: Task, form: Form, life: Life) -> PyTree:
    """Returns what the agent sees: f32[H, W, C], or with form "dict" also what the last step told it."""
    image = task.observe(life.params, life.state).astype(jnp.float32)
    if form == "array":
        return image
    return {
        "image": image,
        "last_action": life.last.action,
        "last_reward": life.last.reward,
        "last_done": life.last.done.astype(jnp.int32),
    }


class Programs(NamedTuple):
    """The functions above, compiled for one task: alone and for a batch."""

    begin: Any  # (key, lifetime) -> life, observation, facts
    next_episode: Any  # (life) -> life, observation, facts
    advance: Any  # (life, action) -> life, arrived
    begin_all: Any  # (keys[E], lifetimes[E]) -> life, observation, facts
    next_all: Any  # (life) -> life, observation, facts
    advance_all: Any  # (life, actions[E]) -> life, observation and facts after any reset, arrived


@functools.lru_cache(maxsize=32)
def programs(task: Any, form: Form) -> Programs:
    """Returns the compiled functions of `task`; equal tasks share them."""

    def show(life: Life) -> tuple[Life, PyTree, jax.Array]:
        return life, observe(task, form, life), Facts(life.lifetime, life.episode).pack()

    def begin(key: jax.Array, lifetime: jax.Array):
        return show(begin_lifetime(task, key, lifetime))

    def go_on(life: Life):
        return show(next_episode(task, life))

    def advance_and_reset(life: Life, action: jax.Array):
        life, arrived = advance(task, form, life, action)
        return (*show(_choose(life.last.done > 0, next_episode(task, life), life)), arrived)

    return Programs(
        begin=jax.jit(begin),
        next_episode=jax.jit(go_on),
        advance=jax.jit(functools.partial(advance, task, form)),
        begin_all=jax.jit(jax.vmap(begin)),
        next_all=jax.jit(jax.vmap(go_on)),
        advance_all=jax.jit(jax.vmap(advance_and_reset)),
    )


def _episode_key(key: jax.Array, lifetime: jax.Array, episode: jax.Array) -> jax.Array:
    return jax.random.fold_in(jax.random.fold_in(jax.random.fold_in(key, lifetime), 1), episode)


def _choose(condition: jax.Array, first: Life, second: Life) -> Life:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), first, second)
