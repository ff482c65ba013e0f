import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.tasks.abc import ABCParams, NonstationaryABC, RandomABC

UP, DOWN, LEFT, RIGHT = range(4)
TASK = NonstationaryABC()
KEY = jax.random.key(0)
PATHS = {"A": (UP, UP, LEFT, LEFT), "B": (UP, UP, RIGHT, RIGHT), "C": (DOWN, DOWN, LEFT, LEFT)}


@pytest.fixture(scope="module")
def pays():
    """Returns `pays(rewards, episode) -> [A, B, C]`, what walking to each pays in an episode of a lifetime."""

    @jax.jit
    def walk(rewards, episode, actions):
        params = ABCParams(rewards=rewards)
        state = TASK.reset(KEY, params, episode)
        total = jnp.zeros(())
        for i in range(4):
            state, reward, _ = TASK.step(KEY, params, state, actions[i])
            total += reward
        return total

    return lambda rewards, episode: [
        float(walk(jnp.array(rewards), jnp.int32(episode), jnp.array(path))) for path in PATHS.values()
    ]


@pytest.mark.parametrize("first", [1.0, -1.0])
@pytest.mark.parametrize(
    ("episode", "swapped"),
    [(0, False), (249, False), (250, True), (499, True), (500, False), (749, False), (750, True), (999, True)],
)
def test_a_and_c_swap_at_250_500_and_750(pays, first, episode, swapped):
    a = -first if swapped else first
    assert pays([first, -0.5, -first], episode) == [a, -0.5, -a]


def test_every_lifetime_begins_with_a_one_or_minus_one_equally_often_and_c_the_opposite():
    rewards = np.asarray(jax.jit(jax.vmap(TASK.sample))(jax.random.split(KEY, 4000)).rewards)
    assert set(map(tuple, rewards.tolist())) == {(1.0, -0.5, -1.0), (-1.0, -0.5, 1.0)}
    assert abs((rewards[:, 0] > 0).mean() - 0.5) < 4.5 * 0.5 / np.sqrt(4000)


def test_in_the_appendix_variant_every_lifetime_begins_with_a_at_one():
    task = NonstationaryABC(random_sign=False)
    rewards = jax.jit(jax.vmap(task.sample))(jax.random.split(KEY, 50)).rewards
    np.testing.assert_array_equal(rewards, np.tile([1.0, -0.5, -1.0], (50, 1)))


def test_nothing_that_is_seen_tells_the_sign_or_the_phase():
    seen = []
    for sign in (1.0, -1.0):
        params = ABCParams(rewards=jnp.array([sign, -0.5, -sign]))
        for episode in (0, 250, 999):
            seen.append(np.asarray(TASK.observe(params, TASK.reset(KEY, params, jnp.int32(episode)))))
    assert all(np.array_equal(seen[0], other) for other in seen)


def test_the_room_is_that_of_random_abc():
    np.testing.assert_array_equal(TASK.observation_table(), RandomABC().observation_table())


def test_the_defaults_are_the_papers():
    assert (TASK.spec.num_actions, TASK.spec.time_limit, TASK.spec.episodes_per_lifetime) == (4, 10, 1000)


def test_swaps_come_as_often_as_one_says():
    task = NonstationaryABC(swap_every=3)
    params = ABCParams(rewards=jnp.array([1.0, -0.5, -1.0]))
    signs = [float(task.reset(KEY, params, jnp.int32(episode)).rewards[0]) for episode in range(7)]
    assert signs == [1.0, 1.0, 1.0, -1.0, -1.0, -1.0, 1.0]


@pytest.mark.parametrize(
    ("options", "optimum"),
    [
        ({}, 1.0),
        ({"rewards": (0.75, -0.5, 0.25)}, 0.75),
        ({"rewards": (-1.0, -0.5, -0.25)}, 0.0),
        ({"time_limit": 3}, 0.0),  # four steps to any object
        # only A can be reached: 1 in half of the episodes, nothing better than staying away in the others
        ({"drawing": "A@#B\n###C"}, 0.5),
    ],
)
def test_the_optimum_is_the_best_object_of_the_day(options, optimum):
    assert NonstationaryABC(**options).optimum() == optimum


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"swap_every": 0}, "swap_every must be at least 1 episode, not 0"),
        ({"rewards": (1.0, float("nan"), 0.0)}, "rewards must be three finite numbers"),
        ({"rewards": (1.0, 0.0)}, "rewards must be three finite numbers"),
        ({"drawing": "A.B\n.@."}, "must show A, B and C"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        NonstationaryABC(**options)
