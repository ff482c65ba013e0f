import jax.numpy as jnp
import numpy as np
import pytest

from orexis.tasks.grid import MOVES, move, parse_map, plane

DRAWING = """
    A.#
    .@b
"""


def test_a_map_is_read_line_by_line():
    grid = parse_map(DRAWING)
    assert (grid.height, grid.width, grid.start) == (2, 3, (1, 1))
    assert grid.objects == {"A": (0, 0), "b": (1, 2)}
    np.testing.assert_array_equal(grid.walls, [[False, False, True], [False, False, False]])


@pytest.mark.parametrize(
    ("drawing", "message"),
    [
        ("@..\n..", r"equally long, got lengths \[2, 3\]"),
        ("", r"equally long, got lengths \[\]"),
        ("@.\n.?", r"unknown signs in a map: \['\?'\]"),
        ("@.\n.1", r"unknown signs in a map: \['1'\]"),
        ("@ä\n..", r"unknown signs in a map: \['ä'\]"),
        ("..\n..", "exactly one start '@', got 0"),
        ("@.\n.@", "exactly one start '@', got 2"),
        ("@A\n.A", "object 'A' stands 2 times"),
    ],
)
def test_a_map_that_makes_no_sense_is_refused(drawing: str, message: str):
    with pytest.raises(ValueError, match=message):
        parse_map(drawing)


# Where each action (up, down, left, right) leads from the start, (1, 1) of a 3×3 map, and from its corner (0, 0).
FREE, WALLED = np.zeros((3, 3), bool), np.zeros((3, 3), bool)
WALLED[1, 2] = True


@pytest.mark.parametrize(
    ("walls", "position", "reached"),
    [
        (FREE, (1, 1), [(0, 1), (2, 1), (1, 0), (1, 2)]),
        (FREE, (0, 0), [(0, 0), (1, 0), (0, 0), (0, 1)]),  # the border keeps you in place
        (FREE, (2, 2), [(1, 2), (2, 2), (2, 1), (2, 2)]),
        (WALLED, (1, 1), [(0, 1), (2, 1), (1, 0), (1, 1)]),  # so does a wall
    ],
)
def test_moves_go_up_down_left_right_unless_something_is_in_the_way(walls, position, reached):
    places = [move(walls, jnp.array(position), jnp.int32(action)) for action in range(len(MOVES))]
    np.testing.assert_array_equal(places, reached)


def test_a_plane_is_one_at_the_position_and_zero_elsewhere():
    np.testing.assert_array_equal(plane((2, 3), jnp.array([1, 2])), [[0, 0, 0], [0, 0, 1]])
