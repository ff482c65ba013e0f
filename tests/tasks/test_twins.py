"""The JAX tasks against plain NumPy twins, step for step, and against exact distributions."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.tasks.abc import NonstationaryABC, RandomABC
from orexis.tasks.base import begin_world, step_world
from orexis.tasks.empty_rooms import EmptyRooms
from orexis.tasks.key_box import KeyBox
from tests.oracles import chains, worlds

NUM_LIFETIMES = 1000


@dataclasses.dataclass(frozen=True)
class Pair:
    """A task, its twin, and how many steps are compared in each lifetime."""

    task: Any
    twin: Callable[[Any], Any]  # of the params of one lifetime
    num_steps: int


PAIRS = {
    "empty-rooms": Pair(EmptyRooms(shows_walls=True), lambda params: worlds.Rooms(tuple(params.goal.tolist())), 110),
    "random-abc": Pair(RandomABC(), lambda params: worlds.ABC(params.rewards.tolist()), 40),
    "nonstationary-abc": Pair(NonstationaryABC(), lambda params: worlds.SwappingABC(params.rewards.tolist()), 40),
    "key-box": Pair(KeyBox(), lambda params: worlds.Boxes(params.rewards.tolist()), 110),
}


def live(task: Any, num_steps: int, seed: int = 0):
    """Returns first worlds, actions, and what happened in 1000 lifetimes, time in front: [T, L, ...]."""
    keys = jax.random.split(jax.random.key(seed), NUM_LIFETIMES)
    # Half of them begin anywhere in the lifetime, half just before its end and before swaps.
    noise = np.random.default_rng(seed)
    last = task.spec.episodes_per_lifetime
    anywhere = noise.integers(0, last, NUM_LIFETIMES)
    nearly = np.maximum(0, noise.choice([last // 4, last // 2, 3 * last // 4, last], NUM_LIFETIMES) - 2)
    episodes = np.where(np.arange(NUM_LIFETIMES) % 2, anywhere, nearly).astype(np.int32)
    actions = noise.integers(0, task.spec.num_actions, (num_steps, NUM_LIFETIMES)).astype(np.int32)

    @jax.jit
    def run(keys, episodes, actions):
        first = jax.vmap(lambda key, episode: begin_world(task, key, episode))(keys, episodes)

        def step(world, given):
            number, chosen = given
            step_keys = jax.vmap(lambda key: jax.random.fold_in(key, number))(keys)
            following, next_observation = jax.vmap(lambda k, w, a: _step(task, k, w, a))(step_keys, world, chosen)
            return following, (following, next_observation)

        return first, jax.lax.scan(step, first, (jnp.arange(num_steps), actions))[1]

    return jax.device_get((*run(keys, episodes, actions), actions))


def _step(task, key, world, action):
    following, result = step_world(task, key, world, action)
    seen = task.observe(following.params, following.state)
    return following, (
        result.observation,
        result.reward,
        result.episode_ended,
        result.outcome,
        seen,
    )


def scattered(state: Any) -> list[tuple[int, int]] | None:
    """Returns where Key-Box put things, None for the others."""
    if not hasattr(state, "boxes"):
        return None
    return [tuple(place.tolist()) for place in (state.position, state.key, *state.boxes)]


@pytest.mark.parametrize("name", PAIRS)
def test_a_task_does_step_for_step_what_its_twin_does(name: str):
    pair = PAIRS[name]
    first, (after, next_observations), actions = live(pair.task, pair.num_steps)
    observation, reward, ended, outcome, seen = next_observations
    for number in range(NUM_LIFETIMES):
        born = jax.tree.map(lambda x, i=number: x[i], first)
        twin = worlds.Lifetime(pair.twin(born.params), int(born.episode), scattered(born.state))
        rows = []
        for time, action in enumerate(actions[:, number].tolist()):
            arrived, pay, over = twin.step(action)
            if over:
                twin.begin_next(scattered(jax.tree.map(lambda x, t=time, i=number: x[t, i], after.state)))
            rows.append((arrived, pay, over, twin.world.look() if over else arrived, twin.episode, twin.alive))
        expected = [np.stack(column) for column in zip(*rows, strict=True)]
        found = (observation, reward, ended, seen, after.episode, after.alive > 0)
        for column, wanted in zip(found, expected, strict=True):
            np.testing.assert_array_equal(column[:, number], wanted.astype(column.dtype))
    # Something was compared: episodes ended, some of them by time, and lifetimes too.
    assert ended.sum() > 0.9 * NUM_LIFETIMES
    assert (ended & (outcome < 0)).any()
    assert (after.alive == 0).any()


NUM_EPISODES = 100_000


def random_episodes(task: Any, keys: jax.Array, resets: jax.Array) -> tuple[Any, np.ndarray, np.ndarray]:
    """Returns params, the step (from 0) at which each episode ended and its outcome, −1 for none, of random walks."""

    def episode(key, key_reset):
        params = task.sample(jax.random.fold_in(key_reset, 1))
        start = task.reset(key_reset, params, jnp.int32(0))

        def step(carry, number):
            state, length, outcome = carry
            action = jax.random.randint(jax.random.fold_in(key, number), (), 0, task.spec.num_actions)
            state, _, terminated = task.step(key, params, state, action)
            first = terminated & (length < 0)
            length, outcome = jnp.where(first, number, length), jnp.where(first, task.outcome(params, state), outcome)
            return (state, length, outcome), None

        nothing = -jnp.ones((), jnp.int32)
        (_, length, outcome), _ = jax.lax.scan(step, (start, nothing, nothing), jnp.arange(task.spec.time_limit))
        return (params, start), length, outcome

    batches = lambda x: x.reshape(10, -1, *x.shape[1:])  # noqa: E731
    run = jax.jit(lambda *given: jax.lax.map(lambda each: jax.vmap(episode)(*each), given))
    drawn, length, outcome = jax.device_get(run(batches(keys), batches(resets)))
    return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), drawn), length.ravel(), outcome.ravel()


def assert_as_expected(counts: np.ndarray, chances: np.ndarray, num: int) -> None:
    """Asserts that counts lie within 4.5 standard errors of what is expected, bin by bin where 20 are."""
    expected = num * chances
    error = np.sqrt(expected * (1 - chances))
    common = expected >= 20
    assert common.sum() >= 3
    assert np.abs((counts - expected)[common] / error[common]).max() < 4.5
    assert counts[chances == 0].sum() == 0


@pytest.mark.slow
@pytest.mark.parametrize("task", [RandomABC(), NonstationaryABC()], ids=["random", "nonstationary"])
def test_random_walks_in_abc_world_end_where_and_when_they_must(task):
    keys, resets = jax.random.split(jax.random.key(5), (2, NUM_EPISODES))
    _, length, outcome = random_episodes(task, keys, resets)
    chances = chains.ending_chances(5 * ["....."], start=12, ends=[0, 4, 20], time_limit=10)
    counts = np.zeros_like(chances)
    np.add.at(counts, (length[outcome >= 0], outcome[outcome >= 0]), 1)
    assert_as_expected(counts, chances, NUM_EPISODES)
    np.testing.assert_allclose((outcome < 0).mean(), 1 - chances.sum(), atol=4.5 * 0.5 / np.sqrt(NUM_EPISODES))


@pytest.mark.slow
def test_random_walks_in_empty_rooms_find_the_goal_when_they_must():
    keys, resets = jax.random.split(jax.random.key(6), (2, NUM_EPISODES))
    (params, _), length, _ = random_episodes(EmptyRooms(), keys, resets)
    free = [i for i, sign in enumerate("".join(worlds.ROOMS)) if sign == "."]
    by_goal = np.array([chains.ending_chances(worlds.ROOMS, 24, [goal], 100)[:, 0] for goal in free])
    assert_as_expected(np.bincount(length[length >= 0], minlength=100), by_goal.mean(axis=0), NUM_EPISODES)
    goals = params.goal[:, 0] * 11 + params.goal[:, 1]
    assert_as_expected(np.bincount(goals, minlength=121)[free], np.full(104, 1 / 104), NUM_EPISODES)
    found = np.array([(length[goals == goal] >= 0).mean() for goal in free])
    chance = by_goal.sum(axis=1)
    error = np.sqrt(chance * (1 - chance) / (NUM_EPISODES / 104)) + 1e-9
    assert np.abs((found - chance) / error).max() < 4.5


@pytest.mark.slow
def test_random_walks_in_key_box_open_boxes_as_often_as_they_must():
    num_layouts = 5000
    resets = jnp.repeat(jax.random.split(jax.random.key(7), num_layouts), NUM_EPISODES // num_layouts, axis=0)
    (_, start), _, outcome = random_episodes(KeyBox(), jax.random.split(jax.random.key(8), NUM_EPISODES), resets)
    places = np.concatenate([start.position[:, None], start.key[:, None], start.boxes], axis=1)
    layouts = (places[..., 0] * 9 + places[..., 1])[:: NUM_EPISODES // num_layouts]
    chances = chains.box_chances(9 * ["........."], layouts, 100)
    counts = np.bincount(outcome[outcome >= 0], minlength=3)
    error = np.sqrt((chances * (1 - chances)).sum(axis=0) * (NUM_EPISODES // num_layouts))
    assert np.abs((counts - chances.mean(axis=0) * NUM_EPISODES) / error).max() < 4.5
