"""What each thing was worth: of every plane but the agent's, what the episodes paid that ended while it stood there.

With on_j = 1 where an episode ends with the agent on thing j, 0 else, and r what that step was paid,

    count_j ← count_j + on_j
    mean_j  ← mean_j + on_j · max(1 / count_j, 1 / 20) · (r − mean_j)

a mean over the lifetime at first, later one that forgets what was paid some twenty such episodes ago. A network that
keeps a ledger is told LOUDNESS · mean_j and LOUDNESS · count_j / (1 + count_j) beside what it sees from the agent, in
its first layer, so that what a thing is worth meets where it is. Nothing of it has to be learned and nothing carries a
gradient: a window too short to span two episodes cannot teach an LSTM to remember what the last one paid, and need not.

For arrays of JAX and of NumPy alike, and without importing JAX, as `networks.egocentric`.
"""

from typing import Any, TypeAlias

Array: TypeAlias = Any
"""An array of JAX or of NumPy."""

SHORTEST = 0.05  # the least weight of what was paid last
LOUDNESS = 2.0  # what is told meets dozens of one-hot features


def num_entries(shape: tuple[int, int, int]) -> int:
    """Returns J = C − 1, how many things the planes of this shape (H, W, C) show."""
    return shape[2] - 1


def num_told(shape: tuple[int, int, int]) -> int:
    """Returns 2·J, how much of a ledger a network is told."""
    return 2 * num_entries(shape)


def write(ledger: Array, standing_on: Array, reward: Array, ended: Array) -> Array:
    """Returns the ledger f32[..., 2, J] (means, counts) after a step.

    standing_on f32[..., J]: what the agent arrived on. reward, ended f32[...]: what arriving paid, and whether it ended
    the episode.
    """
    xp = ledger.__array_namespace__()
    means, counts = ledger[..., 0, :], ledger[..., 1, :]
    on = xp.clip(standing_on, 0.0, 1.0) * ended[..., None]
    counts = counts + on
    rate = on * xp.maximum(1.0 / xp.maximum(counts, 1.0), SHORTEST)
    return xp.stack([means + rate * (reward[..., None] - means), counts], axis=-2)


def read(ledger: Array) -> Array:
    """Returns f32[..., 2·J], what a network is told of a ledger f32[..., 2, J]."""
    xp = ledger.__array_namespace__()
    means, counts = ledger[..., 0, :], ledger[..., 1, :]
    return LOUDNESS * xp.concatenate([means, counts / (1.0 + counts)], axis=-1)
