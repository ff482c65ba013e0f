import itertools

import numpy as np
import pytest

from orexis.tasks import optima
from orexis.tasks.abc import RandomABC
from orexis.tasks.grid import ALL_MOVES, MOVES, distances, parse_map, parse_walls


@pytest.mark.parametrize(
    ("low", "high", "best"),
    [
        ([0.25], [0.25], 0.25),  # known
        ([-2.0], [-1.0], 0.0),  # never worth it
        ([0.0], [1.0], 1 / 2),
        ([-1.0], [1.0], 1 / 4),  # half the time nothing, else 1/2
        ([0.0, 0.0], [1.0, 1.0], 2 / 3),  # the larger of two uniform numbers
        ([0.0, 0.0, 0.0], [1.0, 1.0, 1.0], 3 / 4),
        ([0.5, 0.0], [0.5, 1.0], 5 / 8),  # half the time 1/2, else 3/4
        ([-1.0, -0.5, 0.0], [1.0, 0.0, 0.5], 19 / 48),  # Random ABC
        ([], [], 0.0),
    ],
)
def test_the_expected_best_is_exact(low, high, best):
    assert optima.expected_best(low, high) == pytest.approx(best, abs=1e-14)


def test_the_expected_best_agrees_with_a_million_draws():
    low, high = [-0.7, 0.2, -1.0], [0.9, 0.3, 0.6]
    draws = np.random.default_rng(0).uniform(low, high, (1_000_000, 3)).max(axis=1).clip(0)
    assert optima.expected_best(low, high) == pytest.approx(draws.mean(), abs=4.5 * draws.std() / 1000)


@pytest.mark.parametrize(
    ("options", "optimum"),
    [
        ({}, 19 / 48),
        ({"time_limit": 3}, 0.0),
        ({"drawing": "A...B\n.....\n....@\n.....\nC....", "time_limit": 2}, 0.0),  # only B is near, never worth it
        ({"drawing": "A...B\n.....\n@....\n.....\nC....", "time_limit": 2}, 19 / 48),  # A and C are
        ({"drawing": "BA@..\n....C"}, 19 / 48),
        ({"drawing": "CA@B"}, 1 / 4),  # C is behind A
    ],
)
def test_random_abc_counts_the_objects_within_reach(options, optimum):
    assert RandomABC(**options).optimum() == pytest.approx(optimum, abs=1e-12)


def test_distances_go_round_walls_and_stop_at_what_is_to_be_avoided():
    grid = parse_map("@.#\n.#.\n...")
    assert distances(grid.walls, (0, 0)).tolist() == [[0, 1, -1], [1, -1, 5], [2, 3, 4]]
    avoiding = distances(grid.walls, (0, 0), avoid=frozenset({(2, 1)}))
    assert avoiding.tolist() == [[0, 1, -1], [1, -1, -1], [2, 3, -1]]
    diagonal = distances(grid.walls, (0, 0), ALL_MOVES)
    assert diagonal.tolist() == [[0, 1, -1], [1, -1, 2], [2, 2, 3]]


def _by_force(walls: np.ndarray, time_limit: int, moves: np.ndarray) -> list[float]:
    """Returns the chances of 0 to 3 boxes within reach, over every layout of a small map, walked one by one."""
    cells = [tuple(map(int, cell)) for cell in np.argwhere(~walls)]
    counts = [0, 0, 0, 0]
    for agent, key, *boxes in itertools.permutations(cells, 5):
        first = distances(walls, agent, moves)[key]
        then = distances(walls, key, moves, avoid=frozenset(boxes))
        counts[sum(then[box] >= 0 and first + then[box] <= time_limit for box in boxes)] += 1
    return [count / sum(counts) for count in counts]


@pytest.mark.parametrize("moves", [MOVES, ALL_MOVES], ids=["4 moves", "8 moves"])
@pytest.mark.parametrize("drawing", ["......", "...\n...", "..#\n...\n#.."])
def test_the_chances_of_reach_are_those_of_every_layout(drawing, moves):
    walls = parse_walls(drawing)
    assert optima.chances_of_reach(walls, 100, moves) == pytest.approx(_by_force(walls, 100, moves), abs=1e-12)


def test_a_time_limit_that_binds_is_answered_by_sampling_near_the_truth():
    walls = parse_walls("...\n...")
    exact = _by_force(walls, 3, MOVES)
    assert 0.05 < exact[0] < 0.95
    assert optima.chances_of_reach(walls, 3, MOVES) == pytest.approx(exact, abs=4.5 * 0.008)


def test_sampling_agrees_with_counting():
    walls = parse_walls(".....")
    cells = [(0, i) for i in range(5)]
    sampled = optima._count_sampled(walls, cells, 100, MOVES) / optima.SAMPLED_LAYOUTS
    assert sampled == pytest.approx(optima.chances_of_reach(walls, 100, MOVES), abs=4.5 * 0.008)
