"""Key-Box: a key and three boxes, all somewhere else in every episode; a box opens only to the key."""

import dataclasses
import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np

from orexis.config import TaskSpec
from orexis.tasks.abc import check_ranges, draw_rewards
from orexis.tasks.grid import ALL_MOVES, MOVES, distances, is_at, move, parse_walls, plane, sketch_cells
from orexis.tasks.optima import chances_of_reach, expected_best
from orexis.types import record

KEY_BOX_MAP = "\n".join(9 * ["........."])


@functools.lru_cache(maxsize=16)
def room_map(size: int, room: int) -> str:
    """Returns the drawing of a map of `size` × `size` cells of which the middle `room` × `room` are free."""
    if not 3 <= room <= size or (size - room) % 2:
        raise ValueError(f"a room in the middle of {size} cells has {size}, {size - 2}, ... of them, not {room}")
    wall, border = size * "#", (size - room) // 2 * "#"
    return "\n".join([wall] * len(border) + [border + room * "." + border] * room + [wall] * len(border))


THINGS = ("agent", "key", "A", "B", "C")


@record
class KeyBoxParams:
    rewards: jax.Array  # f32[3]  of A, B, C, fixed for a lifetime


@record
class KeyBoxState:
    position: jax.Array  # i32[2]  of the agent
    key: jax.Array  # i32[2]       the agent's own cell once it is picked up
    boxes: jax.Array  # i32[3, 2]  of A, B, C
    has_key: jax.Array  # bool[]
    opened: jax.Array  # i32[]     index of the box just opened, -1 for none


@dataclasses.dataclass(frozen=True)
class KeyBox:
    """Opening a box pays its reward, drawn once a lifetime as in Random ABC, and ends the episode (section 4.4).

    Agent, key and boxes stand in distinct cells, new in each episode. The key is picked up by walking
    over it and pays nothing; walking over a box without it does nothing. The observation has a plane for each, and
    the plane of a key that was picked up shows the agent's own cell, so that every plane is always one-hot.
    """

    low: tuple[float, float, float] = (-1.0, -0.5, 0.0)
    high: tuple[float, float, float] = (1.0, 0.0, 0.5)
    time_limit: int = 100
    episodes: int = 5000
    drawing: str = KEY_BOX_MAP
    room: int | None = None  # if smaller than the map: only so many cells in its middle, and the walls are not shown
    outcomes = ("A", "B", "C")
    observation_bounds = (0.0, 1.0)
    moves = ALL_MOVES  # what `step` understands; `spec` offers the first four

    def __post_init__(self) -> None:
        check_ranges(self.low, self.high)
        if self.room is not None and (parse_walls(self.drawing).any() or len(set(parse_walls(self.drawing).shape)) > 1):
            raise ValueError("a smaller room needs a square map without walls")
        cells = self._cells
        if len(cells) < len(THINGS):
            raise ValueError(f"the map needs {len(THINGS)} free cells or more, it has {len(cells)}")
        if (distances(self.walls, tuple(cells[0]))[~self.walls] < 0).any():
            raise ValueError("every free cell must be reachable from every other")

    @property
    def walls(self) -> np.ndarray:
        return parse_walls(self._drawing)

    @property
    def _drawing(self) -> str:
        if self.room is None:
            return self.drawing
        return room_map(parse_walls(self.drawing).shape[0], self.room)

    @property
    def _shows_walls(self) -> bool:
        return bool(self.walls.any()) and self.room is None

    @property
    def spec(self) -> TaskSpec:
        return TaskSpec(
            num_actions=len(MOVES),
            observation_shape=(*self.walls.shape, len(THINGS) + int(self._shows_walls)),
            time_limit=self.time_limit,
            episodes_per_lifetime=self.episodes,
            agent_plane=0,
        )

    def sample(self, key: jax.Array) -> KeyBoxParams:
        return KeyBoxParams(rewards=draw_rewards(key, self.low, self.high))

    def reset(self, key: jax.Array, params: KeyBoxParams, episode: jax.Array) -> KeyBoxState:
        del params, episode
        numbers = draw_distinct(key, len(self._cells), len(THINGS))
        if self.walls.any():
            places = jnp.asarray(self._cells)[numbers]
        else:
            places = jnp.stack([numbers // self.walls.shape[1], numbers % self.walls.shape[1]], axis=1)
        return KeyBoxState(
            position=places[0],
            key=places[1],
            boxes=places[2:],
            has_key=jnp.zeros((), bool),
            opened=-jnp.ones((), jnp.int32),
        )

    def step(
        self, key: jax.Array, params: KeyBoxParams, state: KeyBoxState, action: jax.Array
    ) -> tuple[KeyBoxState, jax.Array, jax.Array]:
        del key
        position = move(self.walls, state.position, action)
        has_key = state.has_key | is_at(position, state.key)
        reward, opened = jnp.zeros(()), -jnp.ones((), jnp.int32)
        for index in range(len(self.outcomes)):
            here = is_at(position, state.boxes[index]) & has_key
            reward = jnp.where(here, params.rewards[index], reward)
            opened = jnp.where(here, index, opened)
        following = KeyBoxState(
            position=position,
            key=jnp.where(has_key, position, state.key),
            boxes=state.boxes,
            has_key=has_key,
            opened=opened,
        )
        return following, reward, opened >= 0

    def observe(self, params: KeyBoxParams, state: KeyBoxState) -> jax.Array:
        del params
        shape = self.walls.shape
        places = [state.position, state.key, *(state.boxes[i] for i in range(3))]
        planes = [plane(shape, place) for place in places]
        if self._shows_walls:
            planes.append(jnp.asarray(self.walls, planes[0].dtype))
        return jnp.stack(planes, axis=-1)

    def hints(self, params: KeyBoxParams, state: KeyBoxState) -> jax.Array:
        """Returns f32[8]: what the boxes are worth, how far the key and each box are, in widths, and if it is held."""
        places = jnp.concatenate([state.key[None], state.boxes])
        away = jnp.sum(jnp.abs(places - state.position), axis=1) / self.walls.shape[1]
        return jnp.concatenate([params.rewards, away, state.has_key.astype(jnp.float32)[None]])

    def outcome(self, params: KeyBoxParams, state: KeyBoxState) -> jax.Array:
        del params
        return state.opened

    def sketch(self, params: KeyBoxParams, state: KeyBoxState, reveal: bool = False) -> np.ndarray:
        """Returns str[H, W], the room as a person may see it: `K` the key, `&` an agent that holds it."""
        del params, reveal
        boxes = zip(self.outcomes, state.boxes, strict=True)
        agent = "&" if state.has_key else "@"
        return sketch_cells(self.walls, *boxes, ("K", state.key), (agent, state.position))

    def optimum(self, moves: np.ndarray = MOVES) -> float:
        """Returns the best expected return of an episode for an agent that knows the rewards.

        The mean over layouts of E[max(0, rewards of the boxes within reach)]. By default that is 19/48 less 9e-6:
        in one layout of ten thousand a box, or the key, lies in a corner behind two boxes, and who holds the key
        cannot pass a box without opening it. Exact if the time limit leaves room for any path, as it does by
        default; else a mean over drawn layouts, see `optima.chances_of_reach`.
        """
        total = 0.0
        for size, chance in enumerate(_chances(self._drawing, self.time_limit, moves.tobytes())):
            subsets = list(itertools.combinations(range(3), size))  # the names are dealt at random: equally likely
            for reach in subsets:
                worth = expected_best([self.low[i] for i in reach], [self.high[i] for i in reach])
                total += chance * worth / len(subsets)
        return total

    @property
    def _cells(self) -> np.ndarray:  # i32[F, 2]
        return np.argwhere(~self.walls).astype(np.int32)


def draw_distinct(key: jax.Array, num_cells: int, num_drawn: int) -> jax.Array:
    """Returns i32[num_drawn], distinct numbers below `num_cells`, every arrangement equally likely.

    The first steps of a Fisher–Yates shuffle whose array is never built: slot i of it holds i unless a swap
    put something else there, and so few swaps are looked up by comparing. The remainder of a 32-bit number favours
    none by more than num_cells / 2^32, about 2e-8 on 81 cells. The key is consumed.
    """
    bits = jax.random.bits(key, (num_drawn,), jnp.uint32)
    swapped: list[tuple[jax.Array, jax.Array]] = []  # slots that were written to, with what they hold now
    drawn = []

    def look_up(slot: jax.Array) -> jax.Array:
        held = slot
        for written, value in swapped:
            held = jnp.where(slot == written, value, held)
        return held

    for i in range(num_drawn):
        slot = (bits[i] % (num_cells - i)).astype(jnp.int32) + i
        drawn.append(look_up(slot))
        swapped.append((slot, look_up(jnp.int32(i))))
    return jnp.stack(drawn)


@functools.lru_cache(maxsize=16)
def _chances(drawing: str, time_limit: int, moves: bytes) -> tuple[float, ...]:
    return chances_of_reach(parse_walls(drawing), time_limit, np.frombuffer(moves, np.int32).reshape(-1, 2))
