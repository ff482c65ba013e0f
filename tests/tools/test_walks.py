"""Walks are fed to the reward as the task would feed them, and summed as a plain loop would sum them."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.config import HistoryNetConfig
from orexis.interop.numpy_reward import NumpyReward
from orexis.storage.artefact import Artefact, expected_shapes
from orexis.tasks.abc import ABCParams, RandomABC
from orexis.tasks.grid import MOVES
from orexis.tools.walks import PAPER_REWARDS, shortest_paths, walk_returns, walk_table

TASK = RandomABC()


def random_reward(history: str = "lstm", view: str = "planes") -> NumpyReward:
    """Returns a small reward with random weights."""
    network = HistoryNetConfig(history=history, view=view, num_filters=2, num_hidden=5, num_units=4)
    rng = np.random.default_rng(3)
    params = {
        layer: {leaf: rng.normal(0, 0.7, shape).astype(np.float32) for leaf, shape in leaves.items()}
        for layer, leaves in expected_shapes(TASK.spec, network).items()
    }
    return NumpyReward(Artefact("random-abc", TASK.spec, network, params, {}))


def live(reward: NumpyReward, paths: list[tuple[int, ...]]) -> float:
    """Returns the sum of the last walk's rewards: one lifetime, step by step, through the task itself."""
    params = ABCParams(rewards=jnp.array([PAPER_REWARDS[name] for name in "ABC"]))
    key = jax.random.key(0)
    reward.begin(1)
    total = 0.0
    for episode, path in enumerate(paths):
        state = TASK.reset(key, params, jnp.int32(episode))
        acted_on = np.asarray(TASK.observe(params, state))
        total = 0.0
        for step, action in enumerate(path):
            state, extrinsic, done = TASK.step(key, params, state, jnp.int32(action))
            assert bool(done) == (step == len(path) - 1)
            next_observation = np.asarray(TASK.observe(params, state))
            told = ([action], [float(extrinsic)], [bool(done)])
            total += float(reward.step(next_observation[None], *told, observation=acted_on[None])[0])
            acted_on = next_observation
    return total


def test_a_corner_is_reached_by_six_paths_that_all_lead_there():
    for goal in ((0, 0), (0, 4), (4, 0)):
        paths = shortest_paths((2, 2), goal)
        assert paths.shape == (6, 4)
        assert len({tuple(path) for path in paths}) == 6
        ends = np.array([2, 2]) + MOVES[paths].sum(axis=1)
        np.testing.assert_array_equal(ends, np.tile(goal, (6, 1)))


def test_a_straight_line_is_the_only_path():
    np.testing.assert_array_equal(shortest_paths((0, 0), (0, 3)), [[3, 3, 3]])


@pytest.mark.parametrize("view", ["planes", "egocentric"])
@pytest.mark.parametrize("history", ["lstm", "none"])
@pytest.mark.parametrize("walks", ["A", "CA", "ACB"])
def test_returns_equal_those_of_a_life_step_by_step(view, history, walks):
    reward = random_reward(history, view)
    found = walk_returns(reward, TASK, PAPER_REWARDS, walks)
    every = [shortest_paths((2, 2), TASK.map.objects[name]) for name in walks]
    combinations = list(itertools.product(*every))
    assert found.shape == (6 ** len(walks),)
    for index in range(0, len(combinations), max(1, len(combinations) // 5)):
        assert found[index] == pytest.approx(live(reward, combinations[index]), abs=1e-5)


def test_table_holds_means_over_paths_and_both_orders():
    reward = random_reward()
    table = walk_table(reward)
    assert [[panel.visited for panel in row] for row in table.rows] == [
        [(), ("A",), ("A", "C")],
        [(), ("C",), ("C", "A")],
    ]
    assert table.rewards == {"A": 0.2, "B": -0.5, "C": 0.1}
    for row in table.rows:
        for panel in row:
            for name, paid in panel.sums.items():
                each = walk_returns(reward, TASK, PAPER_REWARDS, [*panel.visited, name])
                assert paid == pytest.approx(each.mean())
    assert table.rows[0][0].sums == table.rows[1][0].sums  # nothing visited yet


def test_a_reward_without_memory_does_not_care_what_was_visited():
    top, bottom = walk_table(random_reward("none")).rows
    for panel in (*top, *bottom):
        assert panel.sums == pytest.approx(top[0].sums)


def test_a_reward_with_memory_does():
    top, bottom = walk_table(random_reward("lstm")).rows
    assert abs(top[1].sums["A"] - bottom[1].sums["A"]) > 1e-4
    assert abs(top[2].sums["A"] - bottom[2].sums["A"]) > 1e-4


def test_rewards_for_other_worlds_are_refused():
    reward = random_reward()
    small = RandomABC(drawing="A.B\n.@.\nC..")
    reward.spec = small.spec
    with pytest.raises(ValueError, match="ABC World"):
        walk_table(reward)
