"""What a step looks like from the agent: where the things of a grid are, turned by the agent's own move.

    before          after           a move to the right turns the map:
    . . K . .       . . K . .       K is 0 cells ahead and 2 aside, A is 2 ahead and 1 aside
    . . . . .       . . . . .
    . @ . . .       . . @ . .            ahead  −4 −3 −2 −1  0  1  2  3  4      aside  0  1  2  3  4
    . . . . A       . . . . A       K            .  .  .  .  1  .  .  .  .             .  .  1  .  .
    . . . . .       . . . . .       A            .  .  .  .  .  .  1  .  .             .  1  .  .  .

With d the signs of the agent's displacement in rows and columns and o a thing's offset from the agent after the step,
both as complex numbers (row + i·column), the thing is at

    o / d  =  (d_r·o_r + d_c·o_c) / |d|²  +  i·(d_r·o_c − d_c·o_r) / |d|²       ahead, aside

A move up, down, left or right (|d|² = 1) has whole cells. A diagonal one (|d|² = 2) has halves, which two neighbouring
bins share: bin k of a coordinate x holds max(0, 1 − |x − k|). Aside has no sign, so that mirrored maps look alike; maps
turned by a quarter do too. A step that did not move has no ahead: it says only that, and what is in the agent's cell.

Turned by the displacement and not by the action, it means the same whatever the actions are called. For arrays
of JAX and of NumPy alike, and without importing JAX: rewards are paid in processes that have none.
"""

import dataclasses
from typing import Any, TypeAlias

import numpy as np

from orexis.config import HistoryNetConfig, TaskSpec
from orexis.networks import clock, ledger

Array: TypeAlias = Any
"""An array of JAX or of NumPy."""

DIRECTIONS = np.array([(row, column) for row in (-1, 0, 1) for column in (-1, 0, 1)], np.float32)
"""The signs of a displacement; direction number 3·(row + 1) + column + 1."""


def check_view(spec: TaskSpec, config: HistoryNetConfig) -> None:
    """Raises ValueError if a network is to see from an agent that the task does not show."""
    if config.view == "egocentric" and spec.agent_plane is None:
        raise ValueError(
            "the egocentric view needs to know where the agent is, and this task's spec has no agent_plane; "
            "use the view planes, or set TaskSpec.agent_plane to the plane that shows the agent"
        )
    if config.keeps_ledger and not replaces_planes(spec, config):
        raise ValueError(
            "a ledger is of the things that are seen from the agent: it needs the view egocentric, and a task with a "
            "plane beside the agent's"
        )


def replaces_planes(spec: TaskSpec, config: HistoryNetConfig) -> bool:
    """Returns whether the network sees `features` in place of planes: the view is egocentric and there are things."""
    return config.view == "egocentric" and spec.observation_shape[2] > 1


def joins_planes(spec: TaskSpec, config: HistoryNetConfig) -> bool:
    """Returns whether the network sees planes and is told beside them whether the agent moved.

    What the egocentric view means where the agent is alone on the map: nothing could be seen from it.
    """
    return config.view == "egocentric" and spec.observation_shape[2] == 1


def num_features(shape: tuple[int, int, int]) -> int:
    """Returns F = 3·M·(C − 1) + 1 for planes of this shape (H, W, C), M = max(H, W): 109 in Key-Box."""
    return 3 * max(shape[:2]) * (shape[2] - 1) + 1


def num_seen(spec: TaskSpec, config: HistoryNetConfig) -> int:
    """Returns how many inputs the first layer has where `features` replace planes: F, and what a ledger tells."""
    shape = spec.observation_shape
    return num_features(shape) + (ledger.num_told(shape) if config.keeps_ledger else 0)


def num_told(spec: TaskSpec, config: HistoryNetConfig) -> int:
    """Returns how much a step tells the network beside what it sees: reward, done, (stayed,) (the clock,) (the action
    one-hot)."""
    num_clock = clock.NUM_FEATURES if config.sees_clock else 0
    return 2 + int(joins_planes(spec, config)) + num_clock + (spec.num_actions if config.sees_action else 0)


def standing_on(seen: Array, shape: tuple[int, int, int]) -> Array:
    """Returns f32[..., C − 1], what is in the agent's cell, out of `features` f32[..., F] of planes of this shape."""
    reach = max(shape[:2])
    return seen[..., 3 * reach - 1 :: 3 * reach][..., : shape[2] - 1]


def num_excited(shape: tuple[int, int, int]) -> int:
    """Returns how many features are one in a usual step, if there is one thing to a plane: its ahead and its aside."""
    return 2 * (shape[2] - 1)


def features(before: Array, after: Array, agent_plane: int) -> Array:
    """Returns f32[T, F], what each of T steps looks like from the agent.

    before, after: planes f32[T, H, W, C] of what was acted on and what was arrived in. For each plane but the agent's
    there are 2M − 1 bins of cells ahead, M of cells aside and "in the agent's cell", each the sum over the plane's
    cells of value times bin; after all planes "did not move". Nothing here has a gradient that anybody needs.
    """
    turn = _turn(_place(before[..., agent_plane]), _place(after[..., agent_plane]))
    return _see(after, turn, agent_plane)


def stayed(before: Array, after: Array, agent_plane: int) -> Array:
    """Returns f32[T], 1 where the agent did not move, from planes f32[T, H, W, C] before and after each step."""
    return _stayed(_turn(_place(before[..., agent_plane]), _place(after[..., agent_plane])))


@dataclasses.dataclass(frozen=True, eq=False)
class Lookup:
    """`features` and `stayed` from row numbers i32[T] of a table of all observations, f32[S, H, W, C].

    A step is seen alike from wherever it came in one direction, so there are 9·S different ones, each seen once.
    """

    places: np.ndarray  # f32[S, 3]  see `_place`
    seen: np.ndarray  # f32[9·S, F]  direction by direction; F = 1 if there is nothing to see

    @classmethod
    def of(cls, table: np.ndarray, agent_plane: int) -> "Lookup":
        """Returns the lookup for `table`."""
        seen = [_see(table, np.tile(direction, (len(table), 1)), agent_plane) for direction in DIRECTIONS]
        return cls(places=_place(table[..., agent_plane]), seen=np.concatenate(seen))

    def features(self, before: Array, after: Array) -> Array:
        xp = _namespace(after)
        turn = self._turn(before, after)
        direction = (3 * (turn[:, 0] + 1) + turn[:, 1] + 1).astype(after.dtype)
        return xp.asarray(self.seen)[direction * len(self.places) + after]

    def stayed(self, before: Array, after: Array) -> Array:
        return _stayed(self._turn(before, after))

    def _turn(self, before: Array, after: Array) -> Array:
        places = _namespace(after).asarray(self.places)
        return _turn(places[before], places[after])


def _namespace(array: Array) -> Any:
    """Returns `jax.numpy` or `numpy`, whichever `array` belongs to."""
    return array.__array_namespace__()


def _cells(height: int, width: int) -> np.ndarray:
    """Returns f32[H·W, 2], row and column of every cell."""
    return np.argwhere(np.ones((height, width))).astype(np.float32)


def _place(agent: Array) -> Array:
    """Returns f32[T, 3]: row, column, and 1 for an agent that is on the map; zeros for one that is not."""
    cells = _cells(*agent.shape[1:])
    return agent.reshape(len(agent), -1) @ np.concatenate([cells, np.ones((len(cells), 1), np.float32)], axis=1)


def _turn(before: Array, after: Array) -> Array:
    """Returns f32[T, 2], d: the signs of the displacement between two places.

    Zeros if it did not move, or is not on the map before and after.
    """
    return _namespace(after).sign(after - before)[:, :2] * (before * after)[:, 2:]


def _stayed(turn: Array) -> Array:
    return 1.0 - abs(turn).max(axis=1)


def _see(after: Array, turn: Array, agent_plane: int) -> Array:
    """Returns `features` of steps in the directions `turn` f32[T, 2]."""
    xp = _namespace(turn)
    num_steps, height, width, num_planes = after.shape
    reach = max(height, width)
    flat = after.reshape(num_steps, height * width, num_planes)
    others = xp.concatenate([flat[..., :agent_plane], flat[..., agent_plane + 1 :]], axis=-1)  # f32[T, H·W, C−1]
    offset = _cells(height, width)[None] - _place(after[..., agent_plane])[:, None, :2]  # f32[T, H·W, 2]

    row, column = turn[:, :1], turn[:, 1:]
    squared = row * row + column * column
    moved = xp.minimum(squared, 1.0)
    ahead = (row * offset[..., 0] + column * offset[..., 1]) / xp.maximum(squared, 1.0)
    aside = abs(row * offset[..., 1] - column * offset[..., 0]) / xp.maximum(squared, 1.0)

    bins = [_bin(ahead, np.arange(1 - reach, reach)), _bin(aside, np.arange(reach))]
    bins = [each * moved[..., None] for each in bins]
    here = flat[..., agent_plane, None]
    kernel = xp.concatenate([*bins, here], axis=-1)  # f32[T, H·W, 3·M]
    sums = xp.matmul(xp.swapaxes(others, 1, 2), kernel)  # f32[T, C−1, 3·M]
    return xp.concatenate([sums.reshape(num_steps, -1), 1.0 - moved], axis=1)


def _bin(coordinates: Array, centres: np.ndarray) -> Array:
    """Returns the triangular kernel f32[T, H·W, K] on coordinates f32[T, H·W]."""
    distance = abs(coordinates[..., None] - centres.astype(np.float32)[None, None])
    return _namespace(coordinates).maximum(0.0, 1.0 - distance)
