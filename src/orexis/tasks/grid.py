"""Grid worlds from ASCII maps: a letter is an object, `#` a wall, `@` the agent's start, `.` free."""

import collections
import dataclasses
import functools
from collections.abc import Iterable

import jax
import jax.numpy as jnp
import numpy as np

MOVES = np.array([[-1, 0], [1, 0], [0, -1], [0, 1]], np.int32)
"""Row and column change of up, down, left, right: the paper's four actions, in this order."""

DIAGONALS = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]], np.int32)
"""Up-left, up-right, down-left, down-right: actions 4 to 7 of the extended action space."""

ALL_MOVES = np.concatenate([MOVES, DIAGONALS])
"""Every action that `move` understands."""


@dataclasses.dataclass(frozen=True)
class GridMap:
    """What an ASCII map says, as constants."""

    height: int
    width: int
    walls: np.ndarray  # bool[H, W]
    start: tuple[int, int]
    objects: dict[str, tuple[int, int]]

    @property
    def free_cells(self) -> np.ndarray:
        """The cells without a wall, i32[F, 2], in reading order."""
        return np.argwhere(~self.walls).astype(np.int32)


@functools.lru_cache(maxsize=64)
def parse_map(drawing: str) -> GridMap:
    """Returns the map that `drawing` shows, line by line. Its arrays are read-only.

    Raises ValueError for a ragged map, an unknown sign, or anything but one start.
    """
    cells = _read_cells(drawing)
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
    walls = cells == "#"
    walls.setflags(write=False)
    return GridMap(
        height=cells.shape[0],
        width=cells.shape[1],
        walls=walls,
        start=(int(starts[0, 0]), int(starts[0, 1])),
        objects=objects,
    )


@functools.lru_cache(maxsize=64)
def parse_walls(drawing: str) -> np.ndarray:
    """Returns bool[H, W], the walls of a map on which nothing stands: `#` and `.` only. It is read-only."""
    cells = _read_cells(drawing)
    others = sorted({str(sign) for sign in cells.ravel()} - {"#", "."})
    if others:
        raise ValueError(f"this map shows walls and free cells only, use # and . instead of {others}")
    walls = cells == "#"
    walls.setflags(write=False)
    return walls


def _read_cells(drawing: str) -> np.ndarray:
    """Returns str[H, W], the signs of a drawing. Raises ValueError if it is ragged or has an unknown sign."""
    lines = [line.strip() for line in drawing.strip().splitlines()]
    widths = {len(line) for line in lines}
    if len(widths) != 1 or 0 in widths:
        raise ValueError(f"every line of a map must be equally long, got lengths {sorted(widths)}")
    cells = np.array([list(line) for line in lines])
    signs = {str(sign) for sign in cells.ravel()}
    unknown = {sign for sign in signs if not (sign in "#.@" or (sign.isascii() and sign.isalpha()))}
    if unknown:
        raise ValueError(f"unknown signs in a map: {sorted(unknown)}; use # . @ and letters")
    return cells


def move(walls: np.ndarray, position: jax.Array, action: jax.Array) -> jax.Array:
    """Returns i32[2], the cell reached from `position`: unchanged where a wall or the border is in the way.

    A diagonal (actions 4 to 7) needs its own target to be free, nothing else. Comparisons in place of
    look-ups: XLA fuses them with what follows.
    """
    height, width = walls.shape
    row = position[0] + _change(action, axis=0)
    column = position[1] + _change(action, axis=1)
    free = (row >= 0) & (row < height) & (column >= 0) & (column < width)
    if walls.any():
        inside = jnp.where(free, row * width + column, 0)
        free &= ~jnp.asarray(walls.ravel())[inside]
    return jnp.stack([jnp.where(free, row, position[0]), jnp.where(free, column, position[1])])


def _change(action: jax.Array, axis: int) -> jax.Array:
    """Returns i32[], by how much `action` changes the row (axis 0) or the column (axis 1)."""
    total = jnp.zeros((), jnp.int32)
    for index, change in enumerate(ALL_MOVES[:, axis]):
        if change:
            total = jnp.where(action == index, jnp.int32(change), total)
    return total


def is_at(position: jax.Array, place: tuple[int, int] | jax.Array) -> jax.Array:
    """Returns bool[], whether two cells are the same."""
    return (position[0] == place[0]) & (position[1] == place[1])


def plane(shape: tuple[int, int], position: jax.Array) -> jax.Array:
    """Returns f32[H, W], one at `position` and zero elsewhere."""
    rows = jnp.arange(shape[0]) == position[0]
    columns = jnp.arange(shape[1]) == position[1]
    return jnp.where(rows[:, None] & columns[None, :], 1.0, 0.0)


def with_agent(background: np.ndarray, position: jax.Array) -> jax.Array:
    """Returns f32[H, W, 1+C]: the agent's plane in front of `background` f32[H, W, C], which never changes."""
    agent = plane(background.shape[:2], position)
    return jnp.concatenate([agent[:, :, None], jnp.asarray(background, agent.dtype)], axis=-1)


def agent_table(background: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Returns f32[F, H, W, 1+C], what `with_agent` shows in each of `cells` i32[F, 2]."""
    height, width, num_planes = background.shape
    table = np.zeros((len(cells), height, width, 1 + num_planes), np.float32)
    table[..., 1:] = background
    table[np.arange(len(cells)), cells[:, 0], cells[:, 1], 0] = 1.0
    return table


def sketch_cells(walls: np.ndarray, *things: tuple[str, Iterable[int]]) -> np.ndarray:
    """Returns str[H, W], a map with (sign, place) of each thing drawn into it, later ones on top."""
    cells = np.where(walls, "#", ".")
    for sign, place in things:
        cells[tuple(int(number) for number in place)] = sign
    return cells


def distances(
    walls: np.ndarray,
    start: tuple[int, int],
    moves: np.ndarray = MOVES,
    avoid: frozenset[tuple[int, int]] = frozenset(),
) -> np.ndarray:
    """Returns i32[H, W], the fewest moves from `start` to each cell, −1 where none lead.

    Breadth first. A cell in `avoid` may be arrived in but not left, like an object that ends the episode.
    """
    height, width = walls.shape
    found = [[-1] * width for _ in range(height)]
    closed = walls.tolist()
    found[start[0]][start[1]] = 0
    queue = collections.deque([start])
    changes = [(int(down), int(right)) for down, right in moves]
    while queue:
        here = queue.popleft()
        if here in avoid and here != start:
            continue
        length = found[here[0]][here[1]] + 1
        for down, right in changes:
            row, column = here[0] + down, here[1] + right
            inside = 0 <= row < height and 0 <= column < width
            if inside and not closed[row][column] and found[row][column] < 0:
                found[row][column] = length
                queue.append((row, column))
    return np.array(found, np.int32)
