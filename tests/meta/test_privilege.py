"""What only the lifetime value sees: the facts are right, and no one else learns of them."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.meta.privilege import Privilege
from orexis.tasks.abc import NonstationaryABC, RandomABC
from orexis.tasks.base import begin_world
from orexis.tasks.empty_rooms import EmptyRooms
from orexis.tasks.key_box import KeyBox
from orexis.tasks.probes import Constant
from tests.instances import KINDS, loss_and_gradients, norm, recorded_instance, widen

UNIFORM = jnp.zeros(4)


def world_of(task, episode: int, steps: int, seed: int = 0):
    world = begin_world(task, jax.random.key(seed), jnp.int32(episode))
    return dataclasses.replace(world, steps=jnp.int32(steps))


def test_params_are_told_by_number_of_standard_deviations():
    task = RandomABC()
    privilege = Privilege.of(task)
    params = jax.vmap(task.sample)(jax.random.split(jax.random.key(1), 2000))
    told = (np.asarray(params.rewards) - privilege.mean) * privilege.scale
    assert np.abs(told.mean(axis=0)).max() < 0.2
    np.testing.assert_allclose(told.std(axis=0), 1.0, atol=0.1)
    world = world_of(task, 0, 0)
    expected = (np.asarray(world.params.rewards) - privilege.mean) * privilege.scale
    np.testing.assert_allclose(privilege.see(world, UNIFORM)[:3], expected, rtol=1e-5)


def test_what_is_left_of_a_lifetime_and_the_entropy_are_told():
    privilege = Privilege.of(RandomABC())  # 50 episodes of at most 10 steps
    for episode, steps, left in ((0, 0, 1.0), (25, 0, 0.5), (49, 5, 0.01), (60, 0, 0.0)):
        facts = privilege.see(world_of(RandomABC(), episode, steps), UNIFORM)
        np.testing.assert_allclose(facts[3:], [left, left**2, np.log(4)], rtol=1e-5, atol=1e-6)
    certain = privilege.see(world_of(RandomABC(), 0, 0), jnp.array([50.0, 0, 0, 0]))
    np.testing.assert_allclose(certain[-1], 0.0, atol=1e-6)


def test_params_that_never_change_tell_nothing_and_divide_by_nothing():
    privilege = Privilege.of(Constant())
    assert np.isfinite(privilege.scale).all()
    assert np.isfinite(privilege.see(world_of(Constant(), 0, 0), jnp.zeros(2))).all()


def test_hints_of_a_task_are_told_instead_of_its_params():
    task = NonstationaryABC()
    privilege = Privilege.of(task)
    before, after = (world_of(task, episode, 0) for episode in (0, 250))
    np.testing.assert_array_equal(before.params.rewards, after.params.rewards)
    np.testing.assert_array_equal(privilege.see(before, UNIFORM)[:3], before.state.rewards)
    np.testing.assert_array_equal(privilege.see(after, UNIFORM)[:3], before.state.rewards[::-1])  # A and C have swapped


@pytest.mark.parametrize("task", [EmptyRooms(), KeyBox(), NonstationaryABC()], ids=lambda task: type(task).__name__)
def test_hints_are_of_order_one_and_their_number_is_known(task):
    privilege = Privilege.of(task)
    for seed in range(20):
        facts = privilege.see(world_of(task, 3, 2, seed), UNIFORM)
        assert facts.shape == (privilege.size,)
        assert np.abs(facts).max() <= 2.0


def test_the_privileged_value_depends_on_the_facts_and_the_reward_does_not():
    with jax.enable_x64(True):
        instance, num_updates = widen(recorded_instance("sgd", "privileged")), 2
        compiled = loss_and_gradients("sgd", num_updates, "privileged")
        rollouts = instance.rollouts(num_updates)

        def metrics(lifetime, recorded):
            (_, (following, metrics)), gradients = compiled(
                instance.eta, instance.phi, instance.entering, lifetime, recorded, 0.1
            )
            return following, metrics, gradients

        other = dataclasses.replace(rollouts, hints=rollouts.hints + 0.5)
        following, before, gradients = metrics(instance.lifetime, rollouts)
        changed, after, _ = metrics(instance.lifetime, other)
    assert abs(float(before.value_error - after.value_error)) > 1e-3
    assert float(before.intrinsic) == float(after.intrinsic)
    jax.tree.map(np.testing.assert_array_equal, following.agent, changed.agent)
    assert norm(gradients[1]["judges"]) > 1e-4
    assert KINDS["privileged"].outer.privileged_value
