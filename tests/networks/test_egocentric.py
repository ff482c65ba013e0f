"""What a step looks like from the agent, by hand on small maps, and what it must not depend on."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.config import HistoryNetConfig, TaskSpec
from orexis.networks import egocentric
from orexis.networks.egocentric import DIRECTIONS, Lookup
from orexis.tasks.abc import RandomABC
from orexis.tasks.empty_rooms import EmptyRooms
from orexis.tasks.key_box import KeyBox

SIDE = 5
REACH = 3 * SIDE  # bins of a plane: 9 ahead, 5 aside, 1 in the agent's cell
CENTRE = (2, 2)


def draw(agent: tuple[int, int] | None, *planes: list[tuple[int, int]], side: int = SIDE) -> np.ndarray:
    """Returns f32[1, side, side, C]: the agent in plane 0, the things of each further plane in their cells."""
    image = np.zeros((1, side, side, 1 + len(planes)), np.float32)
    if agent is not None:
        image[0, agent[0], agent[1], 0] = 1.0
    for plane, cells in enumerate(planes):
        for row, column in cells:
            image[0, row, column, 1 + plane] += 1.0
    return image


def see(before: tuple[int, int] | None, after: tuple[int, int] | None, *planes: list[tuple[int, int]]):
    """Returns for each plane its bins ahead {cells: sum}, aside {cells: sum} and what is in the agent's cell, and
    whether the agent stayed: `features` by the names of what they mean."""
    row = np.asarray(egocentric.features(draw(before, *planes), draw(after, *planes), 0))[0]
    assert row.shape == (REACH * len(planes) + 1,)
    seen = []
    for bins in row[:-1].reshape(len(planes), REACH):
        ahead = {int(k) - (SIDE - 1): float(bins[k]) for k in np.flatnonzero(bins[: 2 * SIDE - 1])}
        aside = {int(k): float(bins[2 * SIDE - 1 + k]) for k in np.flatnonzero(bins[2 * SIDE - 1 : -1])}
        seen.append((ahead, aside, float(bins[-1])))
    return (*seen, float(row[-1]))


@pytest.mark.parametrize(
    ("move", "ahead", "aside"),
    # The thing is in (0, 3), the agent arrives in (2, 2): the offset is (−2, +1), two rows up and one column right.
    [
        ((-1, 0), 2, 1),  # up: two ahead, one to the right
        ((1, 0), -2, 1),  # down: two behind, one to the left
        ((0, -1), -1, 2),  # left: one behind, two to the right
        ((0, 1), 1, 2),  # right: one ahead, two to the left
    ],
    ids=["up", "down", "left", "right"],
)
def test_a_thing_is_so_many_cells_ahead_and_aside(move, ahead: int, aside: int):
    before = (CENTRE[0] - move[0], CENTRE[1] - move[1])
    assert see(before, CENTRE, [(0, 3)]) == (({ahead: 1.0}, {aside: 1.0}, 0.0), 0.0)


@pytest.mark.parametrize(
    ("move", "ahead", "aside"),
    # The same offset (−2, +1): a = dr·(−2), b = dc·1; ahead (a + b)/2, aside |a − b|/2, halves to both neighbours.
    [
        ((-1, 1), {1: 0.5, 2: 0.5}, {0: 0.5, 1: 0.5}),  # a = 2, b = 1: 1.5 and 0.5
        ((-1, -1), {0: 0.5, 1: 0.5}, {1: 0.5, 2: 0.5}),  # a = 2, b = −1: 0.5 and 1.5
        ((1, 1), {-1: 0.5, 0: 0.5}, {1: 0.5, 2: 0.5}),  # a = −2, b = 1: −0.5 and 1.5
        ((1, -1), {-2: 0.5, -1: 0.5}, {0: 0.5, 1: 0.5}),  # a = −2, b = −1: −1.5 and 0.5
    ],
)
def test_a_diagonal_move_shares_half_cells_between_two_bins(move, ahead, aside):
    before = (CENTRE[0] - move[0], CENTRE[1] - move[1])
    assert see(before, CENTRE, [(0, 3)]) == ((ahead, aside, 0.0), 0.0)


def test_a_diagonal_move_sees_what_is_on_its_diagonal_in_whole_cells():
    # down and right to (2, 2), the thing in (4, 4): a = b = 2, ahead 2, aside 0; in (0, 4): a = −2, b = 2: 0 and 2.
    assert see((1, 1), CENTRE, [(4, 4)]) == (({2: 1.0}, {0: 1.0}, 0.0), 0.0)
    assert see((1, 1), CENTRE, [(0, 4)]) == (({0: 1.0}, {2: 1.0}, 0.0), 0.0)


def test_a_step_that_did_not_move_says_so_and_what_is_in_its_cell_and_nothing_else():
    assert see(CENTRE, CENTRE, [(0, 3)], [CENTRE]) == (({}, {}, 0.0), ({}, {}, 1.0), 1.0)


def test_a_thing_in_the_agents_cell_is_neither_ahead_nor_aside_and_is_here():
    assert see((2, 1), CENTRE, [CENTRE]) == (({0: 1.0}, {0: 1.0}, 1.0), 0.0)


def test_things_of_one_plane_add_up_and_planes_are_apart():
    # right to (2, 2). Plane 1: (2, 4) is 2 ahead, 0 aside; (4, 4) 2 ahead, 2 aside; (0, 2) 0 ahead, 2 aside.
    # Plane 2: two things in (3, 2), 0 ahead and 1 aside.
    first = ({2: 2.0, 0: 1.0}, {0: 1.0, 2: 2.0}, 0.0)
    assert see((2, 1), CENTRE, [(2, 4), (4, 4), (0, 2)], [(3, 2), (3, 2)]) == (first, ({0: 2.0}, {1: 2.0}, 0.0), 0.0)


def test_corner_to_corner_is_within_the_outermost_bins():
    # up to (0, 0) with the thing in (4, 4): offset (4, 4), 4 behind and 4 aside; down to (4, 4), the thing in (0, 0).
    assert see((1, 0), (0, 0), [(4, 4)]) == (({-4: 1.0}, {4: 1.0}, 0.0), 0.0)
    assert see((3, 3), (4, 4), [(0, 0)]) == (({-4: 1.0}, {0: 1.0}, 0.0), 0.0)  # diagonally: (−4 − 4)/2, 0


def test_of_a_leap_the_signs_count():
    assert see((2, 0), CENTRE, [(0, 3)]) == see((2, 1), CENTRE, [(0, 3)])
    assert see((4, 1), CENTRE, [(0, 3)]) == see((3, 1), CENTRE, [(0, 3)])


@pytest.mark.parametrize(("before", "after"), [(None, CENTRE), (CENTRE, None), (None, None)])
def test_an_agent_that_is_not_on_the_map_did_not_move(before, after):
    assert see(before, after, [(0, 3)]) == (({}, {}, 0.0), 1.0)


def test_the_agents_plane_may_be_any():
    before, after = draw((2, 1), [(0, 3)], [(4, 4)]), draw(CENTRE, [(0, 3)], [(4, 4)])
    order = [1, 0, 2]  # the agent second
    ours = egocentric.features(before[..., order], after[..., order], 1)
    np.testing.assert_array_equal(ours, egocentric.features(before, after, 0))


def random_steps(seed: int, side: int = SIDE, length: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Returns before and after f32[T, side, side, 4]: moves in all directions and none, a few things to a plane."""
    rng = np.random.default_rng(seed)
    arrived = rng.integers(0, side, (length, 2))
    left = np.clip(arrived - rng.integers(-1, 2, (length, 2)), 0, side - 1)
    things = (rng.random((length, side, side, 3)) < 0.15) * rng.integers(1, 3, (length, side, side, 3))
    steps = []
    for cells in (left, arrived):
        agent = np.zeros((length, side, side, 1))
        agent[np.arange(length), cells[:, 0], cells[:, 1]] = 1.0
        steps.append(np.concatenate([agent, things], axis=-1).astype(np.float32))
    return steps[0], steps[1]


def test_turned_and_mirrored_maps_look_alike():
    before, after = random_steps(0)
    expected = egocentric.features(before, after, 0)
    assert len(np.unique(expected, axis=0)) > 150
    for quarter in range(4):
        for mirrored in (False, True):
            turned = [np.rot90(image, quarter, axes=(1, 2)) for image in (before, after)]
            ours = [image[:, :, ::-1] for image in turned] if mirrored else turned
            np.testing.assert_array_equal(egocentric.features(ours[0], ours[1], 0), expected)


def test_moving_everything_by_a_cell_changes_nothing():
    before, after = (np.pad(image, ((0, 0), (0, 1), (0, 1), (0, 0))) for image in random_steps(1))
    moved = [np.roll(image, (1, 1), axis=(1, 2)) for image in (before, after)]
    np.testing.assert_array_equal(egocentric.features(moved[0], moved[1], 0), egocentric.features(before, after, 0))


def test_grids_need_not_be_square():
    # On 2×4 cells M is 4. Right to (1, 1), the thing in (0, 3): offset (−1, 2), 2 ahead and 1 aside.
    before, after = np.zeros((2, 1, 2, 4, 2), np.float32)
    before[0, 1, 0, 0] = after[0, 1, 1, 0] = before[0, 0, 3, 1] = after[0, 0, 3, 1] = 1.0
    row = egocentric.features(before, after, 0)[0]
    assert row.shape == (egocentric.num_features((2, 4, 2)),) == (13,)
    assert np.flatnonzero(row).tolist() == [3 + 2, 7 + 1]


@pytest.mark.parametrize("side", [3, 9])
def test_jax_and_numpy_see_the_same_and_lifetimes_can_be_mapped(side: int):
    before, after = (image.reshape(4, 50, side, side, 4) for image in random_steps(2, side))
    mapped = jax.jit(jax.vmap(lambda before, after: egocentric.features(before, after, 0)))(before, after)
    for lifetime in range(4):
        ours = egocentric.features(before[lifetime], after[lifetime], 0)
        assert isinstance(ours, np.ndarray)
        assert ours.dtype == np.float32
        np.testing.assert_allclose(mapped[lifetime], ours, atol=1e-6)


def test_the_numbers_of_features():
    assert egocentric.num_features(KeyBox().spec.observation_shape) == 4 * (17 + 9 + 1) + 1 == 109
    assert egocentric.num_features(RandomABC().spec.observation_shape) == 3 * (9 + 5 + 1) + 1 == 46


TABLES = {
    "ABC": RandomABC().observation_table(),
    "rooms with walls": EmptyRooms(shows_walls=True).observation_table(),
    "rooms": EmptyRooms().observation_table(),
    "an agent that leaves the map": np.concatenate([draw((0, 1), [(2, 2)]), draw(None, [(2, 2)]), draw((1, 1), [])]),
}


@pytest.mark.parametrize("name", TABLES)
def test_row_numbers_look_as_their_planes_do(name: str):
    table = TABLES[name]
    rng = np.random.default_rng(0)
    before, after = rng.integers(0, len(table), (2, 500)).astype(np.int32)
    after[:50] = before[:50]
    lookup = Lookup.of(table, 0)
    ours, stayed = jax.jit(lambda a, b: (lookup.features(a, b), lookup.stayed(a, b)))(before, after)
    expected = egocentric.features(table[before], table[after], 0)
    assert 0.0 < expected[:, -1].mean() < 1.0
    np.testing.assert_array_equal(ours, expected)
    np.testing.assert_array_equal(stayed, expected[:, -1])
    np.testing.assert_array_equal(egocentric.stayed(table[before], table[after], 0), expected[:, -1])


def test_directions_are_numbered_by_their_signs():
    for number, (row, column) in enumerate(DIRECTIONS):
        assert number == 3 * (row + 1) + column + 1


@pytest.mark.parametrize(("planes", "replaces", "joins"), [(1, False, True), (2, True, False)])
def test_an_agent_alone_on_the_map_keeps_its_planes(planes: int, replaces: bool, joins: bool):
    spec = TaskSpec(4, (3, 3, planes), 5, 5, agent_plane=0)
    ours, papers = HistoryNetConfig(view="egocentric"), HistoryNetConfig()
    assert egocentric.replaces_planes(spec, ours) == replaces
    assert egocentric.joins_planes(spec, ours) == joins
    assert not egocentric.replaces_planes(spec, papers)
    assert not egocentric.joins_planes(spec, papers)


def test_a_task_that_does_not_name_its_agents_plane_is_refused_in_a_sentence():
    spec = TaskSpec(4, (3, 3, 2), 5, 5)
    with pytest.raises(ValueError, match="this task's spec has no agent_plane; use the view planes"):
        egocentric.check_view(spec, HistoryNetConfig(view="egocentric"))
    egocentric.check_view(spec, HistoryNetConfig())


def test_float64_is_kept():
    before, after = random_steps(3)
    with jax.enable_x64(True):
        wide = egocentric.features(jnp.asarray(before, jnp.float64), jnp.asarray(after, jnp.float64), 0)
    assert wide.dtype == np.float64
