"""What happens around the swaps of Non-stationary ABC: windows of episodes, slopes before a swap, recovery after it.

Numbers from tables; `orexis.figures.around_swaps` draws them. An episode has its index in the lifetime, from 0; a swap
at episode s means that s is the first one with other rewards.
"""

import dataclasses

import numpy as np

from orexis.evaluation.table import SourceTable

RECOVERED = 0.8  # of the return before the swap
HAD_LEARNED = 0.5  # return before the swap from which on there is something to recover: half of the best


@dataclasses.dataclass(frozen=True)
class Swaps:
    """When A and C are swapped, and how many episodes around it are looked at: shares of the time between swaps."""

    period: int  # episodes between swaps, 250 in the paper
    num_episodes: int

    @property
    def episodes(self) -> range:
        """The first episode after each swap."""
        return range(self.period, self.num_episodes, self.period)

    @property
    def last(self) -> int:
        """The last episodes before a swap: 50."""
        return max(2, self.period // 5)

    @property
    def earlier(self) -> int:
        """Those before them: 100."""
        return max(2, 2 * self.period // 5)

    @property
    def smoothing(self) -> int:
        """Episodes over which a return is averaged to tell whether it has recovered: 10."""
        return max(1, self.period // 25)

    def before(self, swap: int) -> slice:
        """Returns the last episodes before a swap."""
        return slice(swap - self.last, swap)

    def long_before(self, swap: int) -> slice:
        """Returns those before them."""
        return slice(swap - self.last - self.earlier, swap - self.last)


def best_object(table: SourceTable, episode: int, period: int) -> np.ndarray:
    """Returns i[n], the index of the object that pays most in that episode of each lifetime."""
    rewards = table.task_params["rewards"]  # f[n, 3], of the first day
    swapped = (episode // period) % 2 == 1
    return np.argmax(rewards[:, ::-1] if swapped else rewards, axis=1)


def ended_at(table: SourceTable, best: np.ndarray) -> np.ndarray:
    """Returns bool[n, E], which episodes ended at each lifetime's own object i[n]."""
    return table.outcome == best[:, None]


def ended_at_best(table: SourceTable, period: int) -> np.ndarray:
    """Returns bool[n, E], which episodes ended at the object that pays most in them."""
    best = np.stack([best_object(table, episode, period) for episode in range(table.outcome.shape[1])], axis=1)
    return table.outcome == best


def slopes(values: np.ndarray, chosen: np.ndarray, window: slice) -> np.ndarray:
    """Returns f[n], the slope of the least-squares line through the chosen episodes of a window, in 100 episodes.

    values, chosen: f[n, E], bool[n, E]. NaN where fewer than a fifth of the window is chosen, or fewer than two.
    """
    known = chosen[:, window]
    y = np.where(known, values[:, window], 0.0).astype(np.float64)
    num = known.sum(axis=1)
    enough = num >= max(2, known.shape[1] // 5)
    episodes = np.arange(known.shape[1], dtype=np.float64)
    num = np.maximum(num, 1)
    x = np.where(known, episodes - ((known * episodes).sum(axis=1) / num)[:, None], 0.0)
    slope = (x * y).sum(axis=1) / np.where(enough, (x**2).sum(axis=1), 1.0)
    return np.where(enough, 100.0 * slope, np.nan)


def slope_changes(values: np.ndarray, chosen: np.ndarray, swap: int, swaps: Swaps) -> np.ndarray:
    """Returns f[n], the slope over the last episodes before a swap less the slope over those before them."""
    last, earlier = (slopes(values, chosen, window) for window in (swaps.before(swap), swaps.long_before(swap)))
    return last - earlier


def levels(table: SourceTable, swap: int, swaps: Swaps) -> np.ndarray:
    """Returns f[n], the mean extrinsic return of the last episodes before a swap."""
    return table.extrinsic[:, swaps.before(swap)].mean(axis=1, dtype=np.float64)


def recoveries(table: SourceTable, swap: int, swaps: Swaps) -> np.ndarray:
    """Returns f[n], how many episodes after a swap the return was back at `RECOVERED` of its level before.

    The mean of the latest ones (`Swaps.smoothing`, all of them after the swap) is compared. The time to the next swap,
    or to the lifetime's end, where it never was; NaN where the level was below `HAD_LEARNED`: nothing to lose.
    """
    after = table.extrinsic[:, swap : swap + swaps.period].astype(np.float64)
    width = min(swaps.smoothing, after.shape[1])
    sums = np.cumsum(np.pad(after, ((0, 0), (1, 0))), axis=1)
    latest = (sums[:, width:] - sums[:, :-width]) / width  # f[n, K], of the `width` episodes that end there
    level = levels(table, swap, swaps)
    back = latest >= RECOVERED * level[:, None] - 1e-9
    num_episodes = np.where(back.any(axis=1), np.argmax(back, axis=1) + width, after.shape[1])
    return np.where(level >= HAD_LEARNED, num_episodes.astype(float), np.nan)
