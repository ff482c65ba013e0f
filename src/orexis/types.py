"""The records that flow through Orexis, and the legend of shapes.

Axes: `L` lifetimes, `N` policy updates in a window, `T` steps in a rollout, `A` actions,
`H W C` rows, columns, planes. theta = policy and its value head, eta = reward network,
phi = lifetime value network.

Every record below describes ONE lifetime. Callers `vmap`, which puts an `L` in front.
Row t of a rollout is what is known on reaching s_t: the action taken there, and what its
arrival in s_{t+1} paid.

Masks and discounts are f32, 1 or 0, and belong to the step from s_t to s_{t+1}:

    episode_goes_on   0 where s_{t+1} ends an episode       not_done; times gamma-bar the inner discount
    lifetime_goes_on  0 where s_{t+1} ends the lifetime,    not_done of a lifetime; times gamma the outer discount:
                      and ever after                        lifetime returns run through episode ends
    in_lifetime       0 where s_t is behind that end        the mask of every loss and every sum

The last step of a lifetime has mask 1 and discount 0. A time limit ends an episode like termination does: nothing is
bootstrapped behind it. docs/reference/glossary.md maps these and all other words to the paper's symbols and to the
field's terms.
"""

import dataclasses
from typing import Any, TypeAlias, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp

T = TypeVar("T")

PyTree: TypeAlias = Any
"""A nest of arrays whose structure belongs to somebody else: a task, an agent, a reward source."""


@dataclass_transform(frozen_default=True)
def record(cls: type[T]) -> type[T]:
    """Makes `cls` a frozen dataclass that JAX can map over: the base of every record here."""
    return jax.tree_util.register_dataclass(dataclasses.dataclass(frozen=True)(cls))


@record
class Rollout:
    """T consecutive steps of one agent. Row t starts in s_t and arrives in s_{t+1}."""

    observation: jax.Array  # f32[T+1, H, W, C]  what the policy saw; the last one is for bootstrapping
    next_observation: jax.Array  # f32[T, H, W, C]        s_{t+1} before any reset: what the reward sees
    action: jax.Array  # i32[T]
    reward: jax.Array  # f32[T]                  extrinsic, paid on arrival
    episode_goes_on: jax.Array  # f32[T]         0 where the arrival ends an episode
    lifetime_goes_on: jax.Array  # f32[T]        0 where the arrival ends the lifetime, and after: a discount
    in_lifetime: jax.Array  # f32[T]             1 where s_t is inside the lifetime: the mask of every loss
    value: jax.Array  # f32[T+1]                 under the parameters that acted
    hints: jax.Array | tuple[()] = ()  # f32[T+1, K]  hidden facts of s_t for phi alone, see `meta.privilege`


@record
class Alternatives:
    """What each of the A actions would have brought in s_t: one step of the task's own, the same chance for all."""

    next_observation: jax.Array  # f32[T, A, H, W, C]  s_{t+1} before any reset
    reward: jax.Array  # f32[T, A]
    episode_goes_on: jax.Array  # f32[T, A]
    lifetime_goes_on: jax.Array  # f32[T, A]
    hints: jax.Array | tuple[()] = ()  # f32[T, A, K]  of s_{t+1}, after any reset


@record
class Steps:
    """What happened beside a rollout: for tables and pictures, and what else could have happened if it was asked."""

    episode: jax.Array  # i32[T]   which episode of the lifetime s_t belongs to
    entropy: jax.Array  # f32[T]   of the policy in s_t
    outcome: jax.Array  # i32[T]   how the arrival ended the episode, see `Task.outcomes`; -1 inside one
    alternatives: Alternatives | tuple[()] = ()


@record
class Last:
    """What the previous step told the agent: input of policies with memory."""

    action: jax.Array  # i32[]
    reward: jax.Array  # f32[]
    done: jax.Array  # f32[]   1 where that step ended an episode

    @classmethod
    def nothing(cls) -> "Last":
        """Returns what an agent knows before its first step."""
        return cls(action=jnp.zeros((), jnp.int32), reward=jnp.zeros(()), done=jnp.zeros(()))


@record
class World:
    """Where one lifetime stands in its task."""

    params: PyTree  # of the task, sampled once a lifetime
    state: PyTree  # of the task, inside the current episode
    steps: jax.Array  # i32[]      taken in this episode
    episode: jax.Array  # i32[]    index of the current episode
    alive: jax.Array  # f32[]      1 until the last episode has ended
    last: Last


@record
class Lifetime:
    """All that one lifetime carries from a window to the next.

    theta inside `agent` is *not yet* updated with `rollout` (R_0 of the next window), the
    world is as `rollout` left it, and both recurrent states are as they were *before* it.
    """

    slot: jax.Array  # i32[]        place in the batch
    generation: jax.Array  # i32[]  how many lifetimes ended in this slot before
    age: jax.Array  # i32[]         windows lived
    world: World
    agent: PyTree
    rollout: Rollout
    reward_state: PyTree
    value_state: PyTree
    extrinsic: jax.Array  # f32[]   sum of the extrinsic rewards so far
    episodes: jax.Array  # i32[]    finished so far, in this lifetime (a staggered first one has fewer)
