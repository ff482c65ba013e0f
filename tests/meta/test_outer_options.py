"""What the outer loss has beyond the paper's: a cost on rewards, running scales, all actions, a privileged value."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from orexis.meta.learned.window import unroll_window
from orexis.meta.outer import Scales, judge_actions, see_facts
from tests.instances import KINDS, LENGTH, make_loss, recorded_instance, small_parts, widen

N = 2
ENTROPY_COST = 0.1


def judged(kind: str, **changes):
    """Returns loss and metrics of the recorded window of a kind, its outer loss changed."""
    with jax.enable_x64(True):
        instance = widen(recorded_instance("sgd", kind))
        config = dataclasses.replace(KINDS[kind].outer, window=N, **changes)
        loss = jax.jit(make_loss(small_parts("sgd", kind=kind), config))
        rest = (instance.lifetime, instance.rollouts(N), ENTROPY_COST, instance.others(N))
        value, (_, metrics) = loss(instance.eta, instance.phi, instance.entering, *rest)
        return float(value), metrics


def test_the_cost_on_rewards_is_their_sum_of_squares():
    free, metrics = judged("reward-cost", reward_cost=0.0)
    costly, _ = judged("reward-cost", reward_cost=0.3)
    with jax.enable_x64(True):
        instance, parts = widen(recorded_instance("sgd", "reward-cost")), small_parts("sgd")
        window = unroll_window(parts, instance.eta, instance.lifetime, N, jax.random.key(0), instance.rollouts(N))
    np.testing.assert_allclose(costly - free, 0.3 * np.sum(np.square(np.asarray(window.rewards))), rtol=1e-9)
    assert float(metrics.rewarded) == N * LENGTH


def test_in_a_unit_rewards_are_divided_by_it_and_metrics_are_not():
    _, plain = judged("planes")
    _, scaled = judged("scaled")  # SCALES: a unit of 2, advantages of 0.5 in it
    np.testing.assert_allclose(scaled.extrinsic, plain.extrinsic)
    assert float(scaled.return_square) != float(plain.return_square)  # phi now speaks in units
    assert abs(float(scaled.policy_loss) - float(plain.policy_loss)) > 1e-3


def test_all_actions_with_one_step_advantages_do_not_depend_on_which_was_sampled():
    # With λ = 0 the advantage of the action taken is what is expected of it, so the sample's term is zero: the loss
    # is −Σ_t Σ_a pi(a)·(Q(s_t, a) − V_t), which `judge_actions` and the window's logits tell.
    with jax.enable_x64(True):
        instance, parts = widen(recorded_instance("sgd", "all-actions")), small_parts("sgd", kind="all-actions")
        config = dataclasses.replace(KINDS["all-actions"].outer, window=N, gae_lambda=0.0)
        lifetime, recorded, others = instance.lifetime, instance.rollouts(N), instance.others(N)
        _, (_, metrics) = make_loss(parts, config)(
            instance.eta, instance.phi, instance.entering, lifetime, recorded, ENTROPY_COST, others
        )
        window = unroll_window(parts, instance.eta, lifetime, N, jax.random.key(0), recorded, True, others)
        values, _ = parts.value.unroll(instance.phi, lifetime.value_state, window.rollouts, N * LENGTH)
        expected = judge_actions(parts, config, instance.phi, lifetime, window, (), values, Scales.ones())
        chances = jax.nn.softmax(window.logits[LENGTH:])
    np.testing.assert_allclose(metrics.policy_loss, -np.sum(np.asarray(chances) * np.asarray(expected)), rtol=1e-9)


def test_what_is_expected_of_the_action_taken_is_its_one_step_error():
    with jax.enable_x64(True):
        instance, parts = widen(recorded_instance("sgd", "steady")), small_parts("sgd", kind="steady")
        config = dataclasses.replace(KINDS["steady"].outer, window=N)
        lifetime, scales = instance.lifetime, Scales(jnp.asarray(2.0), jnp.asarray(0.5))
        window = unroll_window(
            parts, instance.eta, lifetime, N, jax.random.key(0), instance.rollouts(N), True, instance.others(N)
        )
        rewards = window.rollouts.reward / scales.unit
        facts = see_facts(window, rewards, lifetime, scales)
        seen = dataclasses.replace(window.rollouts, hints=())
        values, _ = parts.value.unroll(instance.phi, lifetime.value_state, seen, N * LENGTH, facts)
        expected = judge_actions(parts, config, instance.phi, lifetime, window, facts, values, scales)
        errors = rewards + config.discount * window.rollouts.lifetime_goes_on * values[1:] - values[:-1]
    taken = np.asarray(expected)[np.arange(N * LENGTH), np.asarray(window.rollouts.action[LENGTH:])]
    # V after the step taken differs in one fact alone: the policy's entropy there, which no alternative knows.
    plain = np.asarray(errors[LENGTH:])
    assert np.corrcoef(taken, plain)[0, 1] > 0.9
    assert np.abs(taken - plain).max() < 0.5 * np.abs(plain).max()
