"""The engine: batches, chunks and devices change nothing; learners learn; the finished are replaced."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.config import MetaConfig, OuterConfig, Schedule
from orexis.meta.chunks import AT_ONCE
from orexis.meta.engine import Engine, make_mesh
from orexis.meta.learner import averaged
from orexis.meta.state import TrainState, UpdateMetrics
from orexis.networks import policy
from orexis.optimizers import scheduled
from tests.instances import AGENTS, HISTORY_NET, difference, norm, small_task

NUM_LIFETIMES, EPISODES = 8, 6
OUTER = OuterConfig(
    window=1,  # what devices, chunks and replacements do to a window does not depend on its length
    entropy_cost=Schedule(0.1, 0.1),
    reward_learning_rate=Schedule(0.01, 0.01),
    value_learning_rate=0.02,
    average_power=3.0,
)
AGENT = dataclasses.replace(AGENTS["sgd"], rollout_length=4)
CONFIG = MetaConfig(agent=AGENT, reward=HISTORY_NET, outer=OUTER, lifetimes=NUM_LIFETIMES)


def make_engine(num_devices: int = 1, chunk: int = NUM_LIFETIMES) -> Engine:
    return Engine(small_task(EPISODES), CONFIG, seed=5, mesh=make_mesh(jax.devices()[:num_devices]), chunk=chunk)


def to_numpy(tree):
    return jax.tree.map(np.array, tree)


@pytest.fixture(scope="module")
def initial() -> TrainState:
    return to_numpy(make_engine().init())


# Devices and chunks of lifetimes on them. The last is one more way to cut, and 5 s of compilation: for the slow suite.
CUTS = [(4, 1), pytest.param((2, 2), marks=pytest.mark.slow)]


@functools.cache
def compiled_update(num_devices: int, chunk: int):
    """Returns the compiled update from and to NumPy arrays."""
    engine = make_engine(num_devices, chunk)
    update = engine.compile_update()
    return lambda state: to_numpy(update(jax.device_put(state, engine.shardings)))


@pytest.fixture(scope="module")
def update():
    """The compiled update on one device, the lifetimes in one chunk."""
    return compiled_update(1, NUM_LIFETIMES)


@pytest.fixture(scope="module")
def after_one(initial, update):
    """State and metrics after the first update, on one device."""
    return update(initial)


def raw_gradients(state: TrainState):
    """Returns the gradients of eta and phi that made the first update: Adam's first moment is a tenth of them."""
    learner = state.learner
    return jax.tree.map(lambda m: m / 0.1, (learner.eta_optimizer.mu, learner.phi_optimizer.mu))


def assert_close(ours, expected, tolerance: float = 1e-6) -> None:
    """Asserts equality relative to the size of the whole tree: single small entries are sums of large ones."""
    assert norm(expected) > 0.0
    assert norm(difference(ours, expected)) <= tolerance * norm(expected)


@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_devices_and_chunks_do_not_change_the_raw_gradients(initial, after_one, cut: tuple[int, int]):
    # Not the Adam step: Adam divides a gradient that is too large by the number of devices by itself.
    state, _ = compiled_update(*cut)(initial)
    for ours, expected in zip(raw_gradients(state), raw_gradients(after_one[0]), strict=True):
        assert_close(ours, expected)


@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_devices_and_chunks_do_not_change_the_metrics_or_the_lifetimes(initial, after_one, cut: tuple[int, int]):
    (state, metrics), (expected_state, expected_metrics) = compiled_update(*cut)(initial), after_one
    np.testing.assert_allclose(metrics.eta_gradient_norm, expected_metrics.eta_gradient_norm, rtol=1e-5)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6), metrics, expected_metrics)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6), state.lifetimes, expected_state.lifetimes
    )


def test_several_updates_in_one_call_are_as_many_calls(initial, update):
    engine = make_engine()
    updates = engine.compile_updates()

    def run(state: TrainState, number: int) -> tuple[TrainState, UpdateMetrics]:
        return to_numpy(updates(jax.device_put(state, engine.shardings), np.int32(number)))

    at_once, metrics = run(initial, AT_ONCE)
    two, first = run(initial, 2)
    rest, others = run(two, AT_ONCE - 2)
    jax.tree.map(np.testing.assert_array_equal, at_once, rest)  # to the bit: a run may stop anywhere
    jax.tree.map(lambda x, a, b: np.testing.assert_array_equal(x, [*a[:2], *b[:-2]]), metrics, first, others)
    for leaf in jax.tree.leaves(first):
        assert leaf.shape == (AT_ONCE,)
        assert not leaf[2:].any()

    state = initial
    for i in range(AT_ONCE):
        state, expected = update(state)
        np.testing.assert_allclose(metrics.eta_gradient_norm[i], expected.eta_gradient_norm, rtol=1e-4)
    assert int(at_once.learner.update) == AT_ONCE
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5), at_once.learner.eta, state.learner.eta
    )


@pytest.fixture(scope="module")
def alone():
    """The compiled gradients of one lifetime, every array with a leading 1."""
    return jax.jit(make_engine(chunk=1).gradients)


def test_a_batch_of_lifetimes_is_each_of_them_alone(initial, after_one, alone):
    results = [
        to_numpy(alone(initial.learner, jax.tree.map(lambda x, i=i: x[i : i + 1], initial.lifetimes)))
        for i in range(NUM_LIFETIMES)
    ]
    assert all(norm(gradients[0]) > 0.0 for gradients, _, _ in results[:4])  # the later born are dead, or soon
    mean = jax.tree.map(lambda *xs: sum(xs) / NUM_LIFETIMES, *[gradients for gradients, _, _ in results])
    for ours, expected in zip(mean, raw_gradients(after_one[0]), strict=True):
        assert_close(ours, expected)

    together = after_one[0].lifetimes
    for i, (_, following, _) in enumerate(results):
        if together.generation[i] == 0:  # the others are newborns by now
            assert_close(following.agent.theta, jax.tree.map(lambda x, i=i: x[i : i + 1], together.agent.theta), 1e-5)
            np.testing.assert_array_equal(following.rollout.action[0], together.rollout.action[i])


def test_every_slot_generation_and_window_has_dice_of_its_own(initial, alone):
    def actions(**numbers: int) -> tuple[int, ...]:
        one = jax.tree.map(lambda x: x[:1], initial.lifetimes)
        other = dataclasses.replace(one, **{name: np.array([number], np.int32) for name, number in numbers.items()})
        _, following, _ = alone(initial.learner, other)
        return tuple(np.asarray(following.rollout.action[0]).tolist())

    assert actions() == actions(slot=0, generation=0, age=0)
    for name in ("slot", "generation", "age"):  # the same agent in the same place: only the dice differ
        assert len({actions(**{name: number}) for number in range(5)}) > 1, name


def test_the_metrics_gradient_norm_is_that_of_the_mean_gradient(after_one):
    state, metrics = after_one
    eta_gradient, phi_gradient = raw_gradients(state)
    assert metrics.eta_gradient_norm == pytest.approx(norm(eta_gradient), rel=1e-4)
    assert metrics.phi_gradient_norm == pytest.approx(norm(phi_gradient), rel=1e-4)


def test_an_update_moves_eta_phi_and_every_theta(initial, after_one):
    state, metrics = after_one
    assert int(state.learner.update) == 1
    assert metrics.skipped == 0.0
    for before, after in ((initial.learner.eta, state.learner.eta), (initial.learner.phi, state.learner.phi)):
        for layer in before:
            assert norm(difference(before[layer], after[layer])) > 0.0, layer
    for i in range(NUM_LIFETIMES):
        moved = jax.tree.map(lambda a, b, i=i: a[i] - b[i], initial.lifetimes.agent.theta, state.lifetimes.agent.theta)
        assert norm(moved) > 1e-4


def test_eta_and_phi_take_an_adam_step_of_their_own_learning_rates(initial, after_one):
    # Adam's first step is the learning rate times the gradient's sign, wherever the gradient is not tiny.
    learner, (eta_gradient, phi_gradient) = after_one[0].learner, raw_gradients(after_one[0])
    for before, after, gradient, rate in (
        (initial.learner.eta, learner.eta, eta_gradient, 0.01),
        (initial.learner.phi, learner.phi, phi_gradient, 0.02),
    ):
        step, sign = (after["core"]["wx"] - before["core"]["wx"]), np.sign(gradient["core"]["wx"])
        clear = np.abs(gradient["core"]["wx"]) > 1e-4
        assert clear.sum() > 10
        np.testing.assert_allclose(step[clear], -rate * sign[clear], rtol=1e-2)


def test_the_first_generation_is_staggered_over_the_lifetime(initial):
    lifetimes = initial.lifetimes
    # slot · E // L with E = 6, L = 8: 0, 6 // 8, 12 // 8, 18 // 8, 24 // 8, 30 // 8, 36 // 8, 42 // 8
    started = lifetimes.world.episode - (lifetimes.rollout.episode_goes_on == 0.0).sum(axis=1)
    np.testing.assert_array_equal(started, [0, 0, 1, 2, 3, 3, 4, 5])
    np.testing.assert_array_equal(lifetimes.generation, np.zeros(8))
    assert len(np.unique(lifetimes.agent.theta["hidden"]["w"][:, 0, 0])) == 8  # with a fresh theta each


def test_a_clock_tells_the_tasks_own_episode_in_the_first_generation_and_in_those_after_it():
    config = dataclasses.replace(CONFIG, reward=dataclasses.replace(HISTORY_NET, sees_clock=True))
    engine = Engine(small_task(EPISODES), config, seed=5, mesh=make_mesh(jax.devices()[:1]))
    update, state = engine.compile_update(), engine.init()
    for number in range(8):
        lifetimes = to_numpy(state.lifetimes)
        before_rollout = lifetimes.world.episode - (lifetimes.rollout.episode_goes_on == 0.0).sum(axis=1)
        np.testing.assert_array_equal(lifetimes.reward_state.ended, before_rollout)
        np.testing.assert_array_equal(lifetimes.value_state.ended, before_rollout)
        if number == 0:
            np.testing.assert_array_equal(before_rollout, [0, 0, 1, 2, 3, 3, 4, 5])  # see above
        state, _ = update(state)
    assert (lifetimes.generation >= 1).all()


def test_a_finished_lifetime_is_replaced_by_a_newborn(initial, after_one):
    state, metrics = after_one
    lifetimes = state.lifetimes
    replaced = np.flatnonzero(lifetimes.generation == 1)
    # Slots 6 and 7 began with episodes 4 and 5 of 6: two episodes of at most 4 steps end within R_0 and R_1, 8 steps.
    # Slots 0 to 3 have four episodes or more to live, of at least 2 steps: on the last of the 8 at the earliest.
    assert {6, 7} <= set(replaced.tolist()) <= {3, 4, 5, 6, 7}
    np.testing.assert_array_equal(lifetimes.slot, np.arange(8))
    np.testing.assert_array_equal(lifetimes.age, np.where(lifetimes.generation == 1, 0, 1))
    assert (lifetimes.world.alive == 1.0).all()
    assert metrics.finished == len(replaced)
    assert metrics.complete == 0.0  # they were born in the middle of a lifetime

    observation_lookup = make_engine().parts.agent.observation_lookup
    for place in replaced:
        newborn, old = (jax.tree.map(lambda x, i=place: x[i], which) for which in (lifetimes, initial.lifetimes))
        for recurrent in jax.tree.leaves((newborn.reward_state, newborn.value_state)):
            np.testing.assert_array_equal(recurrent, np.zeros(recurrent.shape))
        assert (newborn.world.params.rewards != old.world.params.rewards).any()
        assert (newborn.agent.theta["hidden"]["w"] != old.agent.theta["hidden"]["w"]).all()
        ended = int((newborn.rollout.episode_goes_on == 0.0).sum())
        assert int(newborn.world.episode) == int(newborn.episodes) == ended
        assert newborn.extrinsic == pytest.approx(newborn.rollout.reward.sum(), abs=1e-6)
        assert (newborn.rollout.in_lifetime == 1.0).all()
        # R_0 was acted by the new theta, not by the one that died:
        values = policy.apply(newborn.agent.theta, newborn.rollout.observation, observation_lookup)[1]
        np.testing.assert_allclose(newborn.rollout.value, values, rtol=1e-4, atol=1e-5)


def test_those_that_go_on_keep_what_the_window_left_them(initial, after_one):
    state = after_one[0].lifetimes
    for i in range(3):
        assert norm(jax.tree.map(lambda x, i=i: x[i], state.reward_state)) > 0.0
        assert norm(jax.tree.map(lambda x, i=i: x[i], state.value_state)) > 0.0
        np.testing.assert_array_equal(state.world.params.rewards[i], initial.lifetimes.world.params.rewards[i])


def test_lifetimes_that_began_at_their_first_episode_are_counted_complete_with_their_return(update, after_one):
    state, metrics = after_one
    # Slots whose lifetime began at episode 0: by the stagger, and as a newborn.
    whole = {0, 1} | set(np.flatnonzero(state.lifetimes.generation == 1).tolist())
    earned, num_complete = state.lifetimes.extrinsic, 0
    for _ in range(7):  # six episodes of at most four steps are over after six windows of four
        before = state
        state, metrics = update(state)
        died = set(np.flatnonzero(state.lifetimes.generation != before.lifetimes.generation).tolist())
        assert metrics.finished == len(died)
        assert metrics.complete == len(died & whole)
        # What the lifetimes earned in this window, the dead included, is in the window's own sum.
        gone = sum(earned[i] for i in died)
        living = [i for i in range(NUM_LIFETIMES) if i not in died]
        last_words = metrics.window.extrinsic - sum(state.lifetimes.extrinsic[i] - earned[i] for i in living)
        if died <= whole:
            assert metrics.complete_extrinsic == pytest.approx(gone + last_words, abs=1e-4)
        num_complete += len(died & whole)
        whole |= died
        earned = state.lifetimes.extrinsic
    assert num_complete >= 2


def poisoned(state: TrainState, places: list[int]) -> TrainState:
    """Returns `state` with a NaN in the theta of the lifetimes in `places`."""
    theta = jax.tree.map(np.copy, state.lifetimes.agent.theta)
    theta["hidden"]["w"][places, 0, 0] = np.nan
    agent = dataclasses.replace(state.lifetimes.agent, theta=theta)
    return dataclasses.replace(state, lifetimes=dataclasses.replace(state.lifetimes, agent=agent))


def test_a_lifetime_that_is_not_finite_is_left_out_of_the_mean_and_started_again(initial, update, alone):
    state, metrics = update(poisoned(initial, [1]))

    assert (metrics.dropped, metrics.skipped) == (1.0, 0.0)
    others = [i for i in range(NUM_LIFETIMES) if i != 1]
    gradients = [
        to_numpy(alone(initial.learner, jax.tree.map(lambda x, i=i: x[i : i + 1], initial.lifetimes))[0])
        for i in others
    ]
    mean = jax.tree.map(lambda *xs: sum(xs) / len(others), *gradients)
    for ours, expected in zip(raw_gradients(state), mean, strict=True):
        assert_close(ours, expected)
    assert int(state.lifetimes.generation[1]) == 1
    assert np.isfinite(state.lifetimes.agent.theta["hidden"]["w"]).all()


def test_an_update_whose_gradient_is_not_finite_is_thrown_away(initial, update):
    state, metrics = update(poisoned(initial, list(range(NUM_LIFETIMES))))

    assert metrics.skipped == 1.0
    jax.tree.map(np.testing.assert_array_equal, state.learner, initial.learner)
    assert np.isfinite(state.lifetimes.agent.theta["hidden"]["w"]).all()  # newborns, all of them


def test_eta_is_averaged_over_updates(initial, update, after_one):
    jax.tree.map(np.testing.assert_array_equal, initial.learner.eta_average, initial.learner.eta)
    first = after_one[0].learner
    assert_close(first.eta_average, first.eta)  # weight (p + 1) / (p + 1) = 1: the initial eta is forgotten
    second = update(after_one[0])[0].learner
    # p = 3: the second eta has weight (p + 1) / (p + 2) = 0.8
    assert_close(second.eta_average, jax.tree.map(lambda a, b: 0.2 * a + 0.8 * b, first.eta, second.eta))


def test_an_average_of_power_zero_is_the_mean():
    average = jnp.zeros(())
    for count, value in enumerate([3.0, 5.0, 10.0], start=1):
        average = averaged(average, jnp.float32(value), jnp.int32(count), power=0.0)
    assert float(average) == pytest.approx(6.0)


@pytest.mark.parametrize(
    ("update", "value"), [(0, 0.16), (100, 0.16), (110, 0.08), (120, 0.04), (130, 0.02), (500, 0.01)]
)
def test_a_schedule_is_geometric_between_its_ends(update: int, value: float):
    # From 0.16 to 0.01 over 40 updates, from update 100 on: halved every 10.
    schedule = Schedule(0.16, 0.01, transition_steps=40, transition_begin=100)
    np.testing.assert_allclose(scheduled(schedule, jnp.int32(update)), value, rtol=1e-5)


def test_lifetimes_that_devices_cannot_share_equally_are_refused():
    with pytest.raises(ValueError, match="6 lifetimes cannot be shared equally by 4 devices"):
        Engine(small_task(), dataclasses.replace(CONFIG, lifetimes=6), seed=0, mesh=make_mesh())


@pytest.mark.parametrize(("lifetimes", "chunk", "expected"), [(12, 8, 6), (12, 5, 4), (7, 4, 1), (4, 8, 4)])
def test_a_chunk_is_the_largest_that_divides_a_devices_lifetimes(lifetimes: int, chunk: int, expected: int):
    config = dataclasses.replace(CONFIG, lifetimes=lifetimes)
    assert Engine(small_task(), config, seed=0, mesh=make_mesh(jax.devices()[:1]), chunk=chunk).chunk == expected
