"""What holds in every task, with every action space, whatever one does."""

import functools
from typing import Any

import hypothesis
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.tasks.actions import with_actions
from orexis.tasks.base import begin_world, step_world
from orexis.tasks.registry import make_task

NUM_STEPS = 48
NAMES = ("empty-rooms", "random-abc", "nonstationary-abc", "key-box")
SPACES = {"normal": 4, "permuted": 4, "extended": 8}


@functools.cache
def compiled_walk(name: str, space: str) -> Any:
    """Returns `(seed, episode, actions[NUM_STEPS]) -> rows`, a compiled walk; row t is what step t brought."""
    task: Any = with_actions(make_task(name), space)

    def run(seed, episode, actions):
        key = jax.random.key(seed)
        first = begin_world(task, jax.random.fold_in(key, 0), episode)

        def step(world, given):
            number, action = given
            following, result = step_world(task, jax.random.fold_in(key, 1 + number), world, action)
            index = task.observation_index(following.params, following.state) if has_table else jnp.int32(0)
            row = {
                "before": task.observe(world.params, world.state),
                "next_observation": result.observation,
                "reward": result.reward,
                "ended": result.episode_ended,
                "outcome": result.outcome,
                "episode": world.episode,
                "next_episode": following.episode,
                "next_steps": following.steps,
                "alive": world.alive,
                "next": task.observe(following.params, following.state),
                "index": index,
                "params": following.params,
            }
            return following, row

        return first.params, jax.lax.scan(step, first, (jnp.arange(NUM_STEPS), actions))[1]

    has_table = hasattr(task, "observation_table")
    return task, jax.jit(run)


def place_of(plane: np.ndarray) -> np.ndarray:
    """Returns i[T, 2], where the one is in each of T one-hot planes."""
    return np.stack(np.unravel_index(plane.reshape(len(plane), -1).argmax(axis=1), plane.shape[1:]), axis=1)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", NAMES)
@hypothesis.settings(max_examples=12, deadline=None, derandomize=True)
@hypothesis.given(data=st.data())
def test_the_laws_of_the_world_hold_on_any_walk(name: str, space: str, data):
    task, walk = compiled_walk(name, space)
    spec = task.spec
    seed = data.draw(st.integers(0, 2**31 - 1))
    episode = data.draw(st.integers(0, spec.episodes_per_lifetime - 1))
    # Runs of one action lead into walls and corners, where single steps at random seldom come.
    runs = data.draw(st.lists(st.tuples(st.integers(0, SPACES[space] - 1), st.integers(1, 9)), min_size=1, max_size=30))
    actions = np.resize(np.concatenate([np.full(length, action) for action, length in runs]), NUM_STEPS)
    params, rows = jax.device_get(walk(seed, np.int32(episode), actions.astype(np.int32)))

    # Every plane is one-hot, and nobody stands in a wall.
    for seen in (rows["before"], rows["next_observation"], rows["next"]):
        assert set(np.unique(seen)) <= {0.0, 1.0}
        assert (seen.sum(axis=(1, 2)) == 1.0).all()
        if name == "empty-rooms":
            assert (seen[..., 0] * task.map.walls == 0).all()
    # One step moves at most one cell, along one axis unless there are diagonals.
    moved = np.abs(place_of(rows["next_observation"][..., 0]) - place_of(rows["before"][..., 0]))
    assert moved.max() <= 1
    if space != "extended":
        assert moved.sum(axis=1).max() <= 1
    # The params are those of the first step, for the whole lifetime.
    for kept, drawn in zip(jax.tree.leaves(rows["params"]), jax.tree.leaves(params), strict=True):
        assert (kept == drawn).all()
    # Rewards come with an outcome, an outcome ends the episode, and only the living are paid.
    assert (rows["reward"][rows["outcome"] < 0] == 0).all()
    assert rows["ended"][rows["outcome"] >= 0].all()
    assert (rows["reward"][rows["alive"] == 0] == 0).all()
    # Episodes are counted one by one and last as long as the time limit at most.
    assert (rows["next_episode"] - rows["episode"] == rows["ended"]).all()
    assert (rows["next_steps"] == 0)[rows["ended"]].all()
    assert rows["next_steps"].max() < spec.time_limit
    if hasattr(task, "observation_table"):
        np.testing.assert_array_equal(task.observation_table()[rows["index"]], rows["next"])
    if name == "key-box":
        check_key_box(rows)


def check_key_box(rows: dict[str, np.ndarray]) -> None:
    """Asserts that boxes rest, that a key lies still until it is carried, and that only who carries it opens boxes."""
    before, next_observation = rows["before"], rows["next_observation"]
    assert (before[..., 2:] == next_observation[..., 2:]).all()
    agent, key = place_of(next_observation[..., 0]), place_of(next_observation[..., 1])
    carried = (agent == key).all(axis=1)
    lay_still = (before[..., 1] == next_observation[..., 1]).all(axis=(1, 2))
    assert (carried | lay_still).all()
    for index in range(3):
        opened = rows["outcome"] == index
        on_box = (agent == place_of(next_observation[..., 2 + index])).all(axis=1)
        assert (opened == (on_box & carried)).all()
    # A new episode puts everything in a cell of its own.
    fresh = rows["next"][rows["ended"]]
    assert (fresh.sum(axis=-1) <= 1).all()
