import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.tasks.empty_rooms import EmptyRooms, RoomsParams
from orexis.tasks.grid import ALL_MOVES, distances

UP, DOWN, LEFT, RIGHT = range(4)
TASK = EmptyRooms()
KEY = jax.random.key(0)


def walk(goal: tuple[int, int], *actions: int, task: EmptyRooms = TASK):
    """Returns [(position, reward, terminated, outcome), ...] of a walk with the goal in `goal`."""
    params = RoomsParams(goal=jnp.array(goal, jnp.int32))
    state, rows = task.reset(KEY, params, jnp.int32(0)), []
    for action in actions:
        state, reward, terminated = task.step(KEY, params, state, jnp.int32(action))
        place = tuple(map(int, state.position))
        rows.append((place, float(reward), bool(terminated), int(task.outcome(params, state))))
    return rows


def test_there_are_four_rooms_of_25_cells_and_four_doors():
    grid = TASK.map
    assert (grid.height, grid.width) == (11, 11)
    for rows in (slice(0, 5), slice(6, 11)):
        for columns in (slice(0, 5), slice(6, 11)):
            assert not grid.walls[rows, columns].any()
    doors = [(2, 5), (8, 5), (5, 2), (5, 8)]
    assert not any(grid.walls[door] for door in doors)
    assert len(grid.free_cells) == 4 * 25 + len(doors) == 104


def test_the_mean_path_to_a_cell_is_7_and_a_quarter_and_the_longest_is_16():
    away = distances(TASK.map.walls, TASK.map.start)[~TASK.map.walls]
    assert away.mean() == 7.25
    assert (away.min(), away.max()) == (0, 16)


def test_the_agent_starts_in_the_centre_of_the_top_left_room():
    state = TASK.reset(KEY, TASK.sample(KEY), jnp.int32(7))
    np.testing.assert_array_equal(state.position, [2, 2])


def test_reaching_the_goal_pays_one_and_ends_the_episode():
    rows = walk((2, 4), RIGHT, RIGHT)
    assert rows == [((2, 3), 0.0, False, -1), ((2, 4), 1.0, True, 0)]


def test_a_goal_under_the_start_is_reached_by_leaving_and_coming_back():
    assert [row[1:3] for row in walk((2, 2), UP, DOWN)] == [(0.0, False), (1.0, True)]


def test_walls_stop_the_agent_and_doors_do_not():
    assert walk((10, 10), UP, *(4 * [RIGHT]))[-1][0] == (1, 4)  # the wall in column 5
    assert walk((10, 10), *(4 * [RIGHT]))[-1][0] == (2, 6)  # the door in row 2


def test_the_goal_is_uniform_over_all_free_cells():
    num = 20_800  # 200 expected in each of 104 cells, standard error 14
    goals = jax.jit(jax.vmap(TASK.sample))(jax.random.split(KEY, num)).goal
    cells = np.asarray(goals[:, 0] * 11 + goals[:, 1])
    counts = np.bincount(cells, minlength=121)
    free = ~TASK.map.walls.ravel()
    assert counts[~free].sum() == 0
    assert np.abs(counts[free] - 200).max() < 4.5 * 14.1


def test_the_start_can_be_excluded_from_the_goals():
    task = EmptyRooms(goal_at_start=False)
    goals = jax.jit(jax.vmap(task.sample))(jax.random.split(KEY, 2000)).goal
    assert not (goals == jnp.array([2, 2])).all(axis=1).any()
    every = jax.jit(jax.vmap(TASK.sample))(jax.random.split(KEY, 2000)).goal
    assert (every == jnp.array([2, 2])).all(axis=1).any()


def test_the_goal_is_drawn_from_the_cells_that_are_named():
    task = EmptyRooms(goals=[[8, 8], [2, 2], [4, 4]], goal_at_start=False)  # lists, as JSON has them
    assert hash(task) == hash(EmptyRooms(goals=((8, 8), (2, 2), (4, 4)), goal_at_start=False))
    goals = jax.jit(jax.vmap(task.sample))(jax.random.split(KEY, 2000)).goal
    cells, counts = np.unique(np.asarray(goals), axis=0, return_counts=True)
    np.testing.assert_array_equal(cells, [[4, 4], [8, 8]])
    assert counts.min() > 900  # 1000 expected, standard error 22


@pytest.mark.parametrize("cell", [(2, 5), (5, 5), (11, 0), (-1, 0)])
def test_a_goal_in_a_wall_or_outside_is_refused(cell):
    if cell == (2, 5):
        assert EmptyRooms(goals=((4, 4), cell)).goals[1] == cell  # a door is free
    else:
        with pytest.raises(ValueError, match="a goal must be a free cell of the map"):
            EmptyRooms(goals=((4, 4), cell))


def test_nothing_that_is_seen_tells_where_the_goal_is():
    state = TASK.reset(KEY, TASK.sample(KEY), jnp.int32(0))
    seen = [np.asarray(TASK.observe(RoomsParams(goal=jnp.array(cell)), state)) for cell in TASK.map.free_cells[::9]]
    assert all(np.array_equal(seen[0], other) for other in seen)
    assert seen[0][2, 2, 0] == seen[0][:, :, 0].sum() == 1.0


def test_walls_are_seen_if_asked_for():
    task = EmptyRooms(shows_walls=True)
    state = task.reset(KEY, task.sample(KEY), jnp.int32(0))
    seen = task.observe(task.sample(KEY), state)
    np.testing.assert_array_equal(seen[:, :, 1], task.map.walls)
    assert task.spec.observation_shape == task.observation_table().shape[1:] == (11, 11, 2)


def test_the_defaults_are_the_papers():
    spec = TASK.spec
    assert (spec.time_limit, spec.episodes_per_lifetime, spec.num_actions) == (100, 200, 4)
    assert spec.observation_shape == (11, 11, 1)


def test_the_table_lists_the_free_cells_only():
    assert TASK.observation_table().shape == (104, 11, 11, 1)


@pytest.mark.parametrize(
    ("options", "moves", "optimum"),
    [
        ({}, None, 1.0),
        ({"goal_reward": 2.5}, None, 2.5),
        ({"goal_reward": -1.0}, None, 0.0),  # better to stay away
        ({"time_limit": 1}, None, 4 / 104),  # the four neighbours; the start takes two steps
        ({"time_limit": 2}, None, 13 / 104),  # those within two steps: 1 + 4 + 8
        ({"time_limit": 2, "goal_at_start": False}, None, 12 / 103),
        ({"time_limit": 1}, ALL_MOVES, 8 / 104),
    ],
)
def test_the_optimum_counts_the_goals_that_can_be_reached_in_time(options, moves, optimum):
    task = EmptyRooms(**options)
    assert (task.optimum() if moves is None else task.optimum(moves)) == pytest.approx(optimum, abs=1e-12)


@pytest.mark.parametrize(
    ("drawing", "message"),
    [
        ("@.A", "the rooms are empty; the map shows"),
        ("@#.", r"must be reachable from the start, \(0, 2\) is not"),
    ],
)
def test_a_map_that_makes_no_sense_is_refused(drawing, message):
    with pytest.raises(ValueError, match=message):
        EmptyRooms(drawing=drawing)


def test_a_map_without_room_for_a_goal_is_refused():
    with pytest.raises(ValueError, match="no cell is left for the goal"):
        EmptyRooms(drawing="@", goal_at_start=False)


def test_the_sketch_hides_the_goal_unless_told_to_reveal_it():
    params = RoomsParams(goal=jnp.array([8, 9]))
    state = TASK.reset(KEY, params, jnp.int32(0))
    assert TASK.sketch(params, state)[8, 9] == "."
    assert TASK.sketch(params, state, reveal=True)[8, 9] == "*"
    assert TASK.sketch(params, state)[2, 2] == "@"
