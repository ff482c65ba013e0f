"""The outer loss of one window of one lifetime, and which of its edges carry gradient to eta.

    R_0 ──r_in──► theta_1 ──acts──► R_1 ──r_in──► theta_2 ──acts──► … ──► theta_N ──acts──► R_N
         eta                              eta                                eta

A window has N+1 rollouts; R_0 was collected at the end of the previous window with theta_0.
theta_1..theta_N depend on eta through the inner updates and are judged by the extrinsic
rewards of the rollouts they acted in, R_1..R_N, and by V_phi after that.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from orexis.config import OuterConfig
from orexis.losses import entropy, entropy_loss, policy_gradient_loss, value_loss
from orexis.meta.parts import Parts
from orexis.meta.rollout import play, throw_ahead
from orexis.returns import discounted_returns, traced_advantages
from orexis.types import Lifetime, PyTree, Rollout, World, record


@record
class Window:
    """What N inner updates made of a lifetime; rollouts are joined along time, S = (N+1)·T."""

    rollouts: Rollout  # every field f32[S, ...]; observation without bootstraps, value likewise
    logits: jax.Array  # f32[S, A]     of R_k under theta_k
    rewards: jax.Array  # f32[N·T]     intrinsic, of R_0..R_{N-1}
    agent: PyTree  # holding theta_N
    reward_state: PyTree  # before R_N
    last: Rollout  # R_N
    world: World  # as R_N left it


@record
class WindowMetrics:
    """Sums over the steps of one window of one lifetime, constants for the gradient."""

    steps: jax.Array  # f32[]  inside the lifetime, R_1..R_N: new environment steps
    episodes: jax.Array  # f32[]  that ended in them
    extrinsic: jax.Array  # f32[]  reward collected in them
    entropy: jax.Array  # f32[]  of the policies that acted in them
    intrinsic: jax.Array  # f32[]  |r_in| over the rewards paid
    paid: jax.Array  # f32[]  how many rewards were paid
    value_error: jax.Array  # f32[]  Σ (V − G)² over the value loss's rows
    value_rows: jax.Array  # f32[]
    policy_loss: jax.Array  # f32[]
    value_loss: jax.Array  # f32[]

    @classmethod
    def zero(cls) -> "WindowMetrics":
        return cls(*(jnp.zeros(()) for _ in dataclasses.fields(cls)))


def unroll_window(
    parts: Parts,
    eta: PyTree,
    lifetime: Lifetime,
    num_updates: int,
    key: jax.Array,
    recorded: Rollout | None = None,
) -> Window:
    """Returns the window that starts in `lifetime`: `num_updates` times pay, learn, act. The key is consumed.

    With `recorded` (R_1..R_N stacked, each field with a leading N) nothing is sampled: the
    rollouts are read from it, so that the loss is a smooth function of eta alone.
    """
    task, reward = parts.task, parts.reward
    agent: Any = parts.window_agent  # its state is its own: dense, or factored and growing
    carried = jax.lax.stop_gradient((agent.begin_window(lifetime.agent), lifetime.reward_state))

    def live_one_update(carry, source):
        agent_state, reward_state, rollout, world = carry
        rewards, reward_state = reward.unroll(eta, reward_state, rollout)
        agent_state, logits = agent.update_with_logits(agent_state, rollout, rewards, reward.returns)
        if recorded is None:
            actor, acting = agent.actor(agent_state)
            _, world, following, _ = play(task, actor, acting, world, source)
        else:
            following = source
        return (agent_state, reward_state, following, world), (rollout, rewards, logits)

    sources: PyTree = recorded
    if recorded is None:
        keys = jax.random.split(key, num_updates)
        sources = jax.vmap(throw_ahead, in_axes=(0, None, None))(keys, agent.rollout_length, task.spec.num_actions)
    start = (*carried, lifetime.rollout, lifetime.world)
    (agent_state, reward_state, last, world), (paid, rewards, logits) = (_loop if agent.grows else jax.lax.scan)(
        live_one_update, start, sources
    )

    last_logits = agent.logits(agent_state, last.observation[:-1])
    length = agent.rollout_length

    def join(before: jax.Array, final: jax.Array) -> jax.Array:
        both = jnp.concatenate([before[:, :length], final[None, :length]])
        return both.reshape(-1, *both.shape[2:])

    return Window(
        rollouts=jax.tree.map(join, paid, last),
        logits=join(logits, last_logits),
        rewards=rewards.reshape(-1),
        agent=agent.end_window(agent_state),
        reward_state=reward_state,
        last=last,
        world=world,
    )


def _loop(body: Callable, carry: PyTree, sources: PyTree) -> tuple[PyTree, PyTree]:
    """Returns what `jax.lax.scan` does, from a Python loop: for a carry whose shapes change."""
    outputs = []
    for k in range(jax.tree.leaves(sources)[0].shape[0]):
        carry, output = body(carry, jax.tree.map(lambda x, k=k: x[k], sources))
        outputs.append(output)
    return carry, jax.tree.map(lambda *rows: jnp.stack(rows), *outputs)


def outer_loss(
    parts: Parts,
    config: OuterConfig,
    eta: PyTree,
    phi: PyTree,
    lifetime: Lifetime,
    entropy_cost: jax.Array,
    key: jax.Array,
    recorded: Rollout | None = None,
) -> tuple[jax.Array, tuple[Lifetime, WindowMetrics]]:
    """Returns L_out of one window, the lifetime after it, and metrics. The key is consumed.

        L_out = −Σ_{R_1..R_N} log pi(a)·(G − V) − c_ent·Σ_{R_1..R_N} H + c_v·½ Σ_{R_0..R_{N-1}} (V − G)²

    G is the n-step extrinsic return to the window's end, bootstrapped with V_phi, running
    *through* episode ends and cut at the lifetime's end (`objective="episode"`: at episode
    ends too). A lifetime that ends inside R_N has its true returns there, so R_N joins the value
    loss. G − V and the value target are constants. With `advantage_trace` λ < 1, G − V becomes the
    λ-weighted advantage of `returns.traced_advantages`.
    """
    window = unroll_window(parts, eta, lifetime, config.window, key, recorded)
    rollouts, length = window.rollouts, parts.agent.rollout_length
    num_paid = config.window * length  # rows of R_0..R_{N-1}

    values, value_state = parts.value.unroll(phi, jax.lax.stop_gradient(lifetime.value_state), rollouts, num_paid)
    goes_on = rollouts.lifetime_goes_on
    if config.objective == "episode":
        goes_on = goes_on * rollouts.episode_goes_on
    discounts = config.discount * goes_on
    returns = jax.lax.stop_gradient(discounted_returns(rollouts.reward, discounts, values[-1]))
    advantages = jax.lax.stop_gradient(traced_advantages(rollouts.reward, discounts, values, config.advantage_trace))

    acted = slice(length, None)  # R_1..R_N, rows under theta_1..theta_N
    mask = rollouts.in_lifetime
    logits, acted_mask = window.logits[acted], mask[acted]
    policy_loss = policy_gradient_loss(logits, rollouts.action[acted], advantages[acted], acted_mask)
    entropy_term = entropy_loss(logits, acted_mask)

    ended = 1.0 - window.last.lifetime_goes_on[-1]
    value_mask = mask * jnp.where(jnp.arange(mask.shape[0]) < num_paid, 1.0, ended)
    value_term = value_loss(values[:-1], returns, value_mask)

    loss = policy_loss + entropy_cost * entropy_term + config.value_cost * value_term
    new_extrinsic = jnp.sum(rollouts.reward[acted])
    new_episodes = jnp.sum((1.0 - rollouts.episode_goes_on[acted]) * acted_mask)
    following = Lifetime(
        slot=lifetime.slot,
        generation=lifetime.generation,
        age=lifetime.age + 1,
        world=window.world,
        agent=window.agent,
        rollout=window.last,
        reward_state=window.reward_state,
        value_state=value_state,
        extrinsic=lifetime.extrinsic + new_extrinsic,
        episodes=lifetime.episodes + new_episodes.astype(jnp.int32),
    )
    metrics = WindowMetrics(
        steps=jnp.sum(acted_mask),
        episodes=new_episodes,
        extrinsic=new_extrinsic,
        entropy=jnp.sum(entropy(logits) * acted_mask),
        intrinsic=jnp.sum(jnp.abs(window.rewards) * mask[:num_paid]),
        paid=jnp.sum(mask[:num_paid]),
        value_error=jnp.sum(jnp.square(values[:-1] - returns) * value_mask),
        value_rows=jnp.sum(value_mask),
        policy_loss=policy_loss,
        value_loss=value_term,
    )
    return loss, jax.lax.stop_gradient((following, metrics))
