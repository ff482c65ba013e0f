"""The outer loss by identity: against a hand-written window, against itself recorded, and around the lifetime's end."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.meta.outer import outer_loss
from orexis.meta.rollout import collect
from orexis.networks import history, policy
from tests.instances import (
    AGENTS,
    HISTORY_NET,
    LENGTH,
    OUTER,
    Instance,
    loss_and_gradients,
    make_loss,
    norm,
    recorded_instance,
    small_parts,
    widen,
)

N = 2
ENTROPY_COST = 0.1
KEY = 7


@pytest.fixture(scope="module")
def live():
    """Loss, lifetime after, metrics and eta's gradient of a window lived live, in float32."""
    instance, parts = recorded_instance("sgd"), small_parts()

    @jax.jit
    def window(instance: Instance):
        def loss(eta):
            return outer_loss(
                parts, OUTER, eta, instance.phi, instance.lifetime, jnp.array(ENTROPY_COST), jax.random.key(KEY)
            )

        return jax.value_and_grad(loss, has_aux=True)(instance.eta)

    (loss, (following, metrics)), gradient = window(instance)
    return loss, following, metrics, gradient


@pytest.fixture(scope="module")
def by_hand():
    """The same window as a Python loop, straight from the equations; rollouts R_0..R_N and what there is to compare."""
    instance, parts, agent = recorded_instance("sgd"), small_parts(), AGENTS["sgd"]

    @jax.jit
    def window(instance: Instance):
        lifetime = instance.lifetime
        theta, reward_state, world = lifetime.agent.theta, lifetime.reward_state, lifetime.world
        rollouts, logits = [lifetime.rollout], []
        for key in jax.random.split(jax.random.key(KEY), N):
            hidden, reward_state = history.unroll(
                instance.eta, reward_state, rollouts[-1], parts.task.spec, HISTORY_NET
            )
            rewards = jnp.arctan(history.head(instance.eta, hidden))
            theta = hand_made_update(agent, theta, rollouts[-1], rewards)
            state = dataclasses.replace(lifetime.agent, theta=theta)
            _, world, rollout, _ = collect(parts.task, parts.agent, state, world, key)
            rollouts.append(rollout)
            logits.append(policy.apply(theta, rollout.observation[:-1])[0])

        joined = jax.tree.map(lambda *xs: jnp.concatenate([x[:LENGTH] for x in xs]), *rollouts)
        hidden, _ = history.unroll(instance.phi, lifetime.value_state, joined, parts.task.spec, HISTORY_NET)
        values = history.head(instance.phi, jnp.concatenate([lifetime.value_state.hidden[None], hidden]))
        _, value_state = history.unroll(
            instance.phi,
            lifetime.value_state,
            jax.tree.map(lambda x: x[: N * LENGTH], joined),
            parts.task.spec,
            HISTORY_NET,
        )
        log_pi = jax.nn.log_softmax(jnp.concatenate(logits))
        return rollouts, joined, values, value_state, log_pi, theta, reward_state, world

    return jax.tree.map(np.asarray, window(instance))


def hand_made_update(agent, theta, rollout, rewards):
    def loss(theta):
        total, following = 0.0, rollout.value[-1]
        logits, values = policy.apply(theta, rollout.observation[:-1])
        log_pi = jax.nn.log_softmax(logits)
        for t in reversed(range(LENGTH)):
            following = rewards[t] + agent.discount * rollout.episode_goes_on[t] * following
            entropy = -jnp.sum(jnp.exp(log_pi[t]) * log_pi[t])
            total -= log_pi[t, rollout.action[t]] * (following - rollout.value[t])
            total += -agent.entropy_cost * entropy + agent.value_cost * 0.5 * (values[t] - following) ** 2
        return total

    return jax.tree.map(lambda p, g: p - agent.learning_rate * g, theta, jax.grad(loss)(theta))


def test_the_loss_of_a_live_window_equals_the_equations_written_out(live, by_hand):
    loss, _, metrics, _ = live
    _, joined, values, _, log_pi, *_ = by_hand
    assert (joined.in_lifetime == 1.0).all()

    returns, following = np.zeros((N + 1) * LENGTH), values[-1]
    for t in reversed(range((N + 1) * LENGTH)):  # through episode ends, of which there are some
        following = joined.reward[t] + OUTER.discount * following
        returns[t] = following
    assert (joined.episode_goes_on == 0.0).any()
    advantages = returns - values[:-1]
    chosen = log_pi[np.arange(N * LENGTH), joined.action[LENGTH:]]
    policy_loss = -np.sum(chosen * advantages[LENGTH:])
    entropy = -np.sum(np.exp(log_pi) * log_pi)
    value_loss = 0.5 * np.sum(advantages[: N * LENGTH] ** 2)

    np.testing.assert_allclose(metrics.policy_loss, policy_loss, rtol=1e-4)
    np.testing.assert_allclose(metrics.entropy, entropy, rtol=1e-4)
    np.testing.assert_allclose(metrics.value_loss, value_loss, rtol=1e-4)
    np.testing.assert_allclose(metrics.value_error, 2 * value_loss, rtol=1e-4)
    np.testing.assert_allclose(loss, policy_loss - ENTROPY_COST * entropy + OUTER.value_cost * value_loss, rtol=1e-4)
    assert float(metrics.steps) == N * LENGTH
    np.testing.assert_allclose(metrics.extrinsic, joined.reward[LENGTH:].sum(), rtol=1e-5)


def test_the_lifetime_after_a_window_is_what_a_python_loop_leaves(live, by_hand):
    _, following, _, _ = live
    before = recorded_instance("sgd").lifetime
    rollouts, joined, _, value_state, _, theta, reward_state, world = by_hand

    def same(ours, expected):
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5), ours, expected)

    same(following.agent.theta, theta)  # theta_N, not yet updated with R_N
    same(following.rollout, rollouts[-1])  # R_N
    same(following.world, world)  # as R_N left it
    same(following.reward_state, reward_state)  # before R_N
    same(following.value_state, value_state)  # before R_N
    assert int(following.age) == int(before.age) + 1
    assert (int(following.slot), int(following.generation)) == (int(before.slot), int(before.generation))
    np.testing.assert_allclose(following.extrinsic, before.extrinsic + joined.reward[LENGTH:].sum(), rtol=1e-5)
    assert int(following.episodes) == int(before.episodes) + int((joined.episode_goes_on[LENGTH:] == 0.0).sum())


def test_a_recorded_window_has_the_loss_and_the_gradient_of_the_live_one(live, by_hand):
    loss, _, _, gradient = live
    rollouts = by_hand[0]
    with jax.enable_x64(True):
        instance = widen(recorded_instance("sgd"))
        recorded = widen(jax.tree.map(lambda *xs: np.stack(xs), *rollouts[1:]))
        (recorded_loss, _), (recorded_gradient, _, _) = loss_and_gradients("sgd", N)(
            instance.eta, instance.phi, instance.entering, instance.lifetime, recorded, ENTROPY_COST
        )
    np.testing.assert_allclose(loss, recorded_loss, rtol=1e-4)
    scale = norm(recorded_gradient)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-4 * scale), gradient, recorded_gradient)


# Around the end of a lifetime: the recorded window is made to end on the arrival of a given row.


def ending_on(recorded, row: int):
    """Returns R_1..R_N of a lifetime that ends on the arrival of `row` (counted from R_1's first)."""
    rows = np.arange(N * LENGTH).reshape(N, LENGTH)
    return dataclasses.replace(
        recorded,
        in_lifetime=np.where(rows <= row, 1.0, 0.0),
        lifetime_goes_on=np.where(rows < row, 1.0, 0.0),
        episode_goes_on=np.where(rows == row, 0.0, recorded.episode_goes_on),
        reward=np.where(rows <= row, recorded.reward, 0.0),
    )


def judged(recorded, **changes):
    """Returns ((loss, (lifetime, metrics)), gradients) of the window `recorded` with some of its fields changed."""
    with jax.enable_x64(True):
        instance = widen(recorded_instance("sgd"))
        recorded = jax.tree.map(jnp.asarray, dataclasses.replace(recorded, **changes))
        results = loss_and_gradients("sgd", N)(
            instance.eta, instance.phi, instance.entering, instance.lifetime, recorded, ENTROPY_COST
        )
        return jax.tree.map(np.asarray, results)


def float64_rollouts():
    recorded = recorded_instance("sgd").rollouts(N)
    return jax.tree.map(lambda x: x.astype(np.float64) if x.dtype == np.float32 else x, recorded)


def corrupted_after(recorded, row: int):
    """Returns `recorded` with noise in everything that is known only after the arrival of `row`, masks aside."""
    rng = np.random.default_rng(0)
    late = np.arange(N * LENGTH).reshape(N, LENGTH) > row

    def noisy(x: np.ndarray, where: np.ndarray) -> np.ndarray:
        return np.where(where.reshape(*where.shape, *[1] * (x.ndim - 2)), rng.normal(size=x.shape), x)

    # Row T of observations and values belongs to the state after the rollout's last arrival.
    late_with_last = np.concatenate([late, np.arange(1, N + 1)[:, None] * LENGTH > row], axis=1)
    return dataclasses.replace(
        recorded,
        observation=noisy(recorded.observation, late_with_last),
        value=noisy(recorded.value, late_with_last),
        next_observation=noisy(recorded.next_observation, late),
        reward=noisy(recorded.reward, late),
        action=np.where(late, (recorded.action + 1) % 4, recorded.action),
        episode_goes_on=np.where(late, 1.0 - recorded.episode_goes_on, recorded.episode_goes_on),
    )


@pytest.mark.parametrize("row", [1, LENGTH - 1, LENGTH + 1], ids=["inside R_1", "at R_1's end", "inside R_2"])
def test_nothing_after_the_end_of_a_lifetime_reaches_the_loss_or_a_gradient(row: int):
    clean = ending_on(float64_rollouts(), row)
    (loss, _), (eta_gradient, phi_gradient, _) = judged(clean)
    (noisy_loss, _), (noisy_eta, noisy_phi, _) = judged(corrupted_after(clean, row))

    np.testing.assert_allclose(noisy_loss, loss, rtol=1e-12)
    for ours, noisy in ((eta_gradient, noisy_eta), (phi_gradient, noisy_phi)):
        assert norm(ours) > 1e-3
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12), ours, noisy)


def test_the_same_noise_one_row_earlier_is_noticed():
    clean = ending_on(float64_rollouts(), 4)
    (loss, _), _ = judged(clean)
    (noisy_loss, _), _ = judged(corrupted_after(clean, 3))
    assert abs(noisy_loss - loss) > 1e-3


def test_the_last_real_step_is_in_the_loss_although_its_discount_is_zero():
    # The lifetime ends on the very first arrival of R_1: that step is all there is to judge theta_1 by.
    clean = ending_on(float64_rollouts(), 0)
    assert (clean.in_lifetime[0, 0], clean.lifetime_goes_on[0, 0]) == (1.0, 0.0)
    (_, (_, metrics)), (eta_gradient, _, _) = judged(clean)
    assert metrics.steps == 1.0
    assert abs(metrics.policy_loss) > 1e-3
    assert norm(eta_gradient) > 1e-3


@pytest.mark.parametrize(
    ("row", "value_rows"),
    [
        (None, N * LENGTH),  # goes on: R_0 and R_1; R_2 waits for the next window, of which it is R_0
        (1, LENGTH + 2),  # ended in R_1: R_0 and two real rows
        (LENGTH + 1, N * LENGTH + 2),  # ended in R_2: its two real rows will have no next window
        (N * LENGTH - 1, (N + 1) * LENGTH),  # ended with R_2
    ],
    ids=["goes on", "ended in R_1", "ended in R_2", "ended with R_2"],
)
def test_the_last_rollout_joins_the_value_loss_only_where_the_lifetime_ended(row: int | None, value_rows: int):
    recorded = float64_rollouts()
    (_, (_, metrics)), _ = judged(recorded if row is None else ending_on(recorded, row))
    assert float(metrics.value_rows) == value_rows


def test_a_window_after_the_end_has_no_loss_and_no_gradient():
    recorded = ending_on(float64_rollouts(), -1)
    with jax.enable_x64(True):
        instance = widen(recorded_instance("sgd"))
        nothing = jnp.zeros(LENGTH)
        rollout = dataclasses.replace(instance.lifetime.rollout, in_lifetime=nothing, lifetime_goes_on=nothing)
        lifetime = dataclasses.replace(instance.lifetime, rollout=rollout)
        (loss, (_, metrics)), gradients = loss_and_gradients("sgd", N)(
            instance.eta, instance.phi, instance.entering, lifetime, jax.tree.map(jnp.asarray, recorded), ENTROPY_COST
        )
    assert float(loss) == 0.0
    assert norm(gradients[:2]) == 0.0
    assert float(metrics.steps) == float(metrics.rewarded) == float(metrics.value_rows) == 0.0


def test_returns_run_through_episode_ends_unless_the_objective_is_the_episode():
    with jax.enable_x64(True):
        instance = widen(recorded_instance("sgd"))
        loss = make_loss(small_parts(), dataclasses.replace(OUTER, objective="episode"))
        episode_loss = jax.jit(lambda *arguments: loss(*arguments)[0])

        # An episode ends with R_1, and only R_1's rows are judged: whatever R_2 pays is another episode's.
        recorded = float64_rollouts()
        ends, judged_rows = recorded.episode_goes_on.copy(), recorded.in_lifetime.copy()
        ends[0, -1], judged_rows[1] = 0.0, 0.0
        poor = dataclasses.replace(recorded, episode_goes_on=ends, in_lifetime=judged_rows)
        rich = dataclasses.replace(poor, reward=np.stack([poor.reward[0], poor.reward[1] + 1.0]))

        losses = [
            episode_loss(
                instance.eta,
                instance.phi,
                instance.entering,
                instance.lifetime,
                jax.tree.map(jnp.asarray, rollouts),
                ENTROPY_COST,
            )
            for rollouts in (poor, rich)
        ]
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-12)
    assert abs(judged(poor)[0][0] - judged(rich)[0][0]) > 1e-2
