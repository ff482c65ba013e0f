"""The fast parts of a window do what the plain ones do: tables for torsos, a factored matrix for a dense one."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.agents.actor_critic import ActorCritic
from orexis.agents.sampling import draw_noise
from orexis.config import AgentConfig, HistoryNetConfig, MetaConfig, PolicyNetConfig
from orexis.meta.acting import DifferenceActor, is_cheaper
from orexis.meta.factored import FactoredActorCritic
from orexis.meta.parts import Parts, make_parts
from orexis.networks import history
from orexis.networks.layers import conv_init
from orexis.networks.lookup import DIRECT, Table
from orexis.rewards.learned import LearnedReward
from orexis.tasks.abc import RandomABC
from orexis.tasks.empty_rooms import EmptyRooms
from orexis.tasks.probes import Bandit
from orexis.types import Last
from tests.instances import (
    AGENTS,
    HISTORY_NET,
    KINDS,
    OUTER,
    Instance,
    difference,
    loss_and_gradients,
    make_loss,
    norm,
    random_rollout,
    recorded_instance,
    small_task,
    widen,
)

ENTROPY_COST = 0.1
LAST = Last(action=jnp.zeros((), jnp.int32), reward=jnp.zeros(()), done=jnp.zeros(()))
TABLE = small_task().observation_table()


def fast_parts(agent: str, kind: str = "planes") -> Parts:
    config = MetaConfig(agent=AGENTS[agent], reward=KINDS[kind].net, outer=KINDS[kind].outer)
    return make_parts(small_task(), config, "fast")


def row_numbers(observations: np.ndarray) -> np.ndarray:
    """Returns i32[...], which row of the table each observation f[..., H, W, C] is."""
    equal = (observations[..., None, :, :, :] == TABLE).all(axis=(-3, -2, -1))
    assert (equal.sum(axis=-1) == 1).all()
    return np.argmax(equal, axis=-1).astype(np.int32)


def as_numbers(instance: Instance) -> Instance:
    """Returns the recorded window with its observations replaced by their row numbers."""

    def numbered(rollout):
        return dataclasses.replace(
            rollout,
            observation=row_numbers(rollout.observation),
            next_observation=row_numbers(rollout.next_observation),
        )

    lifetime = dataclasses.replace(instance.lifetime, rollout=numbered(instance.lifetime.rollout))
    others = instance.alternatives
    if others != ():
        others = dataclasses.replace(others, next_observation=row_numbers(others.next_observation))
    return dataclasses.replace(instance, lifetime=lifetime, recorded=numbered(instance.recorded), alternatives=others)


@pytest.mark.parametrize(
    ("agent", "kind"),
    [("adam", "planes"), *(("sgd", kind) for kind in KINDS), ("sgd-clipped", "steady"), ("adam-clipped", "planes")],
    ids=str,
)
def test_fast_parts_have_the_loss_the_gradients_and_the_lifetimes_of_the_plain_ones(agent: str, kind: str):
    parts, num_updates, outer = fast_parts(agent, kind), OUTER.window, KINDS[kind].outer
    with jax.enable_x64(True):
        plain = widen(recorded_instance(agent, kind))
        (loss, (following, metrics)), (eta_gradient, phi_gradient, _) = loss_and_gradients(agent, num_updates, kind)(
            plain.eta,
            plain.phi,
            plain.entering,
            plain.lifetime,
            plain.rollouts(num_updates),
            ENTROPY_COST,
            plain.others(num_updates),
        )
        fast = widen(as_numbers(recorded_instance(agent, kind)))

        def fast_loss(eta, phi, lifetime, recorded, others):
            loss = make_loss(parts, outer)
            return loss(*parts.precompute(eta, phi), fast.entering, lifetime, recorded, ENTROPY_COST, others)

        (fast_value, (fast_following, fast_metrics)), fast_gradients = jax.jit(
            jax.value_and_grad(fast_loss, argnums=(0, 1), has_aux=True)
        )(fast.eta, fast.phi, fast.lifetime, fast.rollouts(num_updates), fast.others(num_updates))

    np.testing.assert_allclose(fast_value, loss, rtol=1e-10)
    for ours, expected in zip(fast_gradients, (eta_gradient, phi_gradient), strict=True):
        assert norm(expected) > 1e-2
        assert norm(difference(ours, expected)) < 1e-10 * norm(expected)
    for ours, expected in (
        (fast_following.agent, following.agent),
        (fast_following.reward_state, following.reward_state),
        (fast_following.value_state, following.value_state),
        (fast_metrics, metrics),
    ):
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12), ours, expected)


def test_fast_parts_are_used_where_they_apply_and_nowhere_else():
    sgd, adam = fast_parts("sgd"), fast_parts("adam")
    assert isinstance(sgd.window_agent, FactoredActorCritic)
    assert adam.window_agent is adam.agent  # Adam's update is not a product of few rows
    for parts in (sgd, adam):
        assert isinstance(parts.agent.observation_lookup, Table)
        assert parts.reward.tabulated
        assert parts.value.tabulated

    config = MetaConfig(agent=AGENTS["sgd"], reward=HISTORY_NET, outer=OUTER)
    without_table = make_parts(Bandit(), config, "fast")
    plain = make_parts(small_task(), config, "dense")
    assert plain.window_agent is plain.agent
    assert isinstance(without_table.window_agent, FactoredActorCritic)
    for parts in (without_table, plain):
        assert parts.agent.observation_lookup is DIRECT
        assert not parts.reward.tabulated
        assert parts.table is None


@pytest.mark.parametrize(
    "net",
    [
        HISTORY_NET,
        dataclasses.replace(HISTORY_NET, history="none"),
        dataclasses.replace(HISTORY_NET, sees_action=False),
        dataclasses.replace(HISTORY_NET, sees_clock=True),
        dataclasses.replace(HISTORY_NET, sees_clock=True, history="none"),
    ],
    ids=["lstm", "feed-forward", "blind to actions", "clock", "feed-forward, clock"],
)
def test_a_tabulated_network_pays_what_the_plain_one_pays(net: HistoryNetConfig):
    spec = small_task().spec
    numbers = np.array([4, 0, 2, 8, 4, 5], np.int32)
    seen = dataclasses.replace(random_rollout(0, 6, spec), next_observation=TABLE[numbers])
    stored = dataclasses.replace(seen, next_observation=numbers)
    plain, tabulated = LearnedReward(spec, net), LearnedReward(spec, net, tabulated=True)

    @jax.jit
    def both(key: jax.Array):
        eta = plain.init(key)
        state = plain.begin(eta, key)
        return plain.unroll(eta, state, seen), tabulated.unroll(
            history.tabulate(eta, jnp.asarray(TABLE), net), state, stored
        )

    expected, ours = both(jax.random.key(0))
    assert np.abs(expected[0]).max() > 1e-3
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6), ours, expected)


@pytest.mark.parametrize("task", [small_task(), EmptyRooms(), EmptyRooms(shows_walls=True)], ids=lambda t: str(t)[:40])
@pytest.mark.parametrize("sees_action", [True, False])
def test_from_row_numbers_an_egocentric_reward_pays_and_values_what_it_does_from_planes(task, sees_action: bool):
    net = dataclasses.replace(HISTORY_NET, view="egocentric", sees_action=sees_action)
    config = MetaConfig(agent=AGENTS["sgd"], reward=net, outer=OUTER)
    fast, plain = make_parts(task, config, "fast"), make_parts(task, config, "dense")
    assert fast.reward.tabulated == fast.value.tabulated == (task.spec.observation_shape[2] == 1)
    assert fast.reward.lookup is fast.value.lookup is not None
    assert plain.reward.lookup is plain.value.lookup is None
    table = task.observation_table()
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, len(table), 7).astype(np.int32)
    arrived = np.append(numbers[1:4], numbers[3:6])  # the fourth step did not move
    told = random_rollout(0, 6, task.spec)
    seen = dataclasses.replace(told, observation=table[numbers], next_observation=table[arrived])
    stored = dataclasses.replace(told, observation=numbers, next_observation=arrived)

    @jax.jit
    def both(key: jax.Array):
        eta, phi = plain.reward.init(key), plain.value.init(key)
        prepared, state = fast.precompute(eta, phi), plain.value.begin()
        return [
            (parts.reward.unroll(networks[0], state, rollout), parts.value.unroll(networks[1], state, rollout, 4))
            for parts, networks, rollout in ((plain, (eta, phi), seen), (fast, prepared, stored))
        ]

    expected, ours = both(jax.random.key(0))
    assert np.abs(expected[0][0]).max() > 1e-3
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6), ours, expected)


def test_looking_patches_up_is_convolving():
    params = conv_init(jax.random.key(0), 4, 3)
    numbers = jnp.array([[0, 3], [8, 4]])
    looked_up = Table(TABLE).convolve(params, numbers)
    assert looked_up.shape == (2, 2, 27)
    np.testing.assert_array_equal(looked_up, DIRECT.convolve(params, jnp.asarray(TABLE)[numbers]))


def test_an_observation_is_the_base_but_for_its_differences():
    table = Table(EmptyRooms().observation_table())
    patches, differences = table._patches, table.differences
    num_rows, num_cells = len(patches), patches.shape[1] * patches.shape[2]
    assert differences.cells.shape == (num_rows, 9)
    rebuilt = np.repeat(differences.base.reshape(1, num_cells, -1), num_rows, axis=0)
    np.testing.assert_array_equal(np.take_along_axis(rebuilt, differences.cells[..., None], 1), differences.usual)
    np.put_along_axis(rebuilt, differences.cells[..., None], differences.patches, 1)
    np.testing.assert_array_equal(rebuilt.reshape(patches.shape), patches)


@pytest.mark.parametrize("num_rows", [0, 6])
def test_acting_by_differences_is_acting(num_rows: int):
    task = EmptyRooms()
    table = Table(task.observation_table())
    agent = ActorCritic(task.spec, AgentConfig(net=PolicyNetConfig(num_filters=3, num_hidden=8)), table)
    factored = FactoredActorCritic(agent)
    with jax.enable_x64(True):
        born = jax.tree.map(lambda x: x.astype(float), agent.init(jax.random.key(1)))
        born.theta["conv"]["b"] += 0.1
        state = factored.begin_window(born)
        keys = jax.random.split(jax.random.key(2))
        state = dataclasses.replace(
            state,
            inputs=jax.random.normal(keys[0], (num_rows, state.matrix.shape[0])),
            cotangents=jax.random.normal(keys[1], (num_rows, 8)),
        )
        actor, acting = factored.actor(state)
        assert isinstance(actor, DifferenceActor)
        for row in (0, 17, len(table.observations) - 1):
            key = jax.random.key(row)
            expected = factored.act(state, jnp.array(row), LAST, key)[:3]
            for chance in (key, draw_noise(key, task.spec.num_actions)):
                ours = actor.act(acting, jnp.array(row), LAST, chance)[:3]
                jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12), ours, expected)


def test_small_grids_are_multiplied_whole():
    assert not is_cheaper(Table(RandomABC().observation_table()).differences)
