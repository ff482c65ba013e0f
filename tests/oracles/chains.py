"""Exact distributions of a uniformly random walk: the chance of being anywhere, step by step."""

import numpy as np

from tests.oracles.worlds import go


def random_step(lines: list[str]) -> np.ndarray:
    """Returns f[F, F], the chance to get from a cell to a cell by one of four moves, cells in reading order."""
    width = len(lines[0])
    cells = [(row, column) for row in range(len(lines)) for column in range(width)]
    chances = np.zeros((len(cells), len(cells)))
    for number, cell in enumerate(cells):
        for action in range(4):
            row, column = go(lines, cell, action)
            chances[number, row * width + column] += 0.25
    return chances


def ending_chances(lines: list[str], start: int, ends: list[int], time_limit: int) -> np.ndarray:
    """Returns f[time_limit, len(ends)], the chance that step t arrives in an end and that it is the first one."""
    step_chances = random_step(lines)
    chance = np.zeros(len(step_chances))
    chance[start] = 1.0
    table = np.zeros((time_limit, len(ends)))
    for step in range(time_limit):
        chance = chance @ step_chances
        table[step] = chance[ends]
        chance[ends] = 0.0
    return table


def box_chances(lines: list[str], layouts: np.ndarray, time_limit: int) -> np.ndarray:
    """Returns f[K, 3], the chance that A, B, C is opened in time, for layouts i[K, 5]: cells of agent, key, A, B, C."""
    step_chances = random_step(lines)
    which = np.arange(len(layouts))
    without = np.zeros((len(layouts), len(step_chances)))
    without[which, layouts[:, 0]] = 1.0
    holding = np.zeros_like(without)
    opened = np.zeros((len(layouts), 3))
    for _ in range(time_limit):
        without, holding = without @ step_chances, holding @ step_chances
        key = layouts[:, 1]
        holding[which, key] += without[which, key]
        without[which, key] = 0.0
        for index in range(3):
            box = layouts[:, 2 + index]
            opened[:, index] += holding[which, box]
            holding[which, box] = 0.0
    return opened
