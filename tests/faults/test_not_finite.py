"""FAULTS 7, 8, 9: NaN or infinity, injected into the real engine and into a whole run."""

import dataclasses
import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.errors import BAD_DATA, OK, BadDataError
from orexis.meta.chunks import AT_ONCE
from orexis.meta.engine import Engine, make_mesh
from orexis.meta.state import TrainState
from orexis.storage import checkpoint
from orexis.tasks.probes import Bandit, BanditParams, Place
from orexis.tasks.registry import make_task
from orexis.training import setup
from orexis.training.train import train
from tests.instances import difference, norm
from tests.training.tiny import TINY, TINY_META, remembered_engine, rows_of, with_updates

NUM_LIFETIMES = TINY_META.lifetimes


def to_numpy(tree):
    return jax.tree.map(np.array, tree)


@functools.cache
def compiled(num_devices: int, chunk: int):
    """Returns the first state and the update of the tiny run; with chunks of one, a bad lifetime has no neighbour."""
    engine = Engine(make_task("bandit"), TINY_META, 0, make_mesh(jax.devices()[:num_devices]), chunk=chunk)
    first, update = to_numpy(engine.init()), engine.compile_update()
    return engine, first, lambda state: to_numpy(update(jax.device_put(state, engine.shardings)))


@functools.cache
def share_of(slot: int):
    """Returns the gradients of eta and phi that one lifetime of the first state sends alone."""
    _, first, _ = compiled(2, 2)
    return to_numpy(alone()(first.learner, select(first.lifetimes, [slot]))[0])


@functools.cache
def alone():
    return jax.jit(dataclasses.replace(compiled(2, 2)[0], chunk=1).gradients)


BATCHES = [(2, 2), pytest.param(1, 4, marks=pytest.mark.slow), pytest.param(4, 1, marks=pytest.mark.slow)]


def poison_theta(state: TrainState, slots: list[int], value: float = np.nan) -> TrainState:
    theta = jax.tree.map(np.copy, state.lifetimes.agent.theta)
    theta["hidden"]["w"][slots] = value
    agent = dataclasses.replace(state.lifetimes.agent, theta=theta)
    return dataclasses.replace(state, lifetimes=dataclasses.replace(state.lifetimes, agent=agent))


def with_learner(state: TrainState, **changes) -> TrainState:
    return dataclasses.replace(state, learner=dataclasses.replace(state.learner, **changes))


def raw_gradients(state: TrainState):
    """Returns the gradients that made the first update: Adam's first moment is a tenth of them."""
    return jax.tree.map(lambda m: m / 0.1, (state.learner.eta_optimizer.mu, state.learner.phi_optimizer.mu))


def select(lifetimes, slots):
    return jax.tree.map(lambda x: x[slots], lifetimes)


@pytest.mark.parametrize(("num_devices", "chunk"), BATCHES)
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e30])
def test_a_lifetime_that_is_not_finite_is_left_out_of_the_average_and_started_again(num_devices, chunk, value):
    _, first, update = compiled(num_devices, chunk)
    clean, clean_metrics = update(first)
    state, metrics = update(poison_theta(first, [1], value))
    others = [0, 2, 3]

    assert (metrics.dropped, metrics.skipped) == (1.0, 0.0)
    # The average is over the other three alone:
    mean = jax.tree.map(lambda *xs: sum(xs) / len(others), *map(share_of, others))
    assert norm(mean) > 0.0
    assert norm(difference(raw_gradients(state), mean)) <= 1e-5 * norm(mean)
    # The others live as if nothing had been, to the bit:
    jax.tree.map(np.testing.assert_array_equal, select(state.lifetimes, others), select(clean.lifetimes, others))
    # The lost one is a newborn of the next generation:
    lost = select(state.lifetimes, 1)
    assert (int(lost.slot), int(lost.generation), int(lost.age), float(lost.world.alive)) == (1, 1, 0, 1.0)
    for leaf in jax.tree.leaves(state):
        assert np.isfinite(leaf).all()
    for leaf in jax.tree.leaves(metrics):
        assert np.isfinite(leaf).all()
    ended = clean.lifetimes.generation[1] > 0  # the lost one would have: it is not counted as finished
    assert metrics.finished == clean_metrics.finished - ended
    assert metrics.theta_norm_p99 < 1e6


@pytest.mark.parametrize(("num_devices", "chunk"), BATCHES)
def test_several_at_once(num_devices, chunk):
    _, first, update = compiled(num_devices, chunk)
    state, metrics = update(poison_theta(first, [0, 1, 3]))
    assert (metrics.dropped, metrics.skipped) == (3.0, 0.0)
    np.testing.assert_array_equal(state.lifetimes.generation, [1, 1, 0, 1])
    assert int(state.learner.update) == 1
    state, metrics = update(state)
    assert (metrics.dropped, metrics.skipped) == (0.0, 0.0)


def test_the_count_of_finished_lifetimes_leaves_out_the_lost():
    _, first, update = compiled(2, 2)
    state = first
    for _ in range(6):  # a lifetime has five windows: among six updates some end one
        before = state
        state, metrics = update(poison_theta(before, [2]))
        born = int((state.lifetimes.generation > before.lifetimes.generation).sum())
        assert metrics.dropped == 1.0
        assert metrics.finished == born - 1


@pytest.mark.parametrize(("num_devices", "chunk"), BATCHES)
def test_when_none_is_finite_no_bit_of_the_learner_changes_and_all_start_again(num_devices, chunk):
    _, first, update = compiled(num_devices, chunk)
    state, metrics = update(poison_theta(first, list(range(NUM_LIFETIMES))))
    assert (metrics.dropped, metrics.skipped) == (NUM_LIFETIMES, 1.0)
    jax.tree.map(np.testing.assert_array_equal, state.learner, first.learner)
    np.testing.assert_array_equal(state.lifetimes.generation, np.ones(NUM_LIFETIMES))
    state, metrics = update(state)
    assert (metrics.dropped, metrics.skipped) == (0.0, 0.0)


@pytest.mark.parametrize("name", ["eta", "phi", "eta_optimizer", "phi_optimizer", "eta_average"])
def test_a_step_that_is_not_finite_is_not_taken(name):
    # Poisoned so that the gradient may be finite and the step is not: in Adam's first moment, in the average.
    _, first, update = compiled(2, 2)
    poisoned = with_learner(
        first, **{name: jax.tree.map(lambda x: x * np.nan if x.ndim else x, getattr(first.learner, name))}
    )
    state, metrics = update(poisoned)
    assert metrics.skipped == 1.0
    jax.tree.map(np.testing.assert_array_equal, state.learner, poisoned.learner)  # bit for bit: update and all
    assert int(state.learner.update) == 0


def test_a_learner_that_is_not_finite_takes_no_step_of_a_whole_call(trials):
    engine, first, _ = compiled(2, 2)
    updates = engine.compile_updates()
    for spoilt in (first.learner.eta_optimizer.mu["head"]["b"], first.learner.eta_average["head"]["b"]):
        learner = jax.tree.map(lambda x, spoilt=spoilt: x * np.nan if x is spoilt else x, first.learner)
        poisoned = jax.device_put(dataclasses.replace(first, learner=learner), engine.shardings)
        state, metrics = to_numpy(updates(poisoned, np.int32(3)))
        np.testing.assert_array_equal(metrics.skipped, [1.0, 1.0, 1.0] + [0.0] * (AT_ONCE - 3))
        jax.tree.map(np.testing.assert_array_equal, state.learner, learner)
        trials()


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["sgd", "adam"])
def test_nothing_is_dropped_where_nothing_is_wrong(agent):
    # FAULTS 9: in the constant world no action matters and many gradients are exactly zero.
    config = dataclasses.replace(TINY_META, agent=dataclasses.replace(TINY_META.agent, optimizer=agent))
    engine = Engine(make_task("constant"), config, 0, make_mesh(jax.devices()[:1]))
    state, update = engine.init(), engine.compile_update()
    for _ in range(12):
        state, metrics = update(state)
        assert (float(metrics.dropped), float(metrics.skipped)) == (0.0, 0.0)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(to_numpy(state)))
    assert int(state.learner.update) == 12


@dataclasses.dataclass(frozen=True)
class SometimesNaN(Bandit):
    """A task with a fault: in lifetimes whose best arm is the last, the last arm pays NaN."""

    def step(self, key: jax.Array, params: BanditParams, state: Place, action: jax.Array):
        state, reward, terminated = super().step(key, params, state, action)
        broken = (params.best == self.arms - 1) & (action == self.arms - 1)
        return state, jnp.where(broken, jnp.nan, reward), terminated


@dataclasses.dataclass(frozen=True)
class AlwaysNaN(Bandit):
    def step(self, key: jax.Array, params: BanditParams, state: Place, action: jax.Array):
        state, reward, terminated = super().step(key, params, state, action)
        return state, reward * jnp.nan, terminated


@pytest.mark.slow
def test_a_run_goes_on_through_lifetimes_that_turn_to_nan_on_the_way(tmp_path, monkeypatch):
    monkeypatch.setattr(setup, "make_engine", remembered_engine)
    config = dataclasses.replace(TINY, task="tests.faults.test_not_finite:SometimesNaN", updates=30, log_every=10)
    assert train(tmp_path, config, resume=False) == OK
    rows = [dict(zip(rows_of(tmp_path)[0], row, strict=True)) for row in rows_of(tmp_path)[1:]]
    assert sum(float(row["dropped_lifetimes"]) for row in rows) > 3
    assert all(float(row["eta_gradient_norm"]) > 0.0 for row in rows)
    template = jax.eval_shape(remembered_engine(config).init)
    state, _ = checkpoint.read(checkpoint.place_of(tmp_path / "checkpoints", 30), template)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((state.learner, state.lifetimes.agent)))
    assert int(state.learner.update) > 20


@pytest.mark.slow
def test_a_run_that_only_makes_nan_stops_and_says_what_was_not_finite(tmp_path, monkeypatch):
    monkeypatch.setattr(setup, "make_engine", remembered_engine)
    config = dataclasses.replace(with_updates(1000), task="tests.faults.test_not_finite:AlwaysNaN")
    with pytest.raises(BadDataError) as stopped:
        train(tmp_path, config, resume=False)
    assert stopped.value.code == BAD_DATA
    said = str(stopped.value)
    assert re.search(r"the meta-gradient, or .*, was not finite in 1[0-2] updates in a row, up to update 1[0-2]", said)
    assert "4 of 4 lifetimes were not finite themselves" in said
    template = jax.eval_shape(remembered_engine(config).init)
    step = checkpoint.steps(tmp_path / "checkpoints")[-1]
    state, _ = checkpoint.read(checkpoint.place_of(tmp_path / "checkpoints", step), template)
    # What is saved is the last good learner: here, the first one.
    jax.tree.map(np.testing.assert_array_equal, state.learner, to_numpy(remembered_engine(config).init()).learner)
