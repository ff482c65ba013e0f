import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.tasks.grid import ALL_MOVES
from orexis.tasks.key_box import KeyBox, KeyBoxParams, KeyBoxState, draw_distinct

UP, DOWN, LEFT, RIGHT = range(4)
TASK = KeyBox()
KEY = jax.random.key(0)
PARAMS = KeyBoxParams(rewards=jnp.array([0.75, -0.25, 0.5]))

# A corner of the room:   @ A K B
#                         . . C .
LAYOUT = KeyBoxState(
    position=jnp.array([0, 0]),
    key=jnp.array([0, 2]),
    boxes=jnp.array([[0, 1], [0, 3], [1, 2]]),
    has_key=jnp.array(False),
    opened=jnp.array(-1, jnp.int32),
)


@pytest.fixture(scope="module")
def walk():
    """Returns `walk(actions) -> [(state, reward, terminated, observation), ...]` from `LAYOUT` on."""

    @jax.jit
    def step(state, action):
        state, reward, terminated = TASK.step(KEY, PARAMS, state, action)
        return state, reward, terminated, TASK.observe(PARAMS, state), TASK.outcome(PARAMS, state)

    def run(*actions):
        state, rows = LAYOUT, []
        for action in actions:
            state, *told = step(state, jnp.int32(action))
            rows.append(jax.device_get((state, *told)))
        return rows

    return run


def test_a_box_does_not_open_without_the_key(walk):
    (state, reward, terminated, _, outcome), *_ = walk(RIGHT)
    np.testing.assert_array_equal(state.position, state.boxes[0])  # the agent stands on A
    assert (float(reward), bool(terminated), int(outcome), bool(state.has_key)) == (0.0, False, -1, False)


def test_the_key_is_picked_up_by_walking_over_it_and_pays_nothing(walk):
    state, reward, terminated, _, _ = walk(RIGHT, RIGHT)[-1]
    assert (bool(state.has_key), float(reward), bool(terminated)) == (True, 0.0, False)


@pytest.mark.parametrize(
    ("after_the_key", "index", "reward"), [((LEFT,), 0, 0.75), ((RIGHT,), 1, -0.25), ((DOWN,), 2, 0.5)], ids="ABC"
)
def test_with_the_key_a_box_opens_pays_and_ends_the_episode(walk, after_the_key, index, reward):
    *before, last = walk(RIGHT, RIGHT, *after_the_key)
    assert [(float(row[1]), bool(row[2])) for row in before] == [(0.0, False), (0.0, False)]
    assert (float(last[1]), bool(last[2]), int(last[4])) == (reward, True, index)


def test_a_key_that_was_picked_up_is_seen_in_the_agents_own_cell(walk):
    rows = walk(RIGHT, RIGHT, RIGHT)
    planes = [row[3] for row in rows]
    assert planes[0][0, 2, 1] == 1.0  # it lies where it lay
    for seen, place in ((planes[1], (0, 2)), (planes[2], (0, 3))):
        np.testing.assert_array_equal(seen[:, :, 1], seen[:, :, 0])
        assert seen[(*place, 0)] == 1.0
    assert all((seen.sum(axis=(0, 1)) == 1.0).all() for seen in planes)  # every plane one-hot, always


def test_everything_lies_in_a_cell_of_its_own_and_somewhere_else_in_every_episode():
    resets = jax.jit(jax.vmap(lambda key: TASK.reset(key, PARAMS, jnp.int32(0))))(jax.random.split(KEY, 5000))
    places = np.concatenate([resets.position[:, None], resets.key[:, None], resets.boxes], axis=1)
    assert places.min() == 0
    assert places.max() == 8
    cells = places[..., 0] * 9 + places[..., 1]
    assert all(len(set(row)) == 5 for row in cells.tolist())
    assert len({tuple(row) for row in cells.tolist()}) == 5000
    # each thing is anywhere equally often: 5000/81 = 61.7 in each cell, standard error 7.8
    for thing in range(5):
        assert np.abs(np.bincount(cells[:, thing], minlength=81) - 61.7).max() < 4.5 * 7.8
    assert not resets.has_key.any()


def test_there_are_more_than_three_billion_layouts():
    assert 81 * 80 * 79 * 78 * 77 > 3_000_000_000


def test_distinct_numbers_are_drawn_in_every_arrangement_equally_often():
    draws = jax.jit(jax.vmap(lambda key: draw_distinct(key, 5, 3)))(jax.random.split(KEY, 12_000))
    arrangements, counts = np.unique(np.asarray(draws), axis=0, return_counts=True)
    assert len(arrangements) == 5 * 4 * 3
    assert np.abs(counts - 200).max() < 4.5 * 14.1  # 12000 / 60 = 200, standard error 14


def test_as_many_as_there_are_can_be_drawn():
    assert sorted(draw_distinct(KEY, 6, 6).tolist()) == [0, 1, 2, 3, 4, 5]


def test_rewards_are_drawn_as_in_random_abc_and_kept_for_a_lifetime():
    rewards = np.asarray(jax.jit(jax.vmap(TASK.sample))(jax.random.split(KEY, 4000)).rewards)
    low, high = np.array([-1.0, -0.5, 0.0]), np.array([1.0, 0.0, 0.5])
    assert (rewards >= low).all()
    assert (rewards <= high).all()
    np.testing.assert_allclose(rewards.mean(axis=0), (low + high) / 2, atol=0.04)
    np.testing.assert_allclose(rewards.std(axis=0), (high - low) / np.sqrt(12), rtol=0.05)


def test_rewards_are_hidden():
    other = KeyBoxParams(rewards=-PARAMS.rewards)
    np.testing.assert_array_equal(TASK.observe(PARAMS, LAYOUT), TASK.observe(other, LAYOUT))


def test_the_defaults_are_the_papers():
    spec = TASK.spec
    assert (spec.time_limit, spec.episodes_per_lifetime, spec.num_actions) == (100, 5000, 4)
    assert spec.observation_shape == (9, 9, 5)


def test_the_optimum_is_that_of_random_abc_less_the_layouts_in_which_a_corner_is_cut_off():
    # A (likewise C) is out of reach if it, or the key, lies in one of 4 corners and the two other boxes beside it, in
    # either order: 2·4·2 of 81·80·79. Then the other of A and C is left, worth 1/4 instead of 19/48: 7/48 are lost.
    assert TASK.optimum() == pytest.approx(19 / 48 - 2 * 16 / (81 * 80 * 79) * 7 / 48, abs=1e-12)


def test_diagonals_reach_every_corner():
    assert TASK.optimum(ALL_MOVES) == pytest.approx(19 / 48, abs=1e-12)


def test_in_a_short_episode_only_near_boxes_count():
    # In a row of five cells with 1 step there is no time for key and box; with any time, some boxes are behind others.
    row = "....."
    assert KeyBox(drawing=row, time_limit=1).optimum() == 0.0
    assert 0.0 < KeyBox(drawing=row, time_limit=4).optimum() < KeyBox(drawing=row, time_limit=100).optimum() < 19 / 48


def test_walls_are_seen_and_nothing_lies_in_them():
    task = KeyBox(drawing="..#\n...\n..#")
    assert task.spec.observation_shape == (3, 3, 6)
    resets = jax.vmap(lambda key: task.reset(key, PARAMS, jnp.int32(0)))(jax.random.split(KEY, 200))
    places = np.concatenate([resets.position[:, None], resets.key[:, None], resets.boxes], axis=1)
    assert not task.walls[places[..., 0], places[..., 1]].any()
    seen = task.observe(PARAMS, jax.tree.map(lambda x: x[0], resets))
    np.testing.assert_array_equal(seen[:, :, 5], task.walls)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"drawing": "....\n...A"}, "walls and free cells only"),
        ({"drawing": "...."}, "needs 5 free cells or more, it has 4"),
        ({"drawing": "...#..."}, "reachable from every other"),
        ({"low": (2.0, 0.0, 0.0)}, "each low must be at most its high"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        KeyBox(**options)


def test_the_sketch_shows_who_holds_the_key(walk):
    assert TASK.sketch(PARAMS, LAYOUT)[0, :4].tolist() == ["@", "A", "K", "B"]
    state = walk(RIGHT, RIGHT)[-1][0]
    assert TASK.sketch(PARAMS, state)[0, :4].tolist() == [".", "A", "&", "B"]


def test_a_smaller_room_lies_in_the_middle_and_looks_like_the_large_one():
    task, whole = KeyBox(room=5), KeyBox()
    assert task.spec.observation_shape == whole.spec.observation_shape == (9, 9, 5)
    keys = jax.random.split(jax.random.key(0), 200)
    states = jax.vmap(lambda key: task.reset(key, task.sample(key), jnp.int32(0)))(keys)
    places = np.concatenate([np.asarray(x).reshape(-1, 2) for x in (states.position, states.key, states.boxes)])
    assert (places.min(), places.max()) == (2, 6)
    corner = dataclasses.replace(jax.tree.map(lambda x: x[0], states), position=jnp.array([2, 2]))
    for action in (0, 2):  # up and left are walls that nobody sees
        following, _, _ = task.step(KEY, task.sample(KEY), corner, jnp.int32(action))
        np.testing.assert_array_equal(following.position, [2, 2])
    assert 0.39 < task.optimum() < whole.optimum()


@pytest.mark.parametrize("options", [{"room": 4}, {"room": 11}, {"room": 1}, {"room": 3, "drawing": "..#\n...\n..."}])
def test_a_room_that_cannot_be_is_refused(options: dict):
    with pytest.raises(ValueError, match="room"):
        KeyBox(**options)
