"""The outer loss of one window of one lifetime, and which of its edges carry gradient to eta.

    R_0 ──r_in──► theta_1 ──acts──► R_1 ──r_in──► theta_2 ──acts──► … ──► theta_N ──acts──► R_N
         eta                              eta                                eta

A window has N+1 rollouts; R_0 was collected at the end of the previous window with theta_0.
theta_1..theta_N depend on eta through the inner updates and are judged by the extrinsic
rewards of the rollouts they acted in, R_1..R_N, and by V_phi after that.
"""

import dataclasses

import jax
import jax.numpy as jnp

from orexis.config import OuterConfig
from orexis.losses import all_actions_loss, entropy, entropy_loss, policy_gradient_loss, value_loss
from orexis.meta.learned.window import Window
from orexis.meta.parts import Parts
from orexis.returns import discounted_returns, gae
from orexis.types import Alternatives, Lifetime, PyTree, Rollout, record


@record
class Scales:
    """What rewards and advantages are measured in, see `meta.balance`: constants for the gradient."""

    unit: jax.Array  # f32[]  extrinsic rewards are divided by it, so V and G are in it
    advantage: jax.Array  # f32[]  of an advantage, in that unit

    @classmethod
    def ones(cls) -> "Scales":
        return cls(jnp.ones(()), jnp.ones(()))


@record
class WindowMetrics:
    """Sums over the steps of one window of one lifetime, constants for the gradient."""

    steps: jax.Array  # f32[]  inside the lifetime, R_1..R_N: new environment steps
    episodes: jax.Array  # f32[]  that ended in them
    extrinsic: jax.Array  # f32[]  reward collected in them
    entropy: jax.Array  # f32[]  of the policies that acted in them
    intrinsic: jax.Array  # f32[]  |r_in| over the rewards paid
    rewarded: jax.Array  # f32[]  how many rewards were paid
    value_error: jax.Array  # f32[]  Σ (V − G)² over the value loss's rows
    value_rows: jax.Array  # f32[]
    return_square: jax.Array  # f32[]  Σ G² over R_1..R_N, in the task's own units like all of these
    advantage_square: jax.Array  # f32[]  Σ of the squared advantages, likewise
    policy_loss: jax.Array  # f32[]
    value_loss: jax.Array  # f32[]

    @classmethod
    def zero(cls) -> "WindowMetrics":
        return cls(*(jnp.zeros(()) for _ in dataclasses.fields(cls)))


def outer_loss(
    parts: Parts,
    config: OuterConfig,
    eta: PyTree,
    phi: PyTree,
    lifetime: Lifetime,
    entropy_cost: jax.Array,
    key: jax.Array,
    recorded: Rollout | None = None,
    alternatives: Alternatives | tuple[()] = (),
    scales: Scales | None = None,
) -> tuple[jax.Array, tuple[Lifetime, WindowMetrics]]:
    """Returns L_out of one window, the lifetime after it, and metrics. The key is consumed.

        L_out = −Σ_{R_1..R_N} log pi(a)·(G − V) − c_ent·Σ_{R_1..R_N} H + c_v·½ Σ_{R_0..R_{N-1}} (V − G)²
                + c_r·Σ_{R_0..R_{N-1}} r_in²

    G is the n-step extrinsic return to the window's end, bootstrapped with V_phi, running
    *through* episode ends and cut at the lifetime's end (`objective="episode"`: at episode
    ends too). A lifetime that ends inside R_N has its true returns there, so R_N joins the value
    loss. G − V and the value target are constants. With `gae_lambda` λ < 1, G − V becomes the
    λ-weighted advantage of `returns.gae`. With `all_actions` the first term becomes
    that of `losses.all_actions_loss`. The cost c_r on rewards keeps them where arctan is not flat.
    """
    scales = Scales.ones() if scales is None else scales
    window = parts.learned.unroll(parts, eta, lifetime, config.window, key, recorded, config.all_actions, alternatives)
    rollouts, length = window.rollouts, lifetime.rollout.action.shape[0]  # of R_0
    rollouts = dataclasses.replace(rollouts, reward=rollouts.reward / scales.unit)
    num_rewarded = rollouts.action.shape[0] - length  # rows of R_0..R_{N-1}

    value_state = jax.lax.stop_gradient(lifetime.value_state)
    facts = see_facts(window, rollouts.reward, lifetime, scales) if parts.privilege is not None else ()
    seen = dataclasses.replace(window.rollouts, hints=())
    values, value_state = parts.value.unroll(phi, value_state, seen, num_rewarded, facts)
    goes_on = rollouts.lifetime_goes_on
    if config.objective == "episode":
        goes_on = goes_on * rollouts.episode_goes_on
    discounts = config.discount * goes_on
    returns = jax.lax.stop_gradient(discounted_returns(rollouts.reward, discounts, values[-1]))
    advantages = jax.lax.stop_gradient(gae(rollouts.reward, discounts, values, config.gae_lambda))

    acted = slice(length, None)  # R_1..R_N, rows under theta_1..theta_N
    mask = rollouts.in_lifetime
    logits, acted_mask = window.logits[acted], mask[acted]
    weighed = advantages[acted] / scales.advantage
    if config.all_actions:
        expected = judge_actions(parts, config, phi, lifetime, window, facts, values, scales) / scales.advantage
        policy_loss = all_actions_loss(logits, rollouts.action[acted], weighed, expected, acted_mask)
    else:
        policy_loss = policy_gradient_loss(logits, rollouts.action[acted], weighed, acted_mask)
    entropy_term = entropy_loss(logits, acted_mask)
    weight = parts.learned.weigh_first(lifetime)
    if weight is not None:
        first, counted = slice(length), weight * mask[:length]
        weighed = advantages[first] / scales.advantage
        policy_loss += policy_gradient_loss(window.logits[first], rollouts.action[first], weighed, counted)
        entropy_term += entropy_loss(window.logits[first], counted)

    ended = 1.0 - rollouts.lifetime_goes_on[-1]
    value_mask = mask * jnp.where(jnp.arange(mask.shape[0]) < num_rewarded, 1.0, ended)
    value_term = value_loss(values[:-1], returns, value_mask)

    reward_term = jnp.sum(jnp.square(window.rewards) * mask[:num_rewarded])

    loss = policy_loss + entropy_cost * entropy_term + config.value_cost * value_term + config.reward_cost * reward_term
    new_extrinsic = jnp.sum(window.rollouts.reward[acted])
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
        intrinsic=jnp.sum(jnp.abs(window.rewards) * mask[:num_rewarded]),
        rewarded=jnp.sum(mask[:num_rewarded]),
        value_error=jnp.sum(jnp.square(scales.unit * (values[:-1] - returns)) * value_mask),
        value_rows=jnp.sum(value_mask),
        return_square=jnp.sum(jnp.square(scales.unit * returns[acted]) * acted_mask),
        advantage_square=jnp.sum(jnp.square(scales.unit * advantages[acted]) * acted_mask),
        policy_loss=policy_loss,
        value_loss=value_term,
    )
    return loss, jax.lax.stop_gradient((following, metrics))


def see_facts(window: Window, rewards: jax.Array, lifetime: Lifetime, scales: Scales) -> jax.Array:
    """Returns what privileged phi is told before each step and after the last, f32[S+1, K+1]: constants.

    The hints of the rollouts, and the mean return of an episode so far, in the unit of `rewards` f32[S].
    """
    earned, ended = so_far(window, rewards, lifetime, scales)
    before, last = window.rollouts.hints, window.last.hints
    assert not isinstance(before, tuple)
    assert not isinstance(last, tuple)
    hints = jnp.concatenate([before, last[-1:]])
    return jnp.concatenate([hints, (earned / (1.0 + ended))[:, None]], axis=1)


def so_far(window: Window, rewards: jax.Array, lifetime: Lifetime, scales: Scales) -> tuple[jax.Array, jax.Array]:
    """Returns the reward collected and the episodes ended in this lifetime before each step and after the last,
    f32[S+1] each."""
    first = lifetime.rollout  # R_0, which the lifetime's sums hold already
    ended = (1.0 - window.rollouts.episode_goes_on) * window.rollouts.in_lifetime
    earned_before = (lifetime.extrinsic - jnp.sum(first.reward)) / scales.unit
    ended_before = lifetime.episodes - jnp.sum((1.0 - first.episode_goes_on) * first.in_lifetime)
    zero = jnp.zeros(1)
    return (
        earned_before + jnp.concatenate([zero, jnp.cumsum(rewards)]),
        ended_before + jnp.concatenate([zero, jnp.cumsum(ended)]),
    )


def judge_actions(
    parts: Parts,
    config: OuterConfig,
    phi: PyTree,
    lifetime: Lifetime,
    window: Window,
    facts: jax.Array | tuple[()],
    values: jax.Array,
    scales: Scales,
) -> jax.Array:
    """Returns Q(s_t, a) − V(s_t) of every action at the steps of R_1..R_N, f32[N·T, A]: constants.

        Q(s_t, a) = r(s_t, a) + d·V(after a)

    r, the next state and whether something ends come from the task's own step, V from phi having consumed that step.
    """
    others, length = window.alternatives, lifetime.rollout.action.shape[0]
    assert isinstance(others, Alternatives)
    acted = slice(length, None)
    rollouts = dataclasses.replace(window.rollouts, hints=())
    first, rest = (jax.tree.map(lambda x, part=part: x[part], rollouts) for part in (slice(length), acted))
    _, state = parts.value.remember(phi, lifetime.value_state, first)  # before R_1
    if not isinstance(facts, tuple):
        earned, ended = so_far(window, rollouts.reward / scales.unit, lifetime, scales)
        before_reward, before_ended = earned[acted][:-1, None], ended[acted][:-1, None]
        mean = (before_reward + others.reward / scales.unit) / (1.0 + before_ended + 1.0 - others.episode_goes_on)
        assert not isinstance(others.hints, tuple)
        facts = jnp.concatenate([others.hints, mean[..., None]], axis=-1)
    following = parts.value.foresee(phi, state, rest, others, facts)
    goes_on = others.lifetime_goes_on
    if config.objective == "episode":
        goes_on = goes_on * others.episode_goes_on
    q = others.reward / scales.unit + config.discount * goes_on * following
    return jax.lax.stop_gradient(q - values[acted][:-1, None])
