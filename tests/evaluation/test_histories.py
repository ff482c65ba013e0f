"""Lifetimes from traces: episodes are cut at the right steps, and a replay is paid what a plain loop is paid."""

import dataclasses

import numpy as np
import pytest

from orexis.evaluation.evaluate import Plan, evaluate_source, settle
from orexis.evaluation.histories import episode_bounds, lived_episode, replay
from orexis.evaluation.lifetimes import Trace
from orexis.evaluation.walks import promised
from orexis.interop.numpy_reward import load_reward
from orexis.tasks.abc import RandomABC
from orexis.tasks.grid import MOVES
from tests.evaluation.test_walks import random_reward
from tests.storage.rewards import NETWORK, write_reward

TASK = RandomABC(episodes=3, time_limit=6)
UP, DOWN, LEFT, RIGHT = range(4)
TO_A, TO_C = [UP, LEFT, UP, LEFT], [DOWN, DOWN, LEFT, LEFT]
NOWHERE = [RIGHT, RIGHT, RIGHT, DOWN, UP, LEFT]  # the third goes against the wall; then time is up
LIVES = ([TO_A, NOWHERE, TO_C], [NOWHERE, TO_C, NOWHERE])
WORTH = np.array([[0.7, -0.2, 0.1], [-0.3, -0.4, 0.5]])


def make_trace() -> Trace:
    """Returns the two lives as the evaluation writes them: S = 18 steps, filled up with -1 and 0."""
    columns = {
        "episode": np.full((2, 18), -1),
        "action": np.full((2, 18), -1),
        "next_observation": np.full((2, 18), -1),
        "extrinsic": np.zeros((2, 18), np.float32),
        "intrinsic": np.zeros((2, 18), np.float32),
        "entropy": np.zeros((2, 18), np.float32),
    }
    for life, episodes in enumerate(LIVES):
        row = 0
        for episode, actions in enumerate(episodes):
            place = np.array([2, 2])
            for action in actions:
                place = np.clip(place + MOVES[action], 0, 4)
                columns["episode"][life, row] = episode
                columns["action"][life, row] = action
                columns["next_observation"][life, row] = 5 * place[0] + place[1]
                for index, corner in enumerate(((0, 0), (0, 4), (4, 0))):
                    if tuple(place) == corner:
                        columns["extrinsic"][life, row] = WORTH[life, index]
                columns["intrinsic"][life, row] = 0.01 * row
                row += 1
    return Trace(**columns)


def test_episodes_begin_where_the_one_before_ended():
    np.testing.assert_array_equal(episode_bounds(make_trace(), 3), [[0, 4, 10, 14], [0, 6, 10, 16]])


def test_an_episode_is_told_cell_by_cell():
    found = lived_episode(TASK, make_trace(), lifetime=0, episode=1)
    assert found.number == 2
    assert found.cells.tolist() == [[2, 2], [2, 3], [2, 4], [2, 4], [3, 4], [2, 4], [2, 3]]
    assert found.actions.tolist() == NOWHERE
    assert found.intrinsic == pytest.approx([0.04, 0.05, 0.06, 0.07, 0.08, 0.09])
    assert found.ending is None
    assert lived_episode(TASK, make_trace(), 0, 0).ending == "A"
    assert lived_episode(TASK, make_trace(), 1, 1).ending == "C"


@pytest.mark.parametrize("view", ["planes", "egocentric"])
def test_a_replay_is_paid_what_a_loop_is_paid_and_asks_at_each_birth_of_an_episode(view):
    """One life at a time, one step at a time: what was done, and before each episode what could be done."""
    trace, seen = make_trace(), TASK.observation_table()
    found = replay(random_reward(view=view), TASK, WORTH, trace)
    assert found.sums.shape == (2, 3, 3)
    for life, episodes in enumerate(LIVES):
        reward, row = random_reward(view=view), 0
        reward.begin(1)
        for episode, actions in enumerate(episodes):
            np.testing.assert_allclose(found.sums[life, episode], promised(reward, TASK, WORTH[[life]])[0], atol=1e-5)
            paid, cell = 0.0, 12
            for step, action in enumerate(actions):
                arrived = int(trace.next_observation[life, row])
                told = [action], [float(trace.extrinsic[life, row])], [step == len(actions) - 1]
                paid += float(reward.step(seen[[arrived]], *told, observation=seen[[cell]])[0])
                row, cell = row + 1, arrived
            assert found.paid[life, episode] == pytest.approx(paid, abs=1e-5)


def test_a_replay_is_paid_what_an_evaluation_paid_by_a_clock_that_was_made_for_shorter_lifetimes(tmp_path):
    network = dataclasses.replace(NETWORK, sees_clock=True, history="none")
    trained_on = RandomABC(episodes=3).spec
    name = str(write_reward(tmp_path / "reward", network=network, spec=trained_on, task="random-abc"))
    setting = settle([name], "random-abc", episodes=5)
    table, trace = evaluate_source(name, setting, Plan(num_lifetimes=2, traced=True))
    reward, task = load_reward(name), RandomABC(episodes=5)
    paid = replay(reward, task, np.asarray(table.task_params["rewards"]), trace).paid
    np.testing.assert_allclose(paid, table.intrinsic, atol=1e-4)
    assert np.abs(paid).min() > 0.01


def test_what_comes_later_changes_no_promise_of_before():
    trace = make_trace()
    other = dataclasses.replace(trace, extrinsic=np.where(trace.episode == 1, 0.9, trace.extrinsic))
    first, second = (replay(random_reward(), TASK, WORTH, each).sums for each in (trace, other))
    np.testing.assert_array_equal(first[:, :2], second[:, :2])
    assert (first[:, 2] != second[:, 2]).all()
