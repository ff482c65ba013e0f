"""One window of one lifetime: N times pay, learn, act.

    R_0 ──pay──► theta_1 ──acts──► R_1 ──pay──► theta_2 ──acts──► … ──► theta_N ──acts──► R_N

What of it depends on eta is the business of what is learned, see `meta.learned.base`: what pays, or theta_0.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from orexis.meta.rollout import play, presample_noise
from orexis.types import Alternatives, Lifetime, PyTree, Rollout, World, record

if TYPE_CHECKING:
    from orexis.meta.parts import Parts


@record
class Window:
    """What N inner updates made of a lifetime; rollouts are joined along time, S = (N+1)·T.

    A policy that does not learn in its lifetime needs no R_0: its window is R_1..R_N alone, S = N·T, and what waits for
    the next window is a rollout of no steps.
    """

    rollouts: Rollout  # every field f32[S, ...]; observation without bootstraps, value likewise
    logits: jax.Array  # f32[S, A]     of R_k under theta_k
    rewards: jax.Array  # f32[N·T]     what the agent was paid for R_0..R_{N-1}
    agent: PyTree  # holding theta_N
    reward_state: PyTree  # before R_N
    last: Rollout  # R_N: R_0 of the next window
    world: World  # as R_N left it
    alternatives: Alternatives | tuple[()]  # to the steps of R_1..R_N, [N·T, A, ...]; () where nobody asked


def unroll_window(
    parts: "Parts",
    eta: PyTree,
    lifetime: Lifetime,
    num_updates: int,
    key: jax.Array,
    recorded: Rollout | None = None,
    all_actions: bool = False,
    alternatives: Alternatives | tuple[()] = (),
) -> Window:
    """Returns the window that starts in `lifetime`: `num_updates` times pay, learn, act. The key is consumed.

    With `recorded` (R_1..R_N stacked, each field with a leading N) nothing is sampled: the
    rollouts are read from it, so that the loss is a smooth function of eta alone. Then `alternatives` [N, T, A] are
    those of the recorded steps, if the loss asks for all actions.
    """
    task, reward = parts.task, parts.reward
    agent = parts.window_agent
    assert agent is not None
    entering = agent.begin_window(parts.learned.enter(parts, eta, lifetime))
    carried = (entering, jax.lax.stop_gradient(lifetime.reward_state))

    def live_one_update(carry, given):
        agent_state, reward_state, rollout, world = carry
        rewards, reward_state = reward.unroll(eta, reward_state, rollout)
        agent_state, logits = agent.update_with_logits(agent_state, rollout, rewards, reward.returns)
        if recorded is None:
            actor, acting = agent.actor(agent_state)
            _, world, following, steps = play(task, actor, acting, world, given, parts.privilege, all_actions)
            others = steps.alternatives
        else:
            following, others = given
        return (agent_state, reward_state, following, world), (rollout, rewards, logits, others)

    inputs: PyTree = (recorded, alternatives)
    if recorded is None:
        keys = jax.random.split(key, num_updates)
        inputs = jax.vmap(presample_noise, in_axes=(0, None, None))(keys, agent.rollout_length, task.spec.num_actions)
    start = (*carried, lifetime.rollout, lifetime.world)
    (agent_state, reward_state, last, world), (rewarded, rewards, logits, others) = (
        _loop if agent.grows else jax.lax.scan
    )(live_one_update, start, inputs)

    last_logits = agent.logits(agent_state, last.observation[:-1])
    length = agent.rollout_length

    def join(before: jax.Array, final: jax.Array) -> jax.Array:
        both = jnp.concatenate([before[:, :length], final[None, :length]])
        return both.reshape(-1, *both.shape[2:])

    return Window(
        rollouts=jax.tree.map(join, rewarded, last),
        logits=join(logits, last_logits),
        rewards=rewards.reshape(-1),
        agent=agent.end_window(agent_state),
        reward_state=reward_state,
        last=last,
        world=world,
        alternatives=jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), others),
    )


def _loop(body: Callable, carry: PyTree, inputs: PyTree) -> tuple[PyTree, PyTree]:
    """Returns what `jax.lax.scan` does, from a Python loop: for a carry whose shapes change."""
    outputs = []
    for k in range(jax.tree.leaves(inputs)[0].shape[0]):
        carry, output = body(carry, jax.tree.map(lambda x, k=k: x[k], inputs))
        outputs.append(output)
    return carry, jax.tree.map(lambda *rows: jnp.stack(rows), *outputs)
