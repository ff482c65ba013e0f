"""The paper's appendix, plainly written: the ruler of the benchmark and a second opinion on the gradient.

What a good JAX user would write from the paper's two pseudocode functions: jitted, vmapped over
lifetimes, native convolutions, rollouts collected first and then differentiated. The
parameters, the records and the world are the library's, so that the meta-gradient can be
compared with the engine's; the networks, the inner and the outer update are written again.
Frozen: it is not to be made faster, nor slower.
"""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import optax

from orexis.agents.actor_critic import ActorCriticState, make_optimizer
from orexis.config import MetaConfig, OuterConfig
from orexis.meta.lifetime import begin_lifetime, window_key
from orexis.meta.parts import Parts, make_parts
from orexis.meta.rollout import collect
from orexis.networks.layers import LstmState
from orexis.optimizers import scheduled
from orexis.tasks.base import Task
from orexis.types import Lifetime, PyTree, Rollout, record


@record
class NaiveState:
    update: jax.Array  # i32[]
    networks: tuple[PyTree, PyTree]  # eta, phi
    optimizer: PyTree
    lifetimes: Lifetime  # every field with a leading L


def features(params: PyTree, images: jax.Array) -> jax.Array:
    """Returns relu(FC(relu(conv(images)))), f32[T, 64], with XLA's own convolution."""
    weights = params["conv"]["w"]
    kernel = weights.reshape(3, 3, images.shape[-1], weights.shape[-1])
    convolved = jax.lax.conv_general_dilated(
        images, kernel, window_strides=(1, 1), padding="SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    hidden = jax.nn.relu(convolved + params["conv"]["b"]).reshape(images.shape[0], -1)
    return jax.nn.relu(hidden @ params["hidden"]["w"] + params["hidden"]["b"])


def theta_apply(theta: PyTree, observations: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns logits f32[T, A] and values f32[T]."""
    hidden = features(theta, observations)
    logits = hidden @ theta["policy"]["w"] + theta["policy"]["b"]
    return logits, (hidden @ theta["value"]["w"] + theta["value"]["b"])[:, 0]


def unroll_history(
    params: PyTree, state: LstmState, rollout: Rollout, num_actions: int, sees_action: bool
) -> tuple[jax.Array, LstmState]:
    """Returns the head's outputs before each step and after the last, f32[T+1], and the state after the rollout."""
    scalars = jnp.stack([rollout.reward, 1.0 - rollout.episode_goes_on], axis=-1)
    inputs = [features(params, rollout.next_observation), scalars]
    if sees_action:
        inputs.append(jax.nn.one_hot(rollout.action, num_actions))
    core = params["core"]

    def cell(state: LstmState, x: jax.Array) -> tuple[LstmState, jax.Array]:
        gates = x @ core["wx"] + state.hidden @ core["wh"] + core["b"]
        into, forget, candidate, out = jnp.split(gates, 4)
        memory = jax.nn.sigmoid(forget) * state.cell + jax.nn.sigmoid(into) * jnp.tanh(candidate)
        hidden = jax.nn.sigmoid(out) * jnp.tanh(memory)
        return LstmState(hidden=hidden, cell=memory), hidden

    final, hidden = jax.lax.scan(cell, state, jnp.concatenate(inputs, axis=-1))
    everything = jnp.concatenate([state.hidden[None], hidden])
    return (everything @ params["head"]["w"] + params["head"]["b"])[:, 0], final


def returns_of(rewards: jax.Array, discounts: jax.Array, bootstrap: jax.Array) -> jax.Array:
    """Returns the discounted returns f32[T] by a reverse scan."""

    def add(following: jax.Array, row: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        here = row[0] + row[1] * following
        return here, here

    return jax.lax.scan(add, bootstrap, (rewards, discounts), reverse=True)[1]


def policy_terms(logits: jax.Array, rollout_actions: jax.Array, advantages: jax.Array, mask: jax.Array):
    """Returns the policy-gradient loss and the entropy loss."""
    log_pi = jax.nn.log_softmax(logits)
    chosen = jnp.take_along_axis(log_pi, rollout_actions[:, None], axis=-1)[:, 0]
    entropy = -jnp.sum(jnp.exp(log_pi) * log_pi, axis=-1)
    return -jnp.sum(chosen * advantages * mask), -jnp.sum(entropy * mask)


@dataclasses.dataclass(frozen=True)
class Naive:
    """Meta-training as the paper's appendix spells it, on one device."""

    task: Task
    config: MetaConfig
    seed: int = 0

    def __post_init__(self) -> None:
        if self.config.reward.history != "lstm" or self.config.outer.objective != "lifetime":
            raise ValueError("the reference is of the paper's main algorithm: an LSTM and the lifetime objective")
        outer, plain = self.config.outer, OuterConfig()
        ours = ("privileged_value", "reward_cost", "entropy_level", "normalize", "all_actions")
        extra = [field for field in ours if getattr(outer, field) != getattr(plain, field)]
        extra += ["view"] if self.config.reward.view != "planes" else []
        extra += ["a ledger"] if self.config.reward.keeps_ledger else []
        extra += ["a clock"] if self.config.reward.sees_clock else []
        extra += ["the inner clip"] if self.config.agent.gradient_clip is not None else []
        if extra:
            raise ValueError(f"the reference is of the paper's main algorithm: it does not know {', '.join(extra)}")

    @functools.cached_property
    def parts(self) -> Parts:
        return make_parts(self.task, self.config, "dense")

    def inner_update(
        self, agent: ActorCriticState, reward_state: LstmState, eta: PyTree, rollout: Rollout
    ) -> tuple[ActorCriticState, LstmState]:
        """Returns the agent and the reward's state after one update from `rollout` (the paper's first function)."""
        config = self.config.agent
        outputs, reward_state = unroll_history(
            eta, reward_state, rollout, self.task.spec.num_actions, self.config.reward.sees_action
        )
        r_in = jnp.arctan(outputs[1:])
        returns = returns_of(r_in, rollout.episode_goes_on * config.discount, rollout.value[-1])
        advantages = returns - rollout.value[:-1]

        def inner_loss(theta: PyTree) -> jax.Array:
            logits, values = theta_apply(theta, rollout.observation[:-1])
            policy_loss, entropy_loss = policy_terms(logits, rollout.action, advantages, rollout.in_lifetime)
            baseline_loss = 0.5 * jnp.sum(jnp.square(values - returns) * rollout.in_lifetime)
            return policy_loss + config.value_cost * baseline_loss + config.entropy_cost * entropy_loss

        grads = jax.grad(inner_loss)(agent.theta)
        theta, optimizer = make_optimizer(config).update(grads, agent.optimizer, agent.theta)
        return ActorCriticState(theta=theta, optimizer=optimizer), reward_state

    def outer_loss(
        self, networks: tuple[PyTree, PyTree], lifetime: Lifetime, rollouts: Rollout, entropy_cost: jax.Array
    ) -> jax.Array:
        """Returns L_out of N+1 stacked rollouts of one lifetime (the paper's second function)."""
        eta, phi = networks
        outer, spec = self.config.outer, self.task.spec
        agent, reward_state, value_state = lifetime.agent, lifetime.reward_state, lifetime.value_state
        all_logits, all_values = [], []
        bootstrap = jnp.zeros(())
        for k in range(outer.window + 1):
            rollout = jax.tree.map(lambda x, k=k: x[k], rollouts)
            all_logits.append(theta_apply(agent.theta, rollout.observation[:-1])[0])
            values, value_state = unroll_history(
                phi, value_state, rollout, spec.num_actions, self.config.reward.sees_action
            )
            all_values.append(values[:-1])
            bootstrap = values[-1]
            if k < outer.window:
                agent, reward_state = self.inner_update(agent, reward_state, eta, rollout)

        flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), rollouts)
        values = jnp.concatenate(all_values)
        lifetime_return = jax.lax.stop_gradient(
            returns_of(flat.reward, flat.lifetime_goes_on * outer.discount, bootstrap)
        )
        advantages = jax.lax.stop_gradient(lifetime_return - values)
        length = self.config.agent.rollout_length
        policy_loss, entropy_loss = policy_terms(
            jnp.concatenate(all_logits[1:]), flat.action[length:], advantages[length:], flat.in_lifetime[length:]
        )
        ended = 1.0 - flat.lifetime_goes_on[-1]
        last = jnp.arange(values.shape[0]) >= outer.window * length
        baseline_mask = flat.in_lifetime * jnp.where(last, ended, 1.0)
        baseline_loss = 0.5 * jnp.sum(jnp.square(values - lifetime_return) * baseline_mask)
        return policy_loss + outer.value_cost * baseline_loss + entropy_cost * entropy_loss

    def meta_gradient(
        self, networks: tuple[PyTree, PyTree], lifetimes: Lifetime, rollouts: Rollout, entropy_cost: jax.Array
    ) -> tuple[PyTree, PyTree]:
        """Returns the gradients of eta and phi, averaged over lifetimes, on recorded rollouts [L, N+1, ...].

        The gradient of each lifetime, then their mean, as in the paper. The other way round, the
        gradient of the mean, is twenty times slower: transposing a convolution whose kernels differ
        between lifetimes leaves XLA's fast path on a CPU.
        """

        one = jax.vmap(jax.grad(self.outer_loss), in_axes=(None, 0, 0, None))
        return jax.tree.map(lambda g: jnp.mean(g, axis=0), one(networks, lifetimes, rollouts, entropy_cost))

    def live_window(self, eta: PyTree, lifetime: Lifetime) -> tuple[Rollout, Lifetime]:
        """Returns R_0..R_N stacked and the lifetime after the window: act and learn N times, no gradient."""
        parts = self.parts
        keys = jax.random.split(window_key(self.seed, lifetime), self.config.outer.window)

        def advance(carry, key: jax.Array):
            agent, reward_state, rollout, world = carry
            agent, reward_state = self.inner_update(agent, reward_state, eta, rollout)
            _, world, following, _ = collect(parts.task, parts.agent, agent, world, key)
            return (agent, reward_state, following, world), rollout

        start = (lifetime.agent, lifetime.reward_state, lifetime.rollout, lifetime.world)
        (agent, reward_state, last, world), before = jax.lax.scan(advance, start, keys)
        rollouts = jax.tree.map(lambda x, y: jnp.concatenate([x, y[None]]), before, last)
        following = dataclasses.replace(
            lifetime, age=lifetime.age + 1, agent=agent, reward_state=reward_state, rollout=last, world=world
        )
        return rollouts, following

    def advance_value(self, phi: PyTree, state: LstmState, rollouts: Rollout) -> LstmState:
        """Returns the lifetime value's state before R_N."""
        flat = jax.tree.map(lambda x: x[:-1].reshape(-1, *x.shape[2:]), rollouts)
        return unroll_history(phi, state, flat, self.task.spec.num_actions, self.config.reward.sees_action)[1]

    def init(self) -> NaiveState:
        """Returns the state before the first update, the first generation staggered."""
        parts, num = self.parts, self.config.lifetimes
        key_eta, key_phi = jax.random.split(jax.random.fold_in(jax.random.key(self.seed), num + 1))
        networks = (parts.reward.init(key_eta), parts.value.init(key_phi))
        slots = jnp.arange(num, dtype=jnp.int32)
        episodes = slots * self.task.spec.episodes_per_lifetime // num
        lifetimes = jax.vmap(self._begin, in_axes=(None, 0, 0, 0))(networks[0], slots, jnp.zeros_like(slots), episodes)
        return NaiveState(
            update=jnp.zeros((), jnp.int32),
            networks=networks,
            optimizer=self._optimizer().init(networks),
            lifetimes=lifetimes,
        )

    @functools.partial(jax.jit, static_argnums=0, donate_argnums=1)
    def update(self, state: NaiveState) -> tuple[NaiveState, jax.Array]:
        """Returns the state after one update of eta and phi, and the meta-gradient's norm."""
        eta, phi = state.networks
        rollouts, lived = jax.vmap(self.live_window, in_axes=(None, 0))(eta, state.lifetimes)
        entropy_cost = scheduled(self.config.outer.entropy_cost, state.update)
        grads = self.meta_gradient(state.networks, state.lifetimes, rollouts, entropy_cost)
        steps, optimizer = self._optimizer().update(grads, state.optimizer, state.networks)
        value_states = jax.vmap(self.advance_value, in_axes=(None, 0, 0))(phi, state.lifetimes.value_state, rollouts)
        lived = dataclasses.replace(lived, value_state=value_states)
        newborn = jax.vmap(self._begin, in_axes=(None, 0, 0, None))(
            eta, lived.slot, lived.generation + 1, jnp.zeros((), jnp.int32)
        )
        ended = lived.world.alive == 0.0

        def replace(new: jax.Array, old: jax.Array) -> jax.Array:
            return jnp.where(ended.reshape(-1, *(1,) * (old.ndim - 1)), new, old)

        following = NaiveState(
            update=state.update + 1,
            networks=optax.apply_updates(state.networks, steps),
            optimizer=optimizer,
            lifetimes=jax.tree.map(replace, newborn, lived),
        )
        return following, optax.tree.norm(grads)

    def _begin(self, eta: PyTree, slot: jax.Array, generation: jax.Array, episode: jax.Array) -> Lifetime:
        return begin_lifetime(self.parts, eta, self.seed, slot, generation, episode)

    def _optimizer(self) -> optax.GradientTransformation:
        return optax.adam(self.config.outer.value_learning_rate)
