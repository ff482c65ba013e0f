"""The signature test: the meta-gradient equals central finite differences in float64, and is not zero.

On a recorded window nothing that is sampled moves with eta, so L_out is smooth in eta (apart from
relu's kinks) and its slope can be measured: (L(eta + e·d) − L(eta − e·d)) / 2e along a direction d.
"""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from orexis.agents import actor_critic
from orexis.networks.clock import NUM_FEATURES
from orexis.optimizers import Adam, AdamState
from orexis.returns import discounted_returns
from orexis.types import Rollout
from tests.instances import (
    AGENTS,
    HISTORY_NET,
    KINDS,
    LENGTH,
    MAX_UPDATES,
    OUTER,
    Instance,
    loss_and_gradients,
    make_loss,
    norm,
    recorded_instance,
    small_parts,
    widen,
)

pytestmark = pytest.mark.usefixtures("float64")

ENTROPY_COST = 0.1
STEP = 1e-6
TOLERANCE = 1e-5
GROUPS = {
    "egocentric": ("hidden", "core", "head"),
    "ledger": ("hidden", "core", "head"),
    "initialisation": ("conv", "hidden", "policy", "value"),
}
ALL_GROUPS = ("conv", "hidden", "core", "head")
NUM_DIRECTIONS = 4
NUM_COORDINATES = 3  # of each array of each group


def directions_to_check(params, gradient: np.ndarray, kind: str) -> list[np.ndarray]:
    """Returns random unit directions over all parameters, and for each array its steepest coordinates."""
    rng = np.random.default_rng(0)
    directions = [d / np.linalg.norm(d) for d in rng.normal(size=(NUM_DIRECTIONS, gradient.size))]
    indices, _ = ravel_pytree(jax.tree.map(lambda x: jnp.zeros(x.shape), params))
    _, restore = ravel_pytree(params)
    numbered = restore(jnp.arange(indices.size, dtype=indices.dtype))
    assert set(numbered) == set(GROUPS.get(kind, ALL_GROUPS))
    for array in jax.tree.leaves(numbered):
        places = np.asarray(array).astype(int).ravel()
        steepest = places[np.argsort(-np.abs(gradient[places]))][:NUM_COORDINATES]
        directions.extend(np.eye(gradient.size)[place] for place in steepest)
    return directions


def assert_slopes(loss_of, params, gradient, kind: str = "planes") -> None:
    """Asserts that `gradient` is the slope of `loss_of` at `params`, in every direction tried, and is not zero."""
    flat, restore = ravel_pytree(params)
    flat_gradient = np.asarray(ravel_pytree(gradient)[0])
    assert flat.dtype == jnp.float64
    size = np.linalg.norm(flat_gradient)
    assert size > 1e-2
    for group in GROUPS.get(kind, ALL_GROUPS):
        assert norm(gradient[group]) > 1e-4 * size, f"no gradient reaches {group}"
    for direction in directions_to_check(params, flat_gradient, kind):
        above, below = (float(loss_of(restore(flat + sign * STEP * direction))) for sign in (1.0, -1.0))
        measured, claimed = (above - below) / (2 * STEP), float(flat_gradient @ direction)
        # Rounding alone moves `measured` by about 1e-16 · |L| / STEP, 1e-9: below that a slope cannot be told from 0.
        np.testing.assert_allclose(measured, claimed, rtol=TOLERANCE, atol=1e-8)


@pytest.fixture(params=[1, 2, 3], ids="N={}".format)
def num_updates(request) -> int:
    return request.param


EACH_LENGTH = (("sgd", "planes"), ("adam-differentiated", "planes"), ("sgd-clipped", "steady"))  # steady: all of ours
ONE_LENGTH = (("sgd-clipped", "planes"), ("adam-clipped", "planes"), *(("sgd", kind) for kind in KINDS))


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("agent", "kind", "num_updates"),
    [
        *((*case, num_updates) for case in EACH_LENGTH for num_updates in (1, 2, 3)),
        *((*case, 2) for case in ONE_LENGTH if case not in EACH_LENGTH),
    ],
    ids=str,
)
def test_the_meta_gradient_equals_finite_differences_and_is_not_zero(agent: str, kind: str, num_updates: int):
    instance = widen(recorded_instance(agent, kind))
    compiled = loss_and_gradients(agent, num_updates, kind)
    recorded, others = instance.rollouts(num_updates), instance.others(num_updates)
    rest = (instance.entering, instance.lifetime, recorded, ENTROPY_COST, others)

    _, (eta_gradient, _, _) = compiled(instance.eta, instance.phi, *rest)

    assert_slopes(lambda eta: compiled(eta, instance.phi, *rest)[0][0], instance.eta, eta_gradient, kind)


def test_the_meta_gradient_reaches_the_weights_of_the_clock():
    instance, num_updates = widen(recorded_instance("sgd", "clock")), 2
    ends = 1.0 - instance.lifetime.rollout.episode_goes_on
    assert int(instance.lifetime.reward_state.ended) == int(instance.lifetime.world.episode) - int(ends.sum()) > 0
    rest = (instance.entering, instance.lifetime, instance.rollouts(num_updates), ENTROPY_COST)
    _, (gradient, phi_gradient, _) = loss_and_gradients("sgd", num_updates, "clock")(instance.eta, instance.phi, *rest)
    first = HISTORY_NET.num_hidden + 2  # after what is seen, reward and done
    for each in (gradient, phi_gradient):
        weights = np.asarray(each["core"]["wx"])[first : first + NUM_FEATURES]
        assert (np.abs(weights).max(axis=1) > 1e-6).all()


class FrozenAdam(Adam):
    """Adam whose denominators are given: number k divides the k-th update of the window."""

    def __init__(self, learning_rate: float, denominators, first_step):
        super().__init__(learning_rate)
        self.denominators, self.first_step = denominators, first_step

    def update(self, grads, state: AdamState, theta):
        first = jax.tree.map(lambda m, g: self.b1 * m + (1 - self.b1) * g, state.first, grads)
        step = state.step + 1
        correction = 1 - self.b1 ** step.astype(float)
        theta = jax.tree.map(
            lambda p, m, d: p - self.learning_rate * (m / correction) / d[state.step - self.first_step],
            theta,
            first,
            self.denominators,
        )
        return theta, AdamState(step=step, first=first, second=state.second)


@functools.cache
def recorded_denominators():
    """Returns sqrt(v̂) + eps of every update of the recorded window at the base eta, stacked along a first axis N."""
    parts, instance = small_parts("adam"), widen(recorded_instance("adam"))

    @jax.jit
    def second_moments(instance: Instance):
        def update(carry, rollout: Rollout):
            agent_state, reward_state = carry
            rewards, reward_state = parts.reward.unroll(instance.eta, reward_state, rollout)
            agent_state = parts.agent.update(agent_state, rollout, rewards, parts.reward.returns)
            return (agent_state, reward_state), agent_state.optimizer

        first, rest = instance.lifetime.rollout, instance.rollouts(MAX_UPDATES - 1)
        rewarded = jax.tree.map(lambda x, xs: jnp.concatenate([x[None], xs]), first, rest)  # R_0..R_{N-1}
        return jax.lax.scan(update, (instance.lifetime.agent, instance.lifetime.reward_state), rewarded)[1]

    adam = second_moments(instance)
    steps = np.asarray(adam.step)
    return jax.tree.map(
        lambda v: np.stack([np.sqrt(v[k] / (1 - 0.999**step)) + 1e-8 for k, step in enumerate(steps)]),
        jax.tree.map(np.asarray, adam.second),
    )


def test_with_a_stopped_denominator_the_meta_gradient_equals_finite_differences_at_frozen_denominators(
    num_updates: int, monkeypatch
):
    instance = widen(recorded_instance("adam"))
    rest = (instance.entering, instance.lifetime, instance.rollouts(num_updates), ENTROPY_COST)
    (loss, _), (eta_gradient, _, _) = loss_and_gradients("adam", num_updates)(instance.eta, instance.phi, *rest)

    denominators = jax.tree.map(jnp.asarray, recorded_denominators())
    first_step = instance.lifetime.agent.optimizer.step
    learning_rate = AGENTS["adam"].learning_rate
    frozen_loss = make_loss(small_parts("adam"), dataclasses.replace(OUTER, window=num_updates))

    @jax.jit
    def loss_at_frozen_denominators(eta, denominators, phi, rest):
        frozen = FrozenAdam(learning_rate, denominators, first_step)
        monkeypatch.setattr(actor_critic, "make_optimizer", lambda config: frozen)
        return frozen_loss(eta, phi, *rest)[0]

    def frozen_loss_of(eta):
        return loss_at_frozen_denominators(eta, denominators, instance.phi, rest)

    np.testing.assert_allclose(frozen_loss_of(instance.eta), loss, rtol=1e-12)
    assert_slopes(frozen_loss_of, instance.eta, eta_gradient)


def test_phis_gradient_equals_finite_differences_of_the_value_loss_at_frozen_targets():
    instance = widen(recorded_instance("sgd"))
    num_updates, num_rows = 2, 2 * LENGTH
    rest = (instance.entering, instance.lifetime, instance.rollouts(num_updates), ENTROPY_COST)
    _, (_, phi_gradient, _) = loss_and_gradients("sgd", num_updates)(instance.eta, instance.phi, *rest)

    value = small_parts().value
    rollouts = jax.tree.map(
        lambda first, others: jnp.concatenate([first[None, :LENGTH], others[:num_updates, :LENGTH]]).reshape(
            -1, *first.shape[1:]
        ),
        instance.lifetime.rollout,
        instance.recorded,
    )
    assert bool(jnp.all(rollouts.in_lifetime == 1.0))

    @jax.jit
    def values_of(phi):
        return value.unroll(phi, instance.lifetime.value_state, rollouts, num_rows)[0]

    base = values_of(instance.phi)
    targets = discounted_returns(rollouts.reward, OUTER.discount * rollouts.lifetime_goes_on, base[-1])

    def value_loss_of(phi):  # c_v · ½ Σ (V − G)² over R_0 and R_1: the lifetime goes on, so R_2 waits for its returns
        return OUTER.value_cost * 0.5 * jnp.sum(jnp.square(values_of(phi)[:num_rows] - targets[:num_rows]))

    assert_slopes(value_loss_of, instance.phi, phi_gradient)
