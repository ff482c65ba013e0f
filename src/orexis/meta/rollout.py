"""Acting: T steps of one agent in its world. No gradient passes through here."""

import dataclasses

import jax
import jax.numpy as jnp

from orexis.agents.base import Agent
from orexis.agents.sampling import draw_noise
from orexis.losses import entropy
from orexis.meta.privilege import Privilege
from orexis.tasks.base import Task, step_world
from orexis.types import Alternatives, PyTree, Rollout, Steps, World, record


@record
class RolloutNoise:
    """All that chance decides in a rollout of T steps."""

    acting: jax.Array  # key[T + 1], the last for the bootstrap value; or f32[T + 1, A], the noise of each
    world: jax.Array  # key[T]


def split_keys(key: jax.Array, length: int) -> RolloutNoise:
    """Returns the dice of a rollout, as keys. The key is consumed."""
    keys = jax.random.split(key, 2 * length + 1)
    return RolloutNoise(acting=jnp.concatenate([keys[:length], keys[-1:]]), world=keys[length:-1])


def presample_noise(key: jax.Array, length: int, num_actions: int) -> RolloutNoise:
    """Returns the same with the noise of all actions drawn: for agents that act by `agents.sampling.choose`."""
    keys = split_keys(key, length)
    noise = jax.vmap(draw_noise, in_axes=(0, None))(keys.acting, num_actions)
    return dataclasses.replace(keys, acting=noise)


def collect(
    task: Task, agent: Agent, agent_state: PyTree, world: World, key: jax.Array
) -> tuple[PyTree, World, Rollout, Steps]:
    """Returns what `play` does, for any agent. The key is consumed."""
    return play(task, agent, agent_state, world, split_keys(key, agent.rollout_length))


def play(
    task: Task,
    agent: Agent,
    agent_state: PyTree,
    world: World,
    noise: RolloutNoise,
    privilege: Privilege | None = None,
    all_actions: bool = False,
) -> tuple[PyTree, World, Rollout, Steps]:
    """Returns the agent and the world after T steps, and what happened.

    The agent's state changes only if it has a memory; parameters learn elsewhere. Everything
    returned is a constant for the meta-gradient. With `privilege` the rollout has its hints; with `all_actions` the
    steps have what each action would have brought.
    """

    def hint(world: World, logits: jax.Array) -> jax.Array | tuple[()]:
        return () if privilege is None else privilege.see(world, logits)

    def try_action(action: jax.Array, key_world: jax.Array, world: World, logits: jax.Array) -> Alternatives:
        following, result = step_world(task, key_world, world, action)
        goes_on = jnp.where(result.episode_ended, 0.0, 1.0)
        return Alternatives(result.observation, result.reward, goes_on, following.alive, hint(following, logits))

    agent_state = jax.lax.stop_gradient(agent_state)

    def take_step(carry: tuple[PyTree, World], chance: tuple[jax.Array, jax.Array]):
        agent_state, world = carry
        acting, key_world = chance
        observation = task.observe(world.params, world.state)
        action, value, logits, agent_state = agent.act(agent_state, observation, world.last, acting)
        following, result = step_world(task, key_world, world, action)
        goes_on = jnp.where(result.episode_ended, 0.0, 1.0)
        actions = jnp.arange(task.spec.num_actions, dtype=jnp.int32)
        try_all = jax.vmap(try_action, in_axes=(0, None, None, None))
        others = try_all(actions, key_world, world, logits) if all_actions else ()
        row = (
            observation,
            result.observation,
            action,
            result.reward,
            goes_on,
            following.alive,
            world.alive,
            value,
            hint(world, logits),
            Steps(
                episode=world.episode,
                entropy=entropy(logits),
                outcome=jnp.where(result.episode_ended, result.outcome, -1),
                alternatives=others,
            ),
        )
        return (agent_state, following), row

    (agent_state, world), rows = jax.lax.scan(take_step, (agent_state, world), (noise.acting[:-1], noise.world))
    (
        observation,
        next_observation,
        action,
        reward,
        episode_goes_on,
        lifetime_goes_on,
        in_lifetime,
        value,
        hints,
        steps,
    ) = rows
    last_observation = task.observe(world.params, world.state)
    _, bootstrap, last_logits, _ = agent.act(agent_state, last_observation, world.last, noise.acting[-1])
    rollout = Rollout(
        observation=jnp.concatenate([observation, last_observation[None]]),
        next_observation=next_observation,
        action=action,
        reward=reward,
        episode_goes_on=episode_goes_on,
        lifetime_goes_on=lifetime_goes_on,
        in_lifetime=in_lifetime,
        value=jnp.concatenate([value, bootstrap[None]]),
        hints=() if privilege is None else jnp.concatenate([hints, privilege.see(world, last_logits)[None]]),
    )
    return agent_state, world, jax.lax.stop_gradient(rollout), steps
