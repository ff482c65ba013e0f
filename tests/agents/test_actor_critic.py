import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.agents.actor_critic import ActorCritic, ActorCriticState, make_optimizer, theta_norm
from orexis.networks import policy
from orexis.optimizers import Adam, Sgd
from orexis.rewards.base import Returns
from orexis.types import Last
from tests.instances import AGENTS, random_rollout, small_task

SPEC, CONFIG = small_task().spec, dataclasses.replace(AGENTS["sgd"], entropy_cost=0.05)
LENGTH = 4
REWARDS = np.array([0.5, -1.0, 2.0, 0.3], np.float32)


def rollout_with(episode_goes_on, in_lifetime, lifetime_goes_on):
    return dataclasses.replace(
        random_rollout(1, LENGTH, SPEC),
        episode_goes_on=np.array(episode_goes_on, np.float32),
        in_lifetime=np.array(in_lifetime, np.float32),
        lifetime_goes_on=np.array(lifetime_goes_on, np.float32),
    )


GOES_ON = rollout_with([1, 0, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1])
ENDS = rollout_with([1, 1, 0, 1], [1, 1, 1, 0], [1, 1, 0, 0])  # the third step is the last real one


@pytest.fixture(scope="module")
def theta():
    return jax.jit(lambda key: policy.init(key, SPEC, CONFIG.net))(jax.random.key(0))


@pytest.fixture(scope="module")
def update():
    """The compiled update, (theta, rollout, rewards) -> (theta', logits)."""
    agent = ActorCritic(SPEC, CONFIG)

    def run(theta, rollout, rewards):
        state, logits = agent.update_with_logits(ActorCriticState(theta, ()), rollout, rewards, Returns())
        return state.theta, logits

    return jax.jit(run)


def expected_returns(rollout, rows: int) -> np.ndarray:
    """Returns the returns of the first `rows` rows by the recursion, in NumPy."""
    returns, following = np.zeros(LENGTH), rollout.value[-1]
    for t in reversed(range(LENGTH)):
        following = REWARDS[t] + CONFIG.discount * rollout.episode_goes_on[t] * following
        returns[t] = following
    return returns[:rows]


@pytest.mark.parametrize(("rollout", "rows"), [(GOES_ON, 4), (ENDS, 3)], ids=["goes on", "ends"])
def test_an_update_descends_the_inner_loss_summed_over_the_steps_inside_the_lifetime(theta, update, rollout, rows: int):
    returns = expected_returns(rollout, rows)

    def loss(theta):
        logits, values = policy.apply(theta, rollout.observation[:rows])
        log_pi = jax.nn.log_softmax(logits)
        chosen = log_pi[np.arange(rows), rollout.action[:rows]]
        entropy = -jnp.sum(jnp.exp(log_pi) * log_pi)
        advantages = returns - rollout.value[:rows]
        return (
            -jnp.sum(chosen * advantages)
            - CONFIG.entropy_cost * entropy
            + CONFIG.value_cost * 0.5 * jnp.sum((values - returns) ** 2)
        )

    expected = jax.tree.map(lambda p, g: p - CONFIG.learning_rate * g, theta, jax.jit(jax.grad(loss))(theta))
    updated, _ = update(theta, rollout, REWARDS)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5), updated, expected)
    assert np.abs(updated["policy"]["w"] - theta["policy"]["w"]).max() > 1e-3


def test_returns_are_cut_at_episode_ends_and_bootstrapped_with_the_recorded_value():
    # Row 1 ends an episode: G_1 = −1, G_0 = 0.5 + 0.9·(−1) = −0.4; rows 2, 3 run on into the bootstrap v:
    # G_3 = 0.3 + 0.9·v, G_2 = 2 + 0.9·G_3
    bootstrap = GOES_ON.value[-1]
    last = 0.3 + 0.9 * bootstrap
    np.testing.assert_allclose(expected_returns(GOES_ON, 4), [-0.4, -1.0, 2.0 + 0.9 * last, last], rtol=1e-5)


def test_the_logits_returned_are_those_of_the_old_theta(theta, update):
    _, logits = update(theta, GOES_ON, REWARDS)
    np.testing.assert_allclose(logits, policy.apply(theta, GOES_ON.observation[:-1])[0], rtol=1e-4, atol=1e-5)


def test_steps_outside_the_lifetime_teach_nothing(theta, update):
    other = dataclasses.replace(
        ENDS,
        observation=ENDS.observation + np.array([0, 0, 0, 1, 1], np.float32).reshape(-1, 1, 1, 1),
        action=(ENDS.action + np.array([0, 0, 0, 1])).astype(np.int32) % SPEC.num_actions,
        value=ENDS.value + np.array([0, 0, 0, 1, 1], np.float32),
    )
    corrupted, _ = update(theta, other, REWARDS + np.array([0, 0, 0, 1], np.float32))
    clean, _ = update(theta, ENDS, REWARDS)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7), corrupted, clean)


def test_actions_are_drawn_from_the_policy(theta):
    agent, observation = ActorCritic(SPEC, CONFIG), GOES_ON.observation[0]
    act = jax.jit(jax.vmap(lambda key: agent.act(ActorCriticState(theta, ()), observation, Last.nothing(), key)[0]))
    counts = np.bincount(act(jax.random.split(jax.random.key(0), 4000)), minlength=4) / 4000
    probabilities = jax.nn.softmax(policy.apply(theta, observation)[0])
    assert np.ptp(probabilities) > 0.1
    np.testing.assert_allclose(counts, probabilities, atol=0.03)  # standard error below 0.008


def test_the_optimizer_is_the_one_that_the_config_names():
    assert isinstance(make_optimizer(AGENTS["sgd"]), Sgd)
    stopped, differentiated = make_optimizer(AGENTS["adam"]), make_optimizer(AGENTS["adam-differentiated"])
    assert isinstance(stopped, Adam)
    assert (stopped.differentiate_denominator, differentiated.differentiate_denominator) == (False, True)
    assert stopped.learning_rate == AGENTS["adam"].learning_rate


def test_thetas_norm_is_euclidean():
    state = ActorCriticState(theta={"a": {"w": jnp.array([3.0, 0.0])}, "b": {"w": jnp.array([[4.0]])}}, optimizer=())
    assert float(theta_norm(state)) == pytest.approx(5.0)


@pytest.mark.parametrize("clip", [0.05, 1e3])
def test_an_update_is_no_longer_than_the_clip_times_the_rate(theta, update, clip: float):
    agent = ActorCritic(SPEC, dataclasses.replace(CONFIG, gradient_clip=clip))
    clipped = jax.jit(lambda *given: agent.update(ActorCriticState(given[0], ()), *given[1:], Returns()).theta)
    free, held = update(theta, GOES_ON, REWARDS)[0], clipped(theta, GOES_ON, REWARDS)
    moved, moved_freely = (
        np.concatenate([np.ravel(a - b) for a, b in zip(jax.tree.leaves(new), jax.tree.leaves(theta), strict=True)])
        for new in (held, free)
    )
    length = np.linalg.norm(moved_freely)
    assert CONFIG.learning_rate * 0.05 < length < CONFIG.learning_rate * 1e3
    np.testing.assert_allclose(np.linalg.norm(moved), min(length, CONFIG.learning_rate * clip), rtol=1e-4)
    np.testing.assert_allclose(moved * length, moved_freely * np.linalg.norm(moved), rtol=1e-3, atol=1e-6)
