"""Small instances of the real thing, shared by the tests so that each program is compiled once.

A *recorded window* is made in two steps. First a lifetime is born, lives through one window and
then acts R_1..R_N, all in float32 as in training. Then everything is widened to float64 and
frozen: from there on the outer loss is a smooth function of eta and phi.
"""

import dataclasses
import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from orexis.config import AgentConfig, HistoryNetConfig, MetaConfig, OuterConfig, PolicyNetConfig, TaskSpec
from orexis.meta.lifetime import begin_lifetime
from orexis.meta.outer import Scales, outer_loss
from orexis.meta.parts import Parts, make_parts
from orexis.meta.rollout import play, split_keys
from orexis.tasks.abc import RandomABC
from orexis.types import Alternatives, Lifetime, PyTree, Rollout

SMALL_MAP = """
A.B
.@.
C..
"""
LENGTH = 3  # T
MAX_UPDATES = 3  # N, the most that a recorded window serves

POLICY_NET = PolicyNetConfig(num_filters=2, num_hidden=6, conv_gain=2.0, hidden_gain=1.5, head_gain=1.0)
HISTORY_NET = HistoryNetConfig(num_filters=2, num_hidden=5, num_units=4, conv_gain=2.0, hidden_gain=1.5, head_gain=1.0)
OUTER = OuterConfig(window=2, discount=0.9, value_cost=0.5)
SCALES = (2.0, 0.5)  # of the kind "scaled"


@dataclasses.dataclass(frozen=True)
class Kind:
    """What a window's networks see and what its outer loss is made of."""

    net: HistoryNetConfig = HISTORY_NET
    outer: OuterConfig = OUTER


def _outer(**changes) -> Kind:
    return Kind(outer=dataclasses.replace(OUTER, **changes))


KINDS = {
    "planes": Kind(),
    "egocentric": Kind(net=dataclasses.replace(HISTORY_NET, view="egocentric")),
    "ledger": Kind(net=dataclasses.replace(HISTORY_NET, view="egocentric", keeps_ledger=True)),
    "clock": Kind(net=dataclasses.replace(HISTORY_NET, sees_clock=True)),
    "reward-cost": _outer(reward_cost=0.3),
    "privileged": _outer(privileged_value=True),
    "all-actions": _outer(all_actions=True, gae_lambda=0.5),
    "scaled": _outer(normalize=True),
    "steady": _outer(reward_cost=0.3, privileged_value=True, all_actions=True, gae_lambda=0.5, normalize=True),
}
AGENTS = {
    "sgd": AgentConfig(net=POLICY_NET, rollout_length=LENGTH, learning_rate=0.3, value_cost=0.2),
    "sgd-clipped": AgentConfig(
        net=POLICY_NET, rollout_length=LENGTH, learning_rate=0.3, value_cost=0.2, gradient_clip=0.5
    ),
    "adam-clipped": AgentConfig(
        net=POLICY_NET,
        rollout_length=LENGTH,
        learning_rate=0.05,
        value_cost=0.2,
        optimizer="adam",
        differentiate_denominator=True,
        gradient_clip=0.5,
    ),
    "adam": AgentConfig(net=POLICY_NET, rollout_length=LENGTH, learning_rate=0.05, value_cost=0.2, optimizer="adam"),
    "adam-differentiated": AgentConfig(
        net=POLICY_NET,
        rollout_length=LENGTH,
        learning_rate=0.05,
        value_cost=0.2,
        optimizer="adam",
        differentiate_denominator=True,
    ),
}


def small_task(episodes: int = 50) -> RandomABC:
    """Returns Random ABC on 3×3 cells: the objects are two steps from the start, episodes last at most 4."""
    return RandomABC(drawing=SMALL_MAP, time_limit=4, episodes=episodes)


def small_parts(agent: str = "sgd", episodes: int = 50, kind: str = "planes") -> Parts:
    """Returns the plain makings of a window, small."""
    config = MetaConfig(agent=AGENTS[agent], reward=KINDS[kind].net, outer=KINDS[kind].outer)
    return make_parts(small_task(episodes), config, "dense")


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Entering:
    """What a lifetime carries into a window and the meta-gradient must not enter."""

    agent: PyTree
    reward_state: PyTree
    value_state: PyTree


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Instance:
    """Everything that an outer loss is a function of."""

    eta: PyTree
    phi: PyTree
    lifetime: Lifetime
    recorded: Rollout  # R_1..R_N, N = MAX_UPDATES
    alternatives: Alternatives | tuple[()]  # to their steps

    @property
    def entering(self) -> Entering:
        return Entering(self.lifetime.agent, self.lifetime.reward_state, self.lifetime.value_state)

    def rollouts(self, num_updates: int) -> Rollout:
        """Returns R_1..R_N for a window of `num_updates`."""
        return jax.tree.map(lambda x: x[:num_updates], self.recorded)

    def others(self, num_updates: int) -> Alternatives | tuple[()]:
        """Returns the alternatives to the steps of R_1..R_N."""
        return jax.tree.map(lambda x: x[:num_updates], self.alternatives)


def jitter(tree: PyTree, key: jax.Array, scale: float = 0.1) -> PyTree:
    """Returns `tree` with noise added, biases included: at zero biases empty cells sit exactly on relu's kink."""
    flat, restore = ravel_pytree(tree)
    return restore(flat + scale * jax.random.normal(key, flat.shape))


def act_through_window(
    parts: Parts, eta: PyTree, lifetime: Lifetime, keys: jax.Array, all_actions: bool
) -> tuple[Rollout, Alternatives | tuple[()]]:
    """Returns R_1..R_N, one for each key, acted live by theta_1..theta_N, and the alternatives to their steps."""

    def live_one_update(carry, key: jax.Array):
        agent_state, reward_state, rollout, world = carry
        rewards, reward_state = parts.reward.unroll(eta, reward_state, rollout)
        agent_state = parts.agent.update(agent_state, rollout, rewards, parts.reward.returns)
        noise = split_keys(key, parts.agent.rollout_length)
        _, world, rollout, steps = play(
            parts.task, parts.agent, agent_state, world, noise, parts.privilege, all_actions
        )
        return (agent_state, reward_state, rollout, world), (rollout, steps.alternatives)

    start = (lifetime.agent, lifetime.reward_state, lifetime.rollout, lifetime.world)
    return jax.lax.scan(live_one_update, start, keys)[1]


def recorded_instance(agent: str = "sgd", kind: str = "planes") -> Instance:
    """Returns a lifetime that is one window old, and the window that it lived next, in float32 as NumPy arrays."""
    return _record(agent.partition("-")[0], kind)  # both kinds of Adam judge the same window


@functools.cache
def _record(agent: str, kind: str, seed: int = 0) -> Instance:
    parts = small_parts(agent, kind=kind)

    @jax.jit
    def make(key: jax.Array) -> Instance:
        keys = jax.random.split(key, 6)
        eta, phi = jitter(parts.reward.init(keys[0]), keys[1]), jitter(parts.value.init(keys[2]), keys[3])
        zero = jnp.zeros((), jnp.int32)
        newborn = begin_lifetime(parts, eta, seed, zero, zero, zero)
        theta = jitter(newborn.agent.theta, keys[4])
        newborn = dataclasses.replace(newborn, agent=dataclasses.replace(newborn.agent, theta=theta))
        outer = KINDS[kind].outer
        _, (lifetime, _) = outer_loss(parts, outer, eta, phi, newborn, jnp.zeros(()), keys[5])
        acting = jax.random.split(jax.random.fold_in(key, 1), MAX_UPDATES)
        recorded, others = act_through_window(parts, eta, lifetime, acting, outer.all_actions)
        return Instance(eta=eta, phi=phi, lifetime=lifetime, recorded=recorded, alternatives=others)

    with jax.enable_x64(False):
        return jax.tree.map(np.asarray, make(jax.random.key(seed)))


def random_rollout(seed: int, length: int, spec: TaskSpec) -> Rollout:
    """Returns a rollout of noise, NumPy arrays: for functions that do not care where a rollout came from."""
    rng = np.random.default_rng(seed)

    def noise(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    return Rollout(
        observation=noise(length + 1, *spec.observation_shape),
        next_observation=noise(length, *spec.observation_shape),
        action=rng.integers(0, spec.num_actions, length).astype(np.int32),
        reward=noise(length),
        episode_goes_on=rng.integers(0, 2, length).astype(np.float32),
        lifetime_goes_on=np.ones(length, np.float32),
        in_lifetime=np.ones(length, np.float32),
        value=noise(length + 1),
    )


def widen(tree: PyTree) -> PyTree:
    """Returns `tree` on the device in float64 (to be called inside `jax.enable_x64`); integers stay as they are."""
    return jax.tree.map(lambda x: jnp.asarray(x, jnp.float64 if x.dtype == np.float32 else x.dtype), tree)


def make_loss(parts: Parts, config: OuterConfig) -> Callable[..., tuple[jax.Array, tuple]]:
    """Returns the outer loss as a function (eta, phi, entering, lifetime, recorded, entropy_cost, alternatives)."""

    def loss(eta, phi, entering: Entering, lifetime: Lifetime, recorded, entropy_cost: jax.Array, alternatives=()):
        lifetime = dataclasses.replace(
            lifetime,
            agent=entering.agent,
            reward_state=entering.reward_state,
            value_state=entering.value_state,
        )
        key = jax.random.key(0)  # nothing is sampled in a recorded window
        scales = Scales(*map(jnp.asarray, SCALES)) if config.normalize else None
        return outer_loss(parts, config, eta, phi, lifetime, entropy_cost, key, recorded, alternatives, scales)

    return loss


@functools.cache
def loss_and_gradients(agent: str, num_updates: int, kind: str = "planes") -> Callable[..., tuple[tuple, tuple]]:
    """Returns the compiled ((loss, aux), gradients of eta, phi and entering) of a recorded window."""
    config = dataclasses.replace(KINDS[kind].outer, window=num_updates)
    loss = make_loss(small_parts(agent, kind=kind), config)
    return jax.jit(jax.value_and_grad(loss, argnums=(0, 1, 2), has_aux=True, allow_int=True))


def norm(tree: PyTree) -> float:
    """Returns the Euclidean norm over all floats of `tree`."""
    leaves = [np.asarray(x) for x in jax.tree.leaves(tree) if jnp.issubdtype(x.dtype, jnp.floating)]
    return float(np.sqrt(sum(np.sum(np.square(x)) for x in leaves)))


def difference(first: PyTree, second: PyTree) -> PyTree:
    return jax.tree.map(lambda a, b: np.asarray(a) - np.asarray(b), first, second)
