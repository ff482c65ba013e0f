"""Walks are fed to the reward as the task would feed them, and summed as a plain loop would sum them."""

import functools
import itertools
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
import pytest

from orexis.config import HistoryNetConfig
from orexis.evaluation.walks import (
    HISTORIES,
    PAPER_REWARDS,
    promised,
    promised_after,
    shortest_paths,
    walk,
    walk_table,
)
from orexis.interop.numpy_reward import NumpyReward
from orexis.storage.artefact import Artefact, expected_shapes
from orexis.tasks.abc import ABCParams, ABCState, RandomABC
from orexis.tasks.grid import MOVES

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


def worth_of(rewards: dict[str, float], num_lifetimes: int = 1) -> np.ndarray:
    return np.tile([rewards[name] for name in "ABC"], (num_lifetimes, 1))


def paths_to(name: str) -> np.ndarray:
    return shortest_paths((2, 2), TASK.map.objects[name])


def live(reward: NumpyReward, paths: Sequence[Sequence[int]], worth: np.ndarray | None = None) -> np.ndarray:
    """Returns f[length], the last walk's rewards: one lifetime, step by step, with observations from the task itself.

    The reward remembers the lifetime.
    """
    params = ABCParams(rewards=jnp.array(worth_of(PAPER_REWARDS)[0] if worth is None else worth))
    reward.begin(1)
    paid: list[float] = []
    for path in paths:
        position, paid = np.array([2, 2]), []
        acted_on = observe(position)
        for step, action in enumerate(path):
            position = position + MOVES[action]
            last = step == len(path) - 1
            reached = [index for index, name in enumerate("ABC") if tuple(position) == TASK.map.objects[name]]
            assert bool(reached) == last
            extrinsic = float(params.rewards[reached[0]]) if reached else 0.0
            next_observation = observe(position)
            told = ([int(action)], [extrinsic], [last])
            paid.append(float(reward.step(next_observation[None], *told, observation=acted_on[None])[0]))
            acted_on = next_observation
    return np.array(paid)


@functools.cache
def _seen(row: int, column: int) -> np.ndarray:
    state = ABCState(position=jnp.array([row, column]), reached=-jnp.ones((), jnp.int32))
    return np.asarray(TASK.observe(ABCParams(rewards=jnp.zeros(3)), state))


def observe(position: np.ndarray) -> np.ndarray:
    return _seen(int(position[0]), int(position[1]))


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
def test_a_walk_is_paid_what_a_life_is_paid_step_by_step(view, history, walks):
    reward = random_reward(history, view)
    every = [shortest_paths((2, 2), TASK.map.objects[name]) for name in walks]
    combinations = list(itertools.product(*every))[:: 1 + 40 * (len(walks) - 1)]
    reward.begin(len(combinations))
    for episode, name in enumerate(walks):
        actions = np.array([paths[episode] for paths in combinations])
        paid = walk(reward, TASK, worth_of(PAPER_REWARDS, len(combinations)), name, actions)
    assert paid.shape == (len(combinations), 4)
    for found, paths in zip(paid, combinations, strict=True):
        np.testing.assert_allclose(found, live(reward.newborn(), paths), atol=1e-5)


@pytest.mark.parametrize("visited", [(), ("A",), ("C", "A")])
def test_what_is_promised_is_the_mean_over_paths_and_is_not_remembered(visited):
    reward = random_reward()
    before = [tuple(shortest_paths((2, 2), TASK.map.objects[name])[k]) for k, name in enumerate(visited)]
    live(reward, before)
    found = promised(reward, TASK, worth_of(PAPER_REWARDS))
    assert found.shape == (1, 3)
    for column, name in enumerate("ABC"):
        each = [live(reward.newborn(), [*before, tuple(path)]).sum() for path in paths_to(name)]
        assert found[0, column] == pytest.approx(np.mean(each), abs=1e-5)
    np.testing.assert_array_equal(promised(reward, TASK, worth_of(PAPER_REWARDS)), found)


@pytest.mark.parametrize("view", ["planes", "egocentric"])
def test_draws_side_by_side_equal_each_draw_alone(view):
    """Each row has its own worth: if rows were mixed, or one worth served all, the others would differ."""
    reward = random_reward(view=view)
    worth = np.random.default_rng(1).uniform(TASK.low, TASK.high, (5, 3))
    together = promised_after(reward, TASK, worth, ("A", "C"), seed=4)
    draw = np.random.default_rng(4)
    to_a, to_c = (paths_to(name)[draw.integers(6, size=5)] for name in "AC")
    for row in range(5):
        alone = reward.newborn()
        live(alone, [tuple(to_a[row]), tuple(to_c[row])], worth[row])
        np.testing.assert_allclose(together[row], promised(alone, TASK, worth[row : row + 1])[0], atol=1e-5)


def test_table_holds_means_over_paths_and_both_orders():
    reward = random_reward()
    table = walk_table(reward)
    assert [[panel.visited for panel in row] for row in table.rows] == [
        [(), ("A",), ("A", "C")],
        [(), ("C",), ("C", "A")],
    ]
    assert tuple(table.panels) == HISTORIES
    assert table.room.rewards == {"A": 0.2, "B": -0.5, "C": 0.1}
    for visited in HISTORIES[:3]:
        for name, paid in table.panels[visited].sums.items():
            every = itertools.product(*(paths_to(one) for one in (*visited, name)))
            each = [live(reward.newborn(), paths).sum() for paths in every]
            assert len(each) == 6 ** (len(visited) + 1)
            assert paid == pytest.approx(np.mean(each), abs=1e-5)
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
