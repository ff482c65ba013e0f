"""Which episodes of a long lifetime are shown."""

from collections.abc import Sequence

import numpy as np

SHOWN = 200  # episodes, if the lifetime has more
FIRST, LAST, AROUND = 0.25, 0.1, 0.3
"""Shares of what is shown: the lifetime's beginning, its end, and all moments at which a hidden parameter changes."""


def choose_episodes(num_episodes: int, limit: int = SHOWN, changes: Sequence[int] = ()) -> list[int]:
    """Returns at most `limit` of the episodes 0 … num_episodes−1, in order; all of them if they are not more.

    The first ones, in which an agent learns most; the last ones; those around `changes`, a third before and the rest
    after each; the others evenly spaced in between.
    """
    if num_episodes <= limit:
        return list(range(num_episodes))
    chosen = set(range(round(FIRST * limit))) | set(range(num_episodes - round(LAST * limit), num_episodes))
    around = round(AROUND * limit / max(len(changes), 1))
    for change in changes:
        chosen |= set(range(max(change - around // 3, 0), min(change + around - around // 3, num_episodes)))
    left = [episode for episode in range(num_episodes) if episode not in chosen]
    for place in np.linspace(0, len(left) - 1, max(limit - len(chosen), 0)):
        chosen.add(left[round(place)])
    return sorted(chosen)[:limit]


HOW = (
    "Shown are the first episodes, the last ones, those around each change of what is hidden, and others evenly spaced:"
)


def in_words(chosen: Sequence[int]) -> str:
    """Returns which episodes are shown, counted from 1: runs of neighbours as 1–50."""
    runs: list[list[int]] = []
    for episode in chosen:
        if runs and episode == runs[-1][1] + 1:
            runs[-1][1] = episode
        else:
            runs.append([episode, episode])
    words = [f"{first + 1}–{last + 1}" if last > first else f"{first + 1}" for first, last in runs]
    return ", ".join(words)
