import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.tasks.abc import RandomABC

UP, DOWN, LEFT, RIGHT = range(4)
TASK = RandomABC()
KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def walk():
    """Returns a compiled step, and with it `walk(actions) -> [(position, reward, terminated, outcome), ...]`."""
    params = jax.jit(TASK.sample)(KEY)
    step = jax.jit(lambda state, action: TASK.step(KEY, params, state, action))

    def run(*actions: int):
        state, rows = TASK.reset(KEY, params, jnp.int32(0)), []
        for action in actions:
            state, reward, terminated = step(state, jnp.int32(action))
            rows.append((tuple(map(int, state.position)), float(reward), bool(terminated), int(state.reached)))
        return rows

    run.rewards = np.asarray(params.rewards)
    return run


@pytest.mark.parametrize(
    ("name", "actions", "corner"),
    [
        ("A", (UP, UP, LEFT, LEFT), (0, 0)),
        ("B", (UP, RIGHT, UP, RIGHT), (0, 4)),
        ("C", (LEFT, LEFT, DOWN, DOWN), (4, 0)),
    ],
)
def test_each_object_is_four_steps_from_the_centre_pays_on_arrival_and_ends_the_episode(walk, name, actions, corner):
    *before, last = walk(*actions)
    index = "ABC".index(name)
    assert [row[1:] for row in before] == [(0.0, False, -1)] * 3
    assert last == (corner, walk.rewards[index], True, index)
    assert walk.rewards[index] != 0.0


def test_the_fourth_corner_is_empty(walk):
    assert walk(DOWN, DOWN, RIGHT, RIGHT)[-1] == ((4, 4), 0.0, False, -1)


def test_walking_into_the_border_keeps_you_in_place(walk):
    assert [row[0] for row in walk(UP, UP, UP)] == [(1, 2), (0, 2), (0, 2)]


def test_the_agent_starts_in_the_centre_and_sees_itself_and_the_objects():
    params = TASK.sample(KEY)
    planes = np.asarray(TASK.observe(params, TASK.reset(KEY, params, jnp.int32(0))))
    assert planes.shape == TASK.spec.observation_shape == (5, 5, 4)
    places = {"agent": (2, 2), "A": (0, 0), "B": (0, 4), "C": (4, 0)}
    for index, place in enumerate(places.values()):
        assert planes[:, :, index].sum() == 1.0
        assert planes[(*place, index)] == 1.0


def test_rewards_are_hidden_from_the_observation():
    state = TASK.reset(KEY, TASK.sample(KEY), jnp.int32(0))
    rich, poor = (TASK.sample(jax.random.key(seed)) for seed in (0, 1))
    assert np.all(rich.rewards != poor.rewards)
    np.testing.assert_array_equal(TASK.observe(rich, state), TASK.observe(poor, state))


def test_rewards_are_uniform_in_their_ranges():
    rewards = jax.vmap(TASK.sample)(jax.random.split(KEY, 4000)).rewards
    low, high = np.array([-1.0, -0.5, 0.0]), np.array([1.0, 0.0, 0.5])
    assert (rewards >= low).all()
    assert (rewards <= high).all()
    # A uniform variable's mean has standard error (high − low)/sqrt(12·4000): 0.0091, 0.0023, 0.0023
    np.testing.assert_allclose(rewards.mean(axis=0), (low + high) / 2, atol=0.04)
    np.testing.assert_allclose(rewards.std(axis=0), (high - low) / np.sqrt(12.0), rtol=0.05)
    assert np.abs(np.corrcoef(rewards.T) - np.eye(3)).max() < 0.06  # drawn independently


def test_the_defaults_are_the_papers():
    assert (TASK.spec.num_actions, TASK.spec.time_limit, TASK.spec.episodes_per_lifetime) == (4, 10, 50)


def test_a_low_above_its_high_is_refused():
    with pytest.raises(ValueError, match="each low must be at most its high"):
        RandomABC(low=(0.0, 0.0, 0.6))


@pytest.mark.parametrize("low", [(0.0, 0.0), "abc", (0.0, float("nan"), 0.0), (0.0, "0", 0.0)])
def test_what_are_no_three_numbers_is_said_to_be_that(low):
    with pytest.raises(ValueError, match="low must be three finite numbers, of A, B and C, got"):
        RandomABC(low=low)


@pytest.mark.parametrize("drawing", ["A.B\n.@.\n...", "A.B\n.@D\nC.."], ids=["C is missing", "D is unknown"])
def test_a_map_without_exactly_a_b_and_c_is_refused(drawing: str):
    with pytest.raises(ValueError, match="must show A, B and C"):
        RandomABC(drawing=drawing)
