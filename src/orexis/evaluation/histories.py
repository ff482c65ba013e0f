"""Lifetimes that agents lived in ABC World, from their traces: an episode step by step, and what walks not taken were
worth to the reward at that point of the life."""

import dataclasses

import numpy as np
from numpy.typing import ArrayLike

from orexis.evaluation.lifetimes import Trace
from orexis.evaluation.walks import promised
from orexis.interop.numpy_reward import NumpyReward
from orexis.tasks.abc import RandomABC


@dataclasses.dataclass(frozen=True)
class LivedEpisode:
    """One episode of one lifetime."""

    number: int  # from 1
    cells: np.ndarray  # i[steps + 1, 2]  row and column, from the start to where it ended
    actions: np.ndarray  # i[steps]  where each step was meant to go, an index into `orexis.tasks.grid.MOVES`
    intrinsic: np.ndarray  # f[steps]  what each step was paid
    ending: str | None  # the object reached; None: the time limit ended it


@dataclasses.dataclass(frozen=True)
class Replay:
    """n lifetimes of E episodes, fed to the reward once more."""

    sums: np.ndarray  # f[n, E, 3]  what a walk to A, B, C would be paid, were it taken in this episode
    paid: np.ndarray  # f[n, E]     what the episode that was lived is paid


def episode_bounds(trace: Trace, num_episodes: int) -> np.ndarray:
    """Returns i[n, E+1], the row of the trace at which each episode of each lifetime begins, and where it ends."""
    lived = np.where(trace.episode < 0, num_episodes, trace.episode)  # rows are in order, -1 comes last
    return np.stack([np.searchsorted(row, np.arange(num_episodes + 1)) for row in lived])


def lived_episode(task: RandomABC, trace: Trace, lifetime: int, episode: int) -> LivedEpisode:
    """Returns the episode (counted from 0) of a lifetime as it was lived."""
    begin, end = episode_bounds(trace, task.spec.episodes_per_lifetime)[lifetime, [episode, episode + 1]]
    grid = task.map
    arrivals = np.stack(np.divmod(np.asarray(trace.next_observation[lifetime, begin:end]), grid.width), axis=1)
    cells = np.concatenate([[grid.start], arrivals])
    there = [name for name, place in grid.objects.items() if tuple(cells[-1]) == place]
    actions = np.asarray(trace.action[lifetime, begin:end])
    intrinsic = np.asarray(trace.intrinsic[lifetime, begin:end], np.float64)
    return LivedEpisode(episode + 1, cells, actions, intrinsic, there[0] if there else None)


def replay(reward: NumpyReward, task: RandomABC, worth: np.ndarray, trace: Trace) -> Replay:
    """Returns what walks not taken would have been paid in lifetimes that were lived; worth f[n, 3] of A, B, C.

    Before each episode the reward remembers the life so far, as it was lived; `promised` asks it then.
    """
    num_episodes, limit = task.spec.episodes_per_lifetime, task.spec.time_limit
    bounds = episode_bounds(trace, num_episodes)
    num_lifetimes = len(bounds)
    sums, paid = np.zeros((num_lifetimes, num_episodes, 3)), np.zeros((num_lifetimes, num_episodes))
    reward.begin(num_lifetimes)
    for episode in range(num_episodes):
        sums[:, episode] = promised(reward, task, worth)
        for step in range(limit):
            rows = bounds[:, episode] + step
            paid[:, episode] += _replay_step(reward, task, trace, rows, bounds[:, episode + 1], first=step == 0)
    return Replay(sums, paid)


def _replay_step(
    reward: NumpyReward, task: RandomABC, trace: Trace, rows: np.ndarray, ends: np.ndarray, *, first: bool
) -> np.ndarray:
    """Returns f[n], what row `rows` of each lifetime is paid: nothing where its episode has ended, at `ends`."""
    seen, grid = task.observation_table(), task.map
    happened = rows < ends
    rows = np.where(happened, rows, 0)
    lifetimes = np.arange(len(rows))

    def column(values: ArrayLike, at: np.ndarray = rows) -> np.ndarray:
        return np.asarray(values)[lifetimes, at]

    start = grid.start[0] * grid.width + grid.start[1]
    acted_on = np.full(len(rows), start) if first else column(trace.next_observation, np.maximum(rows - 1, 0))
    return reward.step(
        seen[column(trace.next_observation)],
        column(trace.action),
        column(trace.extrinsic),
        rows == ends - 1,
        happened=happened,
        observation=seen[acted_on],
    )
