"""Acting: T steps of one agent in its world. No gradient passes through here."""

import jax
import jax.numpy as jnp

from orexis.agents.base import Agent
from orexis.losses import entropy
from orexis.tasks.base import Task, step_world
from orexis.types import PyTree, Rollout, Steps, World


def collect(
    task: Task, agent: Agent, agent_state: PyTree, world: World, key: jax.Array
) -> tuple[PyTree, World, Rollout, Steps]:
    """Returns the agent and the world after T steps, and what happened. The key is consumed.

    The agent's state changes only if it has a memory; parameters learn elsewhere. Everything
    returned is a constant for the meta-gradient.
    """
    agent_state = jax.lax.stop_gradient(agent_state)
    length = agent.rollout_length
    keys = jax.random.split(key, 2 * length + 1)
    keys_act, keys_world, key_bootstrap = keys[:length], keys[length:-1], keys[-1]

    def take_step(carry: tuple[PyTree, World], keys: tuple[jax.Array, jax.Array]):
        agent_state, world = carry
        key_act, key_world = keys
        observation = task.observe(world.params, world.state)
        action, value, logits, agent_state = agent.act(agent_state, observation, world.last, key_act)
        following, arrival = step_world(task, key_world, world, action)
        goes_on = jnp.where(arrival.episode_ended, 0.0, 1.0)
        row = (
            observation,
            arrival.observation,
            action,
            arrival.reward,
            goes_on,
            following.alive,
            world.alive,
            value,
            Steps(
                episode=world.episode,
                entropy=entropy(logits),
                outcome=jnp.where(arrival.episode_ended, arrival.outcome, -1),
            ),
        )
        return (agent_state, following), row

    (agent_state, world), rows = jax.lax.scan(take_step, (agent_state, world), (keys_act, keys_world))
    observation, arrival, action, reward, episode_goes_on, lifetime_goes_on, in_lifetime, value, steps = rows
    last_observation = task.observe(world.params, world.state)
    _, bootstrap, _, _ = agent.act(agent_state, last_observation, world.last, key_bootstrap)
    rollout = Rollout(
        observation=jnp.concatenate([observation, last_observation[None]]),
        arrival=arrival,
        action=action,
        reward=reward,
        episode_goes_on=episode_goes_on,
        lifetime_goes_on=lifetime_goes_on,
        in_lifetime=in_lifetime,
        value=jnp.concatenate([value, bootstrap[None]]),
    )
    return agent_state, world, jax.lax.stop_gradient(rollout), steps
