"""The mathematics of ceilings: what the best object is worth on average, and how often it can be reached."""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from orexis.tasks.grid import distances

NUM_BOXES = 3
SAMPLED_LAYOUTS = 4096
MOST_CELLS = 10_000_000  # that `_count_exactly` may hold at once


def expected_best(low: Sequence[float], high: Sequence[float]) -> float:
    """Returns E[max(0, r_1, ..., r_n)] for independent r_i uniform in [low_i, high_i], exactly.

        E[max(0, r)] = ∫_0^∞ 1 − Π_i P(r_i ≤ x) dx

    The zero is an episode in which no object is reached. Between two bounds the integrand is a
    polynomial of degree n, for which Gauss–Legendre quadrature with n nodes has no error.
    low_i = high_i is a reward that is known.
    """
    if not len(low):
        return 0.0
    nodes, weights = np.polynomial.legendre.leggauss(len(low))
    bounds = np.unique(np.clip([0.0, *low, *high], 0.0, None))
    total = 0.0
    for begin, end in itertools.pairwise(bounds):
        x = 0.5 * (begin + end) + 0.5 * (end - begin) * nodes
        below = np.prod([_probability_below(x, a, b) for a, b in zip(low, high, strict=True)], axis=0)
        total += 0.5 * (end - begin) * float(np.sum(weights * (1.0 - below)))
    return total


def _probability_below(x: np.ndarray, low: float, high: float) -> np.ndarray:
    """Returns P(r ≤ x) for r uniform in [low, high]."""
    if low == high:
        return np.where(x >= low, 1.0, 0.0)
    return np.clip((x - low) / (high - low), 0.0, 1.0)


def chances_of_reach(walls: np.ndarray, time_limit: int, moves: np.ndarray) -> tuple[float, ...]:
    """Returns the chances that 0, 1, 2 or 3 of Key-Box's boxes can be opened first, over random layouts.

    The agent fetches the key by a shortest path; from there a box can be opened first if a path leads
    to it past the other two, and if both paths together fit into the time limit. Any path fits if the limit is at
    least the longest way to a key plus the number of free cells less one: then all layouts are counted. Otherwise, or
    if they are too many, `SAMPLED_LAYOUTS` of them are drawn with a fixed seed (standard error at most 0.008).
    """
    cells = [(int(row), int(column)) for row, column in np.argwhere(~walls)]
    longest = max(int(distances(walls, cell, moves).max()) for cell in cells)
    num_triples = math.comb(len(cells), NUM_BOXES)
    if time_limit >= longest + len(cells) - 1 and num_triples * walls.size <= MOST_CELLS:
        counts = _count_exactly(walls, cells, moves)
    else:
        counts = _count_sampled(walls, cells, time_limit, moves)
    return tuple(float(count) for count in counts / counts.sum())


def _count_exactly(walls: np.ndarray, cells: list[tuple[int, int]], moves: np.ndarray) -> np.ndarray:
    """Returns i[4], how many of all (key, three boxes) leave 0, 1, 2, 3 boxes open to who holds the key."""
    triples = np.array(list(itertools.combinations(range(len(cells)), NUM_BOXES)))
    places = np.array(cells)[triples]  # i[K, 3, 2]
    which = np.arange(len(triples))[:, None]
    free = np.repeat(~walls[None], len(triples), axis=0)
    free[which, places[..., 0], places[..., 1]] = False
    reached = _flood(free, moves)
    touched = _spread(reached, moves)[which, places[..., 0], places[..., 1]].sum(axis=1)
    whole = (reached == free).all(axis=(1, 2))  # what the boxes leave is in one piece, so the key is in it
    num_keys = len(cells) - NUM_BOXES
    counts = np.bincount(touched[whole], minlength=NUM_BOXES + 1) * num_keys
    for index in np.flatnonzero(~whole):  # few: piece by piece
        boxes = frozenset(cells[i] for i in triples[index])
        left = set(cells) - boxes
        while left:
            away = distances(walls, next(iter(left)), moves, avoid=boxes)
            piece = {cell for cell in left if away[cell] >= 0}
            counts[sum(away[box] >= 0 for box in boxes)] += len(piece)
            left -= piece
    return counts


def _count_sampled(walls: np.ndarray, cells: list[tuple[int, int]], time_limit: int, moves: np.ndarray) -> np.ndarray:
    """Returns i[4], how many of the drawn layouts leave 0, 1, 2, 3 boxes within reach in time."""
    random = np.random.default_rng(0)
    counts = np.zeros(NUM_BOXES + 1, np.int64)
    to_key = {cell: distances(walls, cell, moves) for cell in cells}
    for _ in range(SAMPLED_LAYOUTS):
        agent, key, *boxes = (cells[i] for i in random.choice(len(cells), 2 + NUM_BOXES, replace=False))
        away = distances(walls, key, moves, avoid=frozenset(boxes))
        counts[sum(0 < away[box] <= time_limit - to_key[agent][key] for box in boxes)] += 1
    return counts


def _flood(free: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Returns bool[K, H, W], the piece of each map of free cells bool[K, H, W] that holds its first free cell."""
    num_maps = len(free)
    reached = np.zeros_like(free)
    reached.reshape(num_maps, -1)[np.arange(num_maps), free.reshape(num_maps, -1).argmax(axis=1)] = True
    size = 0
    while size != (size := int(reached.sum())):
        reached = _spread(reached, moves) & free
    return reached


def _spread(cells: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Returns bool[K, H, W], `cells` and all that one move from them leads to, walls or not."""
    _, height, width = cells.shape
    padded = np.pad(cells, ((0, 0), (1, 1), (1, 1)))
    spread = cells.copy()
    for down, right in moves:
        spread |= padded[:, 1 - down : 1 - down + height, 1 - right : 1 - right + width]
    return spread
