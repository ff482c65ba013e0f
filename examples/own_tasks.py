"""Tasks that are none of the paper's: what the defaults do on them is in results/own-tasks.

    orexis train examples.own_tasks:TMaze --updates 1500
    orexis evaluate runs/... extrinsic-ep random --task examples.own_tasks:TMaze

| task | what is hidden for a lifetime | what is hard |
|---|---|---|
| `TMaze` | which arm pays | a walk of seven steps before the first reward |
| `rich_t_maze` | the same | it pays 10 |
| `Vigil` | which corner pays | episodes of 100 steps, paid for where they end |
| `catch` | nothing | gymnax, an image: the ball is seen, its use is not |
| `breakout` | nothing | gymnax, four planes that are not one-hot |
| `windy_cart_pole` | how hard a push is | gymnax, a vector: no plane is one-hot, episodes of up to 200 steps |

The last three need gymnax: pip install 'orexis[gymnax]'.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from orexis.config import TaskSpec
from orexis.tasks.adapters import GymnaxTask, from_gymnax
from orexis.tasks.grid import MOVES, move
from orexis.types import PyTree, record


@record
class Params:  # drawn once a lifetime
    target: jax.Array  # i32[2]  the cell that pays


@record
class State:  # changes with every step
    position: jax.Array  # i32[2]
    steps: jax.Array  # i32[]


@dataclasses.dataclass(frozen=True)
class TMaze:
    """A corridor of seven cells with an arm to each side of its end. Either arm ends the episode, one of them pays.

    ######A
    @......        A or B, drawn once a lifetime
    ######B
    """

    pays: float = 1.0
    episodes: int = 40

    height = 3
    width = 7

    @property
    def spec(self) -> TaskSpec:
        return TaskSpec(
            num_actions=len(MOVES),
            observation_shape=(self.height, self.width, 1),
            time_limit=20,
            episodes_per_lifetime=self.episodes,
            agent_plane=0,
        )

    @property
    def walls(self) -> np.ndarray:
        walls = np.zeros((self.height, self.width), bool)
        walls[[0, 2], : self.width - 1] = True
        return walls

    def sample(self, key: jax.Array) -> Params:
        return Params(target=jnp.array([2 * jax.random.bernoulli(key), self.width - 1], jnp.int32))

    def reset(self, key: jax.Array, params: Params, episode: jax.Array) -> State:
        return State(position=jnp.array([1, 0], jnp.int32), steps=jnp.int32(0))

    def step(self, key: jax.Array, params: Params, state: State, action: jax.Array):
        position = move(self.walls, state.position, action)
        reward = jnp.where(jnp.all(position == params.target), self.pays, 0.0)
        return State(position=position, steps=state.steps + 1), reward, position[0] != 1

    def observe(self, params: Params, state: State) -> jax.Array:
        return see(state.position, self.height, self.width)


def rich_t_maze(episodes: int = 40) -> TMaze:
    """Returns the T-maze that pays 10."""
    return TMaze(pays=10.0, episodes=episodes)


@dataclasses.dataclass(frozen=True)
class Vigil:
    """An open room of 5×5. An episode lasts 100 steps; whoever then stands in the right corner is paid 1.

    A...B
    .....
    ..@..          A, B, C or D, drawn once a lifetime
    .....
    C...D
    """

    episodes: int = 30
    length: int = 100  # steps of an episode

    size = 5

    @property
    def spec(self) -> TaskSpec:
        return TaskSpec(
            num_actions=len(MOVES),
            observation_shape=(self.size, self.size, 1),
            time_limit=self.length,
            episodes_per_lifetime=self.episodes,
            agent_plane=0,
        )

    def sample(self, key: jax.Array) -> Params:
        return Params(target=(self.size - 1) * jax.random.bernoulli(key, shape=(2,)).astype(jnp.int32))

    def reset(self, key: jax.Array, params: Params, episode: jax.Array) -> State:
        return State(position=jnp.full(2, self.size // 2, jnp.int32), steps=jnp.int32(0))

    def step(self, key: jax.Array, params: Params, state: State, action: jax.Array):
        position = move(np.zeros((self.size, self.size), bool), state.position, action)
        over = state.steps + 1 >= self.length
        reward = jnp.where(over & jnp.all(position == params.target), 1.0, 0.0)
        return State(position=position, steps=state.steps + 1), reward, over

    def observe(self, params: Params, state: State) -> jax.Array:
        return see(state.position, self.size, self.size)


def see(position: jax.Array, height: int, width: int) -> jax.Array:
    """Returns f32[H, W, 1], a one in the agent's cell."""
    return (jax.nn.one_hot(position[0], height)[:, None] * jax.nn.one_hot(position[1], width))[:, :, None]


def catch(episodes: int = 60) -> GymnaxTask:
    """Returns the game of bsuite: a ball falls for nine steps, a paddle below moves; ±1. All lifetimes are the same."""
    return from_gymnax("Catch-bsuite", episodes=episodes, time_limit=10)


def windy_cart_pole(episodes: int = 30) -> GymnaxTask:
    """Returns CartPole of at most 200 steps, 1 a step, whose pushes are weak in some lifetimes and strong in others."""
    return from_gymnax("CartPole-v1", draw_force, episodes=episodes, time_limit=200)


def draw_force(key: jax.Array, params: PyTree) -> PyTree:
    """Returns gymnax's params with another force of a push. The key is consumed."""
    return params.replace(force_mag=jax.random.uniform(key, minval=5.0, maxval=15.0))


def breakout(episodes: int = 40) -> GymnaxTask:
    """Returns MinAtar's Breakout, four planes of 10×10, 1 a brick, of at most 200 steps. All lifetimes are the same."""
    return from_gymnax("Breakout-MinAtar", episodes=episodes, time_limit=200)
