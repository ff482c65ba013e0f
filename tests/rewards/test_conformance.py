"""What every reward source must do. A new source is a new row."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.config import CuriosityConfig
from orexis.rewards.base import Returns
from orexis.rewards.count import Count
from orexis.rewards.extrinsic import Extrinsic
from orexis.rewards.icm import Icm
from orexis.rewards.learned import LearnedReward
from orexis.rewards.teachers import make_teacher
from orexis.tasks.abc import NonstationaryABC
from orexis.tasks.empty_rooms import EmptyRooms
from orexis.tasks.key_box import KeyBox
from orexis.tasks.probes import Bandit
from orexis.types import Rollout
from tests.instances import HISTORY_NET, SMALL_MAP, random_rollout, small_task

SPEC = small_task().spec
HASHED = Count(Bandit(), scale=0.5, num_buckets=64)  # a task that lists no observations
ROOMS, KEY_BOX = EmptyRooms(drawing="@..\n#..\n..."), KeyBox(drawing="...\n...\n#..")
CURIOSITY = CuriosityConfig(num_filters=2, num_features=4, num_hidden=5)
SOURCES = {
    "learned": LearnedReward(SPEC, HISTORY_NET),
    "learned, feed-forward": LearnedReward(SPEC, dataclasses.replace(HISTORY_NET, history="none")),
    "learned, blind to actions": LearnedReward(SPEC, dataclasses.replace(HISTORY_NET, sees_action=False)),
    "learned, with a clock": LearnedReward(SPEC, dataclasses.replace(HISTORY_NET, sees_clock=True)),
    "learned, with a ledger": LearnedReward(
        SPEC, dataclasses.replace(HISTORY_NET, view="egocentric", keeps_ledger=True)
    ),
    "extrinsic-ep": Extrinsic(),
    "extrinsic-life": Extrinsic(Returns(discount=0.99, through_episodes=True)),
    "count, exact": Count(small_task(), scale=0.5),
    "count, hashed": HASHED,
    "icm": Icm(SPEC, CURIOSITY, scale=0.5),
    "teacher of random-abc": make_teacher(small_task(), 0.5),
    "teacher of nonstationary-abc": make_teacher(NonstationaryABC(drawing=SMALL_MAP), 0.5),
    "teacher of empty-rooms": make_teacher(ROOMS, 0.5),
    "teacher of key-box": make_teacher(KEY_BOX, 0.5),
}
SPECS = {"teacher of empty-rooms": ROOMS.spec, "teacher of key-box": KEY_BOX.spec}  # `SPEC` for all others
BATCH, LENGTH = 3, 4


@pytest.mark.parametrize("name", SOURCES)
def test_a_source_pays_a_batch_of_rollouts_and_keeps_its_states_form(name: str):
    source = SOURCES[name]
    each = [random_rollout(seed, LENGTH, SPECS.get(name, SPEC)) for seed in range(BATCH)]
    rollouts = jax.tree.map(lambda *xs: np.stack(xs), *each)

    @jax.jit
    def pay(key: jax.Array, rollouts):
        key_init, key_begin = jax.random.split(key)
        params = source.init(key_init)
        states = jax.vmap(lambda key: source.begin(params, key))(jax.random.split(key_begin, BATCH))
        rewards, following = jax.vmap(lambda state, rollout: source.unroll(params, state, rollout))(states, rollouts)
        return rewards, states, following

    rewards, states, following = pay(jax.random.key(0), rollouts)

    assert rewards.shape == (BATCH, LENGTH)
    assert rewards.dtype == jnp.float32
    assert np.isfinite(rewards).all()
    assert jax.tree.structure(states) == jax.tree.structure(following)
    jax.tree.map(
        lambda a, b: (a.shape, a.dtype) == (b.shape, b.dtype) or pytest.fail("state changed"), states, following
    )
    assert isinstance(source.returns, Returns)
    assert hash(source) == hash(dataclasses.replace(source))  # compiled programs are found again by it


@pytest.mark.parametrize("name", [name for name in SOURCES if name != "icm"])  # which learns once a rollout
def test_a_source_pays_the_same_in_one_piece_as_in_two(name: str):
    source = SOURCES[name]
    params = source.init(jax.random.key(0))
    state = source.begin(params, jax.random.key(1))
    whole = random_rollout(0, LENGTH, SPECS.get(name, SPEC))
    first, second = cut(whole, 0, 2), cut(whole, 2, LENGTH)
    rewards, _ = source.unroll(params, state, whole)
    rewards_first, state = source.unroll(params, state, first)
    rewards_second, _ = source.unroll(params, state, second)
    np.testing.assert_allclose(np.concatenate([rewards_first, rewards_second]), rewards, rtol=1e-5, atol=1e-7)


def cut(rollout: Rollout, begin: int, end: int) -> Rollout:
    """Returns steps begin..end−1 of a rollout."""
    pieces = {
        field.name: getattr(rollout, field.name)[begin : end + (field.name in ("observation", "value"))]
        for field in dataclasses.fields(rollout)
    }
    return Rollout(**pieces)


@pytest.mark.parametrize("name", ["extrinsic-ep", "extrinsic-life"])
def test_extrinsic_pays_what_the_task_paid(name: str):
    rollout = random_rollout(0, LENGTH, SPEC)
    rewards, state = SOURCES[name].unroll((), (), rollout)
    np.testing.assert_array_equal(rewards, rollout.reward)
    assert state == ()
