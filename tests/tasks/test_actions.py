import copy
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.tasks.abc import NonstationaryABC, RandomABC
from orexis.tasks.actions import Extended, Permuted, opposites, with_actions
from orexis.tasks.empty_rooms import EmptyRooms
from orexis.tasks.grid import ALL_MOVES, MOVES, move
from orexis.tasks.key_box import KeyBox
from orexis.tasks.probes import Bandit
from orexis.testing import check_task

KEY = jax.random.key(0)
TASKS = {
    "empty-rooms": EmptyRooms(),
    "random-abc": RandomABC(),
    "nonstationary-abc": NonstationaryABC(),
    "key-box": KeyBox(),
}


def one_step(task, action: int) -> np.ndarray:
    params = task.sample(KEY)
    state = task.reset(KEY, params, jnp.int32(0))
    return np.asarray(task.step(KEY, params, state, jnp.int32(action))[0].position) - np.asarray(state.position)


@pytest.mark.parametrize("action", range(4))
def test_permuted_actions_lead_the_opposite_way(action):
    task = RandomABC()
    np.testing.assert_array_equal(one_step(Permuted(task), action), -one_step(task, action))
    np.testing.assert_array_equal(one_step(task, action), MOVES[action])


@pytest.mark.parametrize("action", range(8))
def test_extended_actions_are_the_four_and_then_the_diagonals(action):
    expected = [[-1, 0], [1, 0], [0, -1], [0, 1], [-1, -1], [-1, 1], [1, -1], [1, 1]][action]
    assert one_step(Extended(RandomABC()), action).tolist() == expected


@pytest.mark.parametrize("action", range(8))
def test_both_wrappers_together_reverse_the_diagonals_too(action):
    both = Permuted(Extended(RandomABC()))
    np.testing.assert_array_equal(one_step(both, action), -ALL_MOVES[action])


def test_two_diagonals_reach_a_corner():
    task = Extended(RandomABC())
    params = task.sample(KEY)
    state = task.reset(KEY, params, jnp.int32(0))
    for action in (4, 4):
        state, reward, terminated = task.step(KEY, params, state, jnp.int32(action))
    assert (int(task.outcome(params, state)), bool(terminated)) == (0, True)
    assert float(reward) == float(params.rewards[0])


def test_a_diagonal_out_of_the_room_or_into_a_wall_keeps_you_in_place():
    walls = np.array([[False, False], [False, True]])
    assert move(walls, jnp.array([0, 0]), jnp.int32(4)).tolist() == [0, 0]  # up-left, out
    assert move(walls, jnp.array([0, 0]), jnp.int32(5)).tolist() == [0, 0]  # up-right, out: no sliding to the right
    assert move(walls, jnp.array([0, 0]), jnp.int32(6)).tolist() == [0, 0]  # down-left, out: nor down
    assert move(walls, jnp.array([0, 0]), jnp.int32(7)).tolist() == [0, 0]  # down-right, a wall
    assert move(walls, jnp.array([0, 1]), jnp.int32(6)).tolist() == [1, 0]  # past the wall's corner


def test_opposites_undo_each_other():
    assert opposites(ALL_MOVES) == [1, 0, 3, 2, 7, 6, 5, 4]


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("actions", ["normal", "permuted", "extended"])
def test_every_task_keeps_the_contract_with_every_action_space(name, actions):
    check_task(with_actions(TASKS[name], actions), num_steps=16)


def test_a_wrapper_changes_nothing_but_the_actions():
    task = EmptyRooms()
    for wrapped in (Permuted(task), Extended(task)):
        assert wrapped.outcomes == task.outcomes
        assert wrapped.spec.observation_shape == task.spec.observation_shape
        assert wrapped.map is task.map
        np.testing.assert_array_equal(wrapped.observation_table(), task.observation_table())
        np.testing.assert_array_equal(wrapped.sample(KEY).goal, task.sample(KEY).goal)
    assert (Permuted(task).spec.num_actions, Extended(task).spec.num_actions) == (4, 8)


def test_diagonals_shorten_the_paths_of_the_optimum():
    task = EmptyRooms(time_limit=1)
    assert Permuted(task).optimum() == task.optimum() == 4 / 104
    assert Extended(task).optimum() == 8 / 104


def test_equal_wrappers_are_equal_and_can_be_copied():
    wrapped = Permuted(KeyBox())
    assert wrapped == Permuted(KeyBox())
    assert hash(wrapped) == hash(Permuted(KeyBox()))
    assert wrapped != Extended(KeyBox())
    assert copy.deepcopy(wrapped) == wrapped
    assert pickle.loads(pickle.dumps(wrapped)) == wrapped


def test_a_task_without_outcomes_keeps_having_none():
    assert not hasattr(Permuted(_Mute()), "outcome")


class _Mute:
    moves = MOVES


@pytest.mark.parametrize(
    ("task", "actions", "message"),
    [
        (Bandit(), "permuted", "the actions of Bandit are no directions"),
        (Bandit(), "extended", "the actions of Bandit are no directions"),
        (Extended(RandomABC()), "extended", "offers all of its moves already"),
        (RandomABC(), "diagonal", "unknown action space 'diagonal'; there are normal, permuted, extended"),
    ],
)
def test_what_makes_no_sense_is_refused(task, actions, message):
    with pytest.raises(ValueError, match=message):
        with_actions(task, actions)
