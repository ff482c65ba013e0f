"""Empty Rooms: four rooms and a goal that nobody sees, in the same cell for a whole lifetime."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from orexis.config import TaskSpec
from orexis.tasks.grid import (
    ALL_MOVES,
    MOVES,
    GridMap,
    agent_table,
    distances,
    is_at,
    move,
    parse_map,
    sketch_cells,
    with_agent,
)
from orexis.types import record

ROOMS_MAP = """
.....#.....
.....#.....
..@........
.....#.....
.....#.....
##.#####.##
.....#.....
.....#.....
...........
.....#.....
.....#.....
"""
"""Four 5×5 rooms, a door in the middle of each wall: 104 free cells, 7.25 steps from the start on average."""


@record
class RoomsParams:
    goal: jax.Array  # i32[2]  fixed for a lifetime, never seen


@record
class RoomsState:
    position: jax.Array  # i32[2]


@dataclasses.dataclass(frozen=True)
class EmptyRooms:
    """Reaching the goal pays 1 and ends the episode; the goal is drawn once a lifetime (paper, section 4.2).

    Any free cell may be the goal, or those in `goals`, the start too unless `goal_at_start=False`; an agent that
    starts on it has to leave and come back, since rewards are paid for arriving. The observation is a plane for the
    agent and, with `shows_walls`, one for the walls. That plane is the same in every state and raises every hidden unit
    alike, so that all cells look nearly the same to an agent: a teacher is obeyed far worse with it, see
    docs/reference/tasks.md.
    """

    time_limit: int = 100
    episodes: int = 200
    goal_reward: float = 1.0
    goal_at_start: bool = True
    goals: tuple[tuple[int, int], ...] = ()  # row and column of each cell that may be the goal; none: any free one
    shows_walls: bool = False
    drawing: str = ROOMS_MAP
    outcomes = ("goal",)
    observation_bounds = (0.0, 1.0)
    moves = ALL_MOVES  # what `step` understands; `spec` offers the first four

    def __post_init__(self) -> None:
        grid = self.map
        if grid.objects:
            raise ValueError(f"the rooms are empty; the map shows {sorted(grid.objects)}")
        lost = np.argwhere(~grid.walls & (distances(grid.walls, grid.start) < 0))
        if len(lost):
            raise ValueError(f"every free cell must be reachable from the start, {tuple(map(int, lost[0]))} is not")
        named = tuple((int(row), int(column)) for row, column in self.goals)
        object.__setattr__(self, "goals", named)  # JSON has lists, which have no hash
        free = {(int(row), int(column)) for row, column in grid.free_cells}
        if not free.issuperset(self.goals):
            raise ValueError(f"a goal must be a free cell of the map, {min(set(self.goals) - free)} is none")
        if not len(self._goals):
            raise ValueError("no cell is left for the goal")

    @property
    def map(self) -> GridMap:
        return parse_map(self.drawing)

    @property
    def spec(self) -> TaskSpec:
        grid = self.map
        return TaskSpec(
            num_actions=len(MOVES),
            observation_shape=(grid.height, grid.width, 1 + self._background.shape[-1]),
            time_limit=self.time_limit,
            episodes_per_lifetime=self.episodes,
            agent_plane=0,
        )

    def sample(self, key: jax.Array) -> RoomsParams:
        goals = self._goals
        return RoomsParams(goal=jnp.asarray(goals)[jax.random.randint(key, (), 0, len(goals))])

    def reset(self, key: jax.Array, params: RoomsParams, episode: jax.Array) -> RoomsState:
        del key, params, episode
        return RoomsState(position=jnp.array(self.map.start, jnp.int32))

    def step(
        self, key: jax.Array, params: RoomsParams, state: RoomsState, action: jax.Array
    ) -> tuple[RoomsState, jax.Array, jax.Array]:
        del key
        position = move(self.map.walls, state.position, action)
        terminated = is_at(position, params.goal)
        return RoomsState(position=position), jnp.where(terminated, self.goal_reward, 0.0), terminated

    def observe(self, params: RoomsParams, state: RoomsState) -> jax.Array:
        del params
        return with_agent(self._background, state.position)

    def observation_table(self) -> np.ndarray:
        """Returns f32[F, H, W, C], what is seen in each free cell, in reading order."""
        return agent_table(self._background, self.map.free_cells)

    def observation_index(self, params: RoomsParams, state: RoomsState) -> jax.Array:
        del params
        grid = self.map
        numbers = np.cumsum(~grid.walls.ravel()) - 1  # of the free cells
        return jnp.asarray(numbers, jnp.int32)[state.position[0] * grid.width + state.position[1]]

    def hints(self, params: RoomsParams, state: RoomsState) -> jax.Array:
        """Returns f32[5]: where the goal is, where the agent is, and how far apart they are, in widths of the map."""
        size = jnp.array([self.map.height, self.map.width], jnp.float32)
        goal, position = params.goal / size, state.position / size
        return jnp.concatenate([goal, position, jnp.sum(jnp.abs(goal - position), keepdims=True)])

    def outcome(self, params: RoomsParams, state: RoomsState) -> jax.Array:
        return jnp.where(is_at(state.position, params.goal), 0, -1)

    def sketch(self, params: RoomsParams, state: RoomsState, reveal: bool = False) -> np.ndarray:
        """Returns str[H, W], the rooms as a person may see them; the hidden goal is a `*` if `reveal`."""
        agent = ("@", state.position)
        return sketch_cells(self.map.walls, *([("*", params.goal)] if reveal else []), agent)

    def optimum(self, moves: np.ndarray = MOVES) -> float:
        """Returns the best expected return of an episode for an agent that knows the goal: 1 by default.

        The reward times the share of goals whose shortest path fits into the time limit. A goal in the start
        takes two steps, away and back.
        """
        away = distances(self.map.walls, self.map.start, moves)
        paths = np.array([away[tuple(goal)] or 2 for goal in self._goals])
        return max(0.0, self.goal_reward) * float(np.mean(paths <= self.time_limit))

    @property
    def _goals(self) -> np.ndarray:  # i32[G, 2]
        cells = np.array(self.goals, np.int32) if self.goals else self.map.free_cells
        return cells if self.goal_at_start else cells[(cells != self.map.start).any(axis=1)]

    @property
    def _background(self) -> np.ndarray:  # f32[H, W, 1 or 0]
        return self.map.walls[:, :, None][:, :, : int(self.shows_walls)].astype(np.float32)
