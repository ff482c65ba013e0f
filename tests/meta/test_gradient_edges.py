"""Every row of the gradient table (design, section 5): which edges carry gradient to eta, and which do not.

The signature test proves the sum of all edges; these prove them one by one, so that a failure
says which. An edge that must carry gradient is cut in a copy made here: the loss stays, the gradient
must not. An edge that must not is differentiated directly: the result is zero to the last bit,
while what is at its end does move when what is at its beginning does.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from orexis.agents import actor_critic
from orexis.agents.actor_critic import ActorCritic, ActorCriticState
from orexis.losses import log_probability
from orexis.meta.learned.window import unroll_window
from orexis.meta.rollout import collect
from orexis.networks import policy
from orexis.optimizers import Adam
from orexis.returns import discounted_returns
from orexis.types import Rollout
from tests.instances import (
    AGENTS,
    LENGTH,
    OUTER,
    Instance,
    difference,
    loss_and_gradients,
    make_loss,
    norm,
    recorded_instance,
    small_parts,
    widen,
)

pytestmark = pytest.mark.usefixtures("float64")

N = 2
ENTROPY_COST = 0.1


def judge(agent: str, entropy_cost: float = ENTROPY_COST, **changes):
    """Returns loss, metrics and gradients (eta, phi, entering) of the recorded window with `changes` made to it.

    `changes` replace eta, phi, entering, lifetime or recorded.
    """
    instance = widen(recorded_instance(agent))
    arguments = {
        "eta": instance.eta,
        "phi": instance.phi,
        "entering": instance.entering,
        "lifetime": instance.lifetime,
        "recorded": instance.rollouts(N),
    } | changes
    (loss, (_, metrics)), gradients = loss_and_gradients(agent, N)(*arguments.values(), entropy_cost)
    return loss, metrics, gradients


def gradient_with(parts, agent: str):
    """Returns loss and eta's gradient of the recorded window lived by other `parts`."""
    instance = widen(recorded_instance(agent))
    compiled = jax.jit(jax.value_and_grad(make_loss(parts, OUTER), has_aux=True))
    (loss, _), gradient = compiled(
        instance.eta, instance.phi, instance.entering, instance.lifetime, instance.rollouts(N), ENTROPY_COST
    )
    return loss, gradient


def assert_cut_matters(whole: tuple, cut: tuple) -> None:
    """Asserts of two pairs (loss, gradient) that they are the same function with other gradients."""
    np.testing.assert_allclose(cut[0], whole[0], rtol=1e-12)
    assert norm(difference(whole[1], cut[1])) > 1e-3 * norm(whole[1])


@dataclasses.dataclass
class InnerUpdate:
    """One SGD update of theta from three steps, an episode's end after the second, and its derivatives."""

    theta: dict
    rollout: Rollout
    to_rewards: dict  # each leaf with a last axis T
    to_values: dict  # each leaf with a last axis T+1


@pytest.fixture(scope="module")
def inner_update() -> InnerUpdate:
    with jax.enable_x64(True):
        instance: Instance = widen(recorded_instance("sgd"))
        agent, state = small_parts().agent, instance.lifetime.agent
        rollout = dataclasses.replace(instance.lifetime.rollout, episode_goes_on=jnp.array([1.0, 0.0, 1.0]))

        def update(rewards: jax.Array, values: jax.Array) -> dict:
            returns = small_parts().reward.returns
            return agent.update(state, dataclasses.replace(rollout, value=values), rewards, returns).theta

        rewards = jnp.array([0.5, -0.3, 0.8])
        derivatives = jax.jit(lambda *arguments: [jax.jacrev(update, argnums=i)(*arguments) for i in (0, 1)])
        to_rewards, to_values = derivatives(rewards, rollout.value)
        return InnerUpdate(state.theta, rollout, to_rewards, to_values)


def rows_weighted_by_discount(of_rows: jax.Array) -> jax.Array:
    """Returns f[..., T], for each reward t the sum over rows s of dG_s/dr_t · of_rows[s].

    gamma-bar is 0.9 and the episode ends on arrival 1, so dG_s/dr_t is
        s = 0:  1  0.9  0
        s = 1:  0   1   0
        s = 2:  0   0   1
    """
    weights = jnp.array([[1.0, 0.9, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    return jnp.moveaxis(jnp.tensordot(weights, of_rows, axes=(0, 0)), 0, -1)


def test_reward_to_advantage_to_policy_loss_carries_gradient(inner_update: InnerUpdate):
    def log_probabilities(head: dict) -> jax.Array:
        logits, _ = policy.apply({**inner_update.theta, "policy": head}, inner_update.rollout.observation[:-1])
        return log_probability(logits, inner_update.rollout.action)

    # The policy head learns from the policy loss alone: theta' = theta + alpha · Σ_s (G_s − v_s) · grad log pi(a_s) …
    of_rows = jax.jit(jax.jacrev(log_probabilities))(inner_update.theta["policy"])
    for name, rows in of_rows.items():
        expected = AGENTS["sgd"].learning_rate * rows_weighted_by_discount(rows)
        assert norm(expected) > 1e-3
        np.testing.assert_allclose(inner_update.to_rewards["policy"][name], expected, rtol=1e-9, atol=1e-12)


def test_reward_to_value_target_carries_gradient(inner_update: InnerUpdate):
    def values(head: dict) -> jax.Array:
        return policy.apply({**inner_update.theta, "value": head}, inner_update.rollout.observation[:-1])[1]

    # … and the value head from the value loss alone: theta' = theta − alpha · c_b · Σ_s (v_s − G_s) · grad v_s.
    of_rows = jax.jit(jax.jacrev(values))(inner_update.theta["value"])
    for name, rows in of_rows.items():
        expected = AGENTS["sgd"].learning_rate * AGENTS["sgd"].value_cost * rows_weighted_by_discount(rows)
        assert norm(expected) > 1e-3
        np.testing.assert_allclose(inner_update.to_rewards["value"][name], expected, rtol=1e-9, atol=1e-12)


def test_the_torso_hears_of_rewards_through_both_losses(inner_update: InnerUpdate):
    agent = AGENTS["sgd"]

    def heard(torso: dict) -> jax.Array:
        logits, values = policy.apply({**inner_update.theta, "hidden": torso}, inner_update.rollout.observation[:-1])
        return log_probability(logits, inner_update.rollout.action) + agent.value_cost * values

    of_rows = jax.jit(jax.jacrev(heard))(inner_update.theta["hidden"])
    expected = jax.tree.map(lambda rows: agent.learning_rate * rows_weighted_by_discount(rows), of_rows)
    assert norm(expected) > 1e-3
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12),
        inner_update.to_rewards["hidden"],
        expected,
    )


def test_values_recorded_while_acting_carry_no_gradient(inner_update: InnerUpdate):
    for leaf in jax.tree.leaves(inner_update.to_values):  # baseline v_0..v_{T-1} and bootstrap v_T alike
        assert leaf.shape[-1] == LENGTH + 1
        np.testing.assert_array_equal(leaf, np.zeros(leaf.shape))


def test_values_recorded_while_acting_do_move_the_update():
    instance: Instance = widen(recorded_instance("sgd"))
    base, _, _ = judge("sgd")
    for place in (0, LENGTH):  # a baseline and the bootstrap
        value = instance.lifetime.rollout.value.at[place].add(1.0)
        # The last arrival must not end an episode, or the bootstrap would not count.
        rollout = dataclasses.replace(instance.lifetime.rollout, value=value)
        moved, _, _ = judge("sgd", lifetime=dataclasses.replace(instance.lifetime, rollout=rollout))
        assert instance.lifetime.rollout.episode_goes_on[-1] == 1.0
        assert abs(moved - base) > 1e-6


class FirstOrder(ActorCritic):
    """theta_{k+1} = theta_k − alpha · grad L_in(stopped theta_k): the update without its second-order edge."""

    def update_with_logits(self, state: ActorCriticState, rollout, rewards, returns):
        stopped = jax.lax.stop_gradient(state)
        updated, _ = super().update_with_logits(stopped, rollout, rewards, returns)
        theta = jax.tree.map(lambda new, old, still: new + (old - still), updated.theta, state.theta, stopped.theta)
        return dataclasses.replace(updated, theta=theta), self.logits(state, rollout.observation[:-1])


def test_theta_to_its_own_next_gradient_carries_gradient_the_second_order_edge():
    parts = small_parts("sgd")
    first_order = FirstOrder(parts.agent.spec, parts.agent.config)
    loss, _, (gradient, _, _) = judge("sgd")
    assert_cut_matters((loss, gradient), gradient_with(dataclasses.replace(parts, window_agent=first_order), "sgd"))


class ForgetfulAdam(Adam):
    """Adam whose moments enter each update as constants."""

    def update(self, grads, state, theta):
        return super().update(grads, jax.lax.stop_gradient(state), theta)


def test_adams_first_moment_carries_gradient_inside_the_window(monkeypatch):
    loss, _, (gradient, _, _) = judge("adam")  # compiled and judged before anything is patched
    forgetful = ForgetfulAdam(AGENTS["adam"].learning_rate)
    monkeypatch.setattr(actor_critic, "make_optimizer", lambda config: forgetful)
    assert_cut_matters((loss, gradient), gradient_with(small_parts("adam"), "adam"))


def test_adams_denominator_carries_no_gradient_by_default_and_does_as_an_option():
    # That each is right is proved by finite differences (test_meta_gradient) and by hand (test_optimizers);
    # here: the option is heard, and it is gradient alone that it changes.
    stopped_loss, _, (stopped, _, _) = judge("adam")
    differentiated_loss, _, (differentiated, _, _) = judge("adam-differentiated")
    np.testing.assert_allclose(differentiated_loss, stopped_loss, rtol=1e-2)  # apart by eps_root
    assert norm(difference(stopped, differentiated)) > 1e-2 * norm(stopped)


def test_etas_recurrent_state_carries_gradient_inside_the_window():
    instance: Instance = widen(recorded_instance("sgd"))
    parts, lifetime = small_parts(), instance.lifetime
    rewarded = [lifetime.rollout, jax.tree.map(lambda x: x[0], instance.recorded)]  # R_0, R_1

    def in_the_window(eta):
        window = unroll_window(parts, eta, lifetime, N, jax.random.key(0), instance.rollouts(N))
        return jnp.sum(window.rewards[LENGTH:])  # of R_1

    def in_one_long_unroll(eta):
        joined = jax.tree.map(lambda a, b: jnp.concatenate([a[:LENGTH], b[:LENGTH]]), *rewarded)
        return jnp.sum(parts.reward.unroll(eta, lifetime.reward_state, joined)[0][LENGTH:])

    def with_the_state_stopped(eta):
        _, state = parts.reward.unroll(eta, lifetime.reward_state, rewarded[0])
        return jnp.sum(parts.reward.unroll(eta, jax.lax.stop_gradient(state), rewarded[1])[0])

    functions = (in_the_window, in_one_long_unroll, with_the_state_stopped)
    rewards, gradients = zip(
        *jax.jit(lambda eta: [jax.value_and_grad(f)(eta) for f in functions])(instance.eta), strict=True
    )

    np.testing.assert_allclose(rewards, rewards[0], rtol=1e-12)
    window, whole, cut = (np.asarray(ravel_pytree(gradient)[0]) for gradient in gradients)
    np.testing.assert_allclose(window, whole, rtol=1e-9, atol=1e-12)
    assert np.linalg.norm(whole - cut) > 1e-2 * np.linalg.norm(whole)


def only_rows_of(number: int):
    """Returns the recorded window with every other rollout than R_number outside the lifetime: no loss sees them."""
    recorded = widen(recorded_instance("sgd")).rollouts(N)
    mask = jnp.zeros_like(recorded.in_lifetime).at[number - 1].set(1.0)
    return dataclasses.replace(recorded, in_lifetime=mask)


@pytest.mark.parametrize("number", [1, 2])
def test_logits_of_every_rollout_carry_gradient_through_the_policy_loss(number: int):
    _, _, (gradient, _, _) = judge("sgd", entropy_cost=0.0, recorded=only_rows_of(number))
    assert norm(gradient) > 1e-4


@pytest.mark.parametrize("number", [1, 2])
def test_logits_of_every_rollout_carry_gradient_through_the_outer_entropy(number: int):
    _, _, (without, _, _) = judge("sgd", entropy_cost=0.0, recorded=only_rows_of(number))
    _, _, (with_entropy, _, _) = judge("sgd", entropy_cost=1.0, recorded=only_rows_of(number))
    assert norm(difference(with_entropy, without)) > 1e-4


def test_what_acting_returns_carries_no_gradient():
    instance = recorded_instance("sgd")
    with jax.enable_x64(False):
        parts, lifetime = small_parts(), jax.tree.map(jnp.asarray, instance.lifetime)

        def act(theta):
            state = dataclasses.replace(lifetime.agent, theta=theta)
            _, world, rollout, steps = collect(parts.task, parts.agent, state, lifetime.world, jax.random.key(0))
            everything = jax.tree.leaves((rollout, world))
            floats = [x for x in everything if jnp.issubdtype(x.dtype, jnp.floating)]
            return floats, steps.entropy

        def pull(theta):
            recorded, backwards = jax.vjp(act, theta)
            leaves, structure = jax.tree.flatten(recorded)
            weights = [jax.random.normal(jax.random.key(i), x.shape) for i, x in enumerate(leaves)]
            return recorded, backwards(jax.tree.unflatten(structure, weights))[0]  # of a random sum of all outputs

        theta = lifetime.agent.theta
        compiled = jax.jit(pull)
        (floats, entropies), gradient = compiled(theta)
        elsewhere = compiled(jax.tree.map(lambda x: x + 0.1, theta))[0][0]

    assert len(floats) > 6
    assert entropies.size == parts.agent.rollout_length
    for of_layer in jax.tree.leaves(gradient):
        np.testing.assert_array_equal(of_layer, np.zeros(of_layer.shape))
    # … though theta decides what is recorded: the values, and through the actions all the rest.
    assert any(np.any(np.asarray(a) != np.asarray(b)) for a, b in zip(floats, elsewhere, strict=True))


@pytest.mark.parametrize("agent", ["sgd", "adam"])
def test_what_entered_the_window_carries_no_gradient(agent: str):
    _, _, (_, _, entering) = judge(agent)
    floats = [x for x in jax.tree.leaves(entering) if jnp.issubdtype(x.dtype, jnp.floating)]
    assert len(floats) >= 12  # theta's eight arrays and two LSTM states
    for gradient in floats:
        np.testing.assert_array_equal(gradient, np.zeros(gradient.shape))


@pytest.mark.parametrize("part", ["theta", "first", "second", "reward_state", "value_state"])
def test_what_entered_the_window_does_move_the_loss(part: str):
    entering = widen(recorded_instance("adam")).entering

    def nudged(tree):
        return jax.tree.map(lambda x: x + 0.05, tree)

    if part == "theta":
        moved = dataclasses.replace(
            entering, agent=dataclasses.replace(entering.agent, theta=nudged(entering.agent.theta))
        )
    elif part in ("first", "second"):
        optimizer = dataclasses.replace(
            entering.agent.optimizer, **{part: nudged(getattr(entering.agent.optimizer, part))}
        )
        moved = dataclasses.replace(entering, agent=dataclasses.replace(entering.agent, optimizer=optimizer))
    else:
        moved = dataclasses.replace(entering, **{part: nudged(getattr(entering, part))})

    assert abs(judge("adam", entering=moved)[0] - judge("adam")[0]) > 1e-6


def test_the_outer_advantage_carries_no_gradient_to_phi():
    # The advantage multiplies log pi. If phi were reached through it, phi's gradient would change with the policies,
    # and so with eta; through the value loss alone it cannot.
    instance = widen(recorded_instance("sgd"))
    loss, _, (_, phi_gradient, _) = judge("sgd")
    other_eta = jax.tree.map(lambda x: x + 0.2, instance.eta)
    other_loss, _, (_, other_gradient, _) = judge("sgd", eta=other_eta)
    assert abs(other_loss - loss) > 1e-6
    assert norm(phi_gradient) > 1e-2
    assert norm(difference(phi_gradient, other_gradient)) <= 1e-12 * norm(phi_gradient)


def test_the_lifetime_return_is_a_constant_target_of_phi():
    instance = widen(recorded_instance("sgd"))
    _, _, (_, phi_gradient, _) = judge("sgd")
    lifetime, num_rows = instance.lifetime, N * LENGTH
    rollouts = jax.tree.map(
        lambda a, b: jnp.concatenate([a[:LENGTH], *(x[:LENGTH] for x in b)]), lifetime.rollout, instance.rollouts(N)
    )

    def pull_back(phi):
        values, vjp = jax.vjp(
            lambda phi: small_parts().value.unroll(phi, lifetime.value_state, rollouts, num_rows)[0], phi
        )
        returns = discounted_returns(rollouts.reward, OUTER.discount * rollouts.lifetime_goes_on, values[-1])
        # c_v · Σ (V_t − G_t) · grad V_t over R_0..R_{N-1}: no row for the bootstrap that G is made of
        errors = (values[:-1] - returns) * (jnp.arange(returns.shape[0]) < num_rows)
        return vjp(jnp.append(OUTER.value_cost * errors, 0.0))[0]

    expected = jax.jit(pull_back)(instance.phi)
    assert norm(expected) > 1e-2
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12), phi_gradient, expected)
