"""Grid worlds from ASCII maps: a letter is an object, `#` a wall, `@` the agent's start, `.` free."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

MOVES = np.array([[-1, 0], [1, 0], [0, -1], [0, 1]], np.int32)
"""Row and column change of up, down, left, right: the paper's four actions, in this order."""


@dataclasses.dataclass(frozen=True)
class GridMap:
    """What an ASCII map says, as constants."""

    height: int
    width: int
    walls: np.ndarray  # bool[H, W]
    start: tuple[int, int]
    objects: dict[str, tuple[int, int]]


def parse_map(drawing: str) -> GridMap:
    """Returns the map that `drawing` shows, line by line.

    Raises ValueError for a ragged map, an unknown sign, or anything but one start.
    """
    lines = [line.strip() for line in drawing.strip().splitlines()]
    widths = {len(line) for line in lines}
    if len(widths) != 1:
        raise ValueError(f"every line of a map must be equally long, got lengths {sorted(widths)}")
    cells = np.array([list(line) for line in lines])
    unknown = {sign for sign in cells.ravel() if not (sign in "#.@" or (sign.isascii() and sign.isalpha()))}
    if unknown:
        raise ValueError(f"unknown signs in a map: {sorted(unknown)}; use # . @ and letters")
    starts = np.argwhere(cells == "@")
    if len(starts) != 1:
        raise ValueError(f"a map needs exactly one start '@', got {len(starts)}")
    letters = sorted({str(sign) for sign in cells.ravel() if str(sign).isalpha()})
    objects = {}
    for letter in letters:
        places = np.argwhere(cells == letter)
        if len(places) != 1:
            raise ValueError(f"object {letter!r} stands {len(places)} times in the map, must stand once")
        objects[letter] = (int(places[0, 0]), int(places[0, 1]))
    return GridMap(
        height=cells.shape[0],
        width=cells.shape[1],
        walls=cells == "#",
        start=(int(starts[0, 0]), int(starts[0, 1])),
        objects=objects,
    )


def move(walls: np.ndarray, position: jax.Array, action: jax.Array) -> jax.Array:
    """Returns i32[2], the cell reached from `position`: unchanged where a wall or the border is in the way."""
    bounds = jnp.array(walls.shape) - 1
    target = jnp.clip(position + jnp.asarray(MOVES)[action], 0, bounds)
    return jnp.where(jnp.asarray(walls)[target[0], target[1]], position, target)


def plane(shape: tuple[int, int], position: jax.Array) -> jax.Array:
    """Returns f32[H, W], one at `position` and zero elsewhere."""
    rows = jnp.arange(shape[0]) == position[0]
    columns = jnp.arange(shape[1]) == position[1]
    return jnp.where(rows[:, None] & columns[None, :], 1.0, 0.0)
