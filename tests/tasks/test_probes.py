import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.tasks.probes import Bandit, Constant, Delayed

KEY = jax.random.key(0)


def episode(task, actions, key=KEY):
    """Returns params and the rows (reward, terminated, what is seen) of an episode of `actions`."""
    params = task.sample(key)
    state, rows = task.reset(KEY, params, jnp.int32(0)), []
    for action in actions:
        state, reward, terminated = task.step(KEY, params, state, jnp.int32(action))
        rows.append((float(reward), bool(terminated), np.asarray(task.observe(params, state))[0, :, 0].tolist()))
    return params, rows


@pytest.mark.parametrize("arm", [0, 1, 2])
def test_only_the_best_arm_of_a_bandit_pays_and_one_pull_is_an_episode(arm: int):
    params, rows = episode(Bandit(), [arm])
    assert rows == [(1.0 if arm == int(params.best) else 0.0, True, [0.0, 1.0])]


def test_every_arm_of_a_bandit_is_the_best_in_some_lifetimes():
    best = jax.vmap(Bandit(arms=3).sample)(jax.random.split(KEY, 300)).best
    counts = np.bincount(best, minlength=3)
    assert counts.shape == (3,)
    assert (counts > 70).all()  # 100 each is expected, standard deviation 8


@pytest.mark.parametrize(
    ("actions", "reward", "seen"),
    [((0, 1, 1), 1.0, [0, 1, 0]), ((1, 0, 0), 0.0, [0, 0, 1])],
    ids=["the good branch", "the bad branch"],
)
def test_the_first_action_decides_what_the_delayed_world_pays_at_its_end(actions, reward, seen):
    _, rows = episode(Delayed(delay=2), actions)
    assert rows == [(0.0, False, seen), (0.0, False, seen), (reward, True, seen)]


def test_the_delayed_world_shows_the_choice_before_it_is_made():
    task = Delayed()
    np.testing.assert_array_equal(task.observe((), task.reset(KEY, (), jnp.int32(0)))[0, :, 0], [1, 0, 0])


def test_a_delay_below_one_is_refused():
    with pytest.raises(ValueError, match="delay must be at least 1, not 0"):
        Delayed(delay=0)


@pytest.mark.parametrize("action", [0, 1])
def test_the_constant_world_pays_the_same_whatever_one_does(action: int):
    _, rows = episode(Constant(reward=0.25), [action])
    assert rows == [(0.25, False, [1.0])]
    assert Constant(length=7).spec.time_limit == 7
