"""A task of your own, from scratch, and a reward learned on it: `python examples/own_task.py [--tiny]`.

A corridor with a door at each end. Behind one of them is a treasure, the same one for a whole lifetime;
behind the other nothing. Nothing that the agent sees tells which, so a good reward makes it try one door
and, if that was the wrong one, go to the other ever after: 1 an episode, after half an episode lost on average.
"""

import dataclasses
import sys

import jax
import jax.numpy as jnp

from orexis.cli import main
from orexis.config import TaskSpec
from orexis.types import record

LENGTH = 7


@record
class Params:  # drawn once a lifetime
    door: jax.Array  # i32[]  the cell with the treasure, 0 or LENGTH − 1


@record
class State:  # changes with every step
    cell: jax.Array  # i32[]


@dataclasses.dataclass(frozen=True)
class Corridor:
    """Two actions, left and right. Reaching either end ends the episode; the treasure's end pays 1."""

    episodes: int = 20

    @property
    def spec(self) -> TaskSpec:
        return TaskSpec(2, observation_shape=(1, LENGTH, 1), time_limit=12, episodes_per_lifetime=self.episodes)

    def sample(self, key: jax.Array) -> Params:
        return Params(door=jnp.where(jax.random.bernoulli(key), LENGTH - 1, 0))

    def reset(self, key: jax.Array, params: Params, episode: jax.Array) -> State:
        return State(cell=jnp.int32(LENGTH // 2))

    def step(self, key: jax.Array, params: Params, state: State, action: jax.Array):
        cell = state.cell + jnp.where(action == 0, -1, 1)
        return State(cell=cell), jnp.where(cell == params.door, 1.0, 0.0), (cell == 0) | (cell == LENGTH - 1)

    def observe(self, params: Params, state: State) -> jax.Array:
        return jax.nn.one_hot(state.cell, LENGTH)[None, :, None]


if __name__ == "__main__":
    budget = ["--updates", "2", "--lifetimes", "4"] if "--tiny" in sys.argv else ["--updates", "2000"]
    others = [argument for argument in sys.argv[1:] if argument != "--tiny"]
    raise SystemExit(main(["train", "own_task:Corridor", *budget, *others]))
