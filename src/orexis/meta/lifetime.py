"""Beginning, replacing and living whole lifetimes.

Every random number of a lifetime comes from (seed, slot, generation) and the window's number,
so that results do not depend, but for rounding, on how lifetimes are batched over chunks, devices or processes.
"""

import jax
import jax.numpy as jnp

from orexis.meta.parts import Parts
from orexis.networks.history import begin_at
from orexis.tasks.base import begin_world
from orexis.types import Lifetime, PyTree


def lifetime_key(seed: int, slot: jax.Array, generation: jax.Array) -> jax.Array:
    """Returns the key that all randomness of one lifetime is derived from."""
    return jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), slot), generation)


def window_key(seed: int, lifetime: Lifetime) -> jax.Array:
    """Returns the key of the lifetime's next window. Streams 0..2 are the birth's, see `begin_lifetime`."""
    key = lifetime_key(seed, lifetime.slot, lifetime.generation)
    return jax.random.fold_in(key, 3 + lifetime.age)


def begin_lifetime(
    parts: Parts,
    eta: PyTree,
    seed: int,
    slot: jax.Array,
    generation: jax.Array,
    episode: jax.Array,
) -> Lifetime:
    """Returns a newborn lifetime at the start of `episode`, its first rollout collected by its fresh agent."""
    key = lifetime_key(seed, slot, generation)
    key_world, key_agent, key_first = (jax.random.fold_in(key, stream) for stream in range(3))
    key_theta, key_reward = jax.random.split(key_agent)
    world = begin_world(parts.task, key_world, episode)
    agent_state, world, rollout = parts.learned.begin(parts, eta, key_theta, world, key_first)
    return Lifetime(
        slot=slot,
        generation=generation,
        age=jnp.zeros((), jnp.int32),
        world=world,
        agent=agent_state,
        rollout=rollout,
        reward_state=begin_at(parts.reward.begin(eta, key_reward), episode),
        value_state=begin_at(parts.value.begin(), episode),
        extrinsic=jnp.sum(rollout.reward),
        episodes=jnp.sum((1.0 - rollout.episode_goes_on) * rollout.in_lifetime).astype(jnp.int32),
    )
