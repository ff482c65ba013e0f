"""Teachers: by hand on small walks, by what a walker gets that obeys to the letter, and that nothing hidden is seen."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.rewards.base import RewardSource
from orexis.rewards.extrinsic import Extrinsic
from orexis.rewards.teachers import make_teacher, worth_a_visit
from orexis.rewards.teaching import FAR, all_distances, cells_of
from orexis.tasks.abc import NonstationaryABC, RandomABC
from orexis.tasks.actions import Extended, Permuted
from orexis.tasks.base import Task, begin_world, step_world
from orexis.tasks.empty_rooms import EmptyRooms
from orexis.tasks.grid import ALL_MOVES, MOVES, parse_walls
from orexis.tasks.key_box import KeyBox
from orexis.tasks.probes import Bandit
from orexis.types import PyTree, Rollout
from tests.instances import SMALL_MAP, small_task

UP, DOWN, LEFT, RIGHT = range(4)
UP_LEFT = 4


def walk(
    task: Task, actions: list[int], state: PyTree, params: PyTree, episodes: list[PyTree] | None = None
) -> Rollout:
    """Returns the rollout of `actions` from `state`; where an episode ends, the next of `episodes` begins."""
    following = iter(episodes or [])
    observations, next_observations, rewards, goes_on = [], [], [], []
    for action in actions:
        observations.append(task.observe(params, state))
        state, reward, ended = task.step(jax.random.key(0), params, state, jnp.int32(action))
        next_observations.append(task.observe(params, state))
        rewards.append(reward)
        goes_on.append(not ended)
        if ended:
            state = next(following, state)
    observations.append(task.observe(params, state))
    ones = np.ones(len(actions), np.float32)
    return Rollout(
        observation=np.stack(observations),
        next_observation=np.stack(next_observations),
        action=np.array(actions, np.int32),
        reward=np.array(rewards, np.float32),
        episode_goes_on=np.array(goes_on, np.float32),
        lifetime_goes_on=ones,
        in_lifetime=ones,
        value=np.zeros(len(actions) + 1, np.float32),
    )


def signs(teacher: RewardSource, *rollouts: Rollout) -> list[str]:
    """Returns a + or − for each step of each rollout: what a teacher of scale 0.5 pays, which must be ±0.5."""
    params = teacher.init(jax.random.key(0))
    state, said = teacher.begin(params, jax.random.key(0)), []
    for rollout in rollouts:
        rewards, state = teacher.unroll(params, state, rollout)
        assert set(np.abs(rewards)) == {0.5}
        said.append("".join("+" if reward > 0 else "-" for reward in rewards))
    return said


def abc_walks(task: Task, *walks: tuple[list[int], tuple[float, float, float]]) -> list[str]:
    """Returns what is paid for episodes from the start, each with the rewards that A, B, C have in it."""
    rollouts = []
    for actions, rewards in walks:
        params = dataclasses.replace(task.sample(jax.random.key(0)), rewards=jnp.array(rewards))
        rollouts.append(walk(task, actions, task.reset(jax.random.key(0), params, jnp.int32(0)), params))
    return signs(make_teacher(task, 0.5), *rollouts)


#   A . B      Two steps from the start to each of the three.
#   . @ .
#   C . .
TO_A, TO_B, TO_C = [UP, LEFT], [UP, RIGHT], [DOWN, LEFT]


def test_random_abc_first_a_then_c_then_the_better():
    a_is_better = (0.9, -0.3, 0.2)
    assert abc_walks(
        small_task(),
        (TO_C, a_is_better),  # A is unknown, 2 away: 3, then 2 less than 3, yet in C the episode ended
        (TO_A, a_is_better),  # A is still unknown: 1, 0
        (TO_C, a_is_better),  # both are known, A is better: 3, ended
        ([LEFT, UP], a_is_better),  # 1, 0, another way
    ) == ["--", "++", "--", "++"]
    c_is_better = (-0.9, -0.3, 0.2)
    assert abc_walks(
        small_task(), (TO_A, c_is_better), (TO_A, c_is_better), (TO_C, c_is_better), (TO_C, c_is_better)
    ) == [
        "++",  # A is unknown
        "--",  # C is unknown: from 2 to 3, then the episode ends in A
        "++",
        "++",  # 0.2 is more than -0.9
    ]


def test_a_step_that_stays_is_not_nearer_and_b_is_never_what_to_visit():
    rewards = (-0.9, 5.0, -0.8)  # B pays best of all; by its range it can not
    said = abc_walks(
        small_task(), (TO_B, rewards), (TO_A, rewards), (TO_C, rewards), (TO_B, rewards), ([UP, UP], rewards)
    )
    # To B: up comes nearer to A, right ends the episode. In the end C is the better known; up, and the wall above.
    assert said == ["+-", "++", "++", "--", "--"]


def test_the_worse_of_two_that_both_lose_is_not_gone_to():
    rewards = (-0.9, -0.3, -0.8)
    assert abc_walks(small_task(), (TO_A, rewards), (TO_C, rewards), (TO_C, rewards), (TO_A, rewards))[2:] == [
        "++",
        "--",
    ]


def nonstationary() -> NonstationaryABC:
    return NonstationaryABC(drawing=SMALL_MAP, time_limit=4, episodes=8)


def test_nonstationary_abc_tries_the_other_again_when_the_one_it_goes_to_pays_badly():
    before, after = (1.0, -0.5, -1.0), (-1.0, -0.5, 1.0)
    said = abc_walks(
        nonstationary(),
        (TO_A, before),  # unknown: pays 1
        (TO_C, before),  # unknown: pays -1, so what is known of A is forgotten
        (TO_A, before),  # unknown again: pays 1
        (TO_A, before),  # 1 against -1
        (TO_A, after),  # swapped: the way to A still pays, A itself takes 1; what is known of C is forgotten
        (TO_A, after),  # C is unknown: from 2 to 3, and the end
        (TO_C, after),  # pays 1
        (TO_C, after),  # 1 against -1
    )
    assert said == ["++", "++", "++", "++", "++", "--", "++", "++"]


def test_nonstationary_abc_forgets_when_less_is_paid_than_the_last_time_even_if_it_is_no_loss():
    first, second = (0.9, -0.5, 0.2), (0.4, -0.5, 0.2)
    said = abc_walks(nonstationary(), (TO_A, first), (TO_C, first), (TO_A, second), (TO_A, second), (TO_C, second))
    # A 0.9, C 0.2, A 0.4 < 0.9: C is forgotten, though its 0.2 was the less. A's 0.4 stays known.
    assert said == ["++", "++", "++", "--", "++"]
    plain = abc_walks(
        small_task(), (TO_A, (0.9, 0, 0.2)), (TO_C, (0.9, 0, 0.2)), (TO_A, (0.4, 0, 0.2)), (TO_A, (0.4, 0, 0.2))
    )
    assert plain == ["++", "++", "++", "++"]  # the stationary one forgets nothing: 0.4 against 0.2


def test_what_another_object_than_the_one_gone_to_pays_makes_nothing_forgotten():
    rewards, less = (1.0, -0.5, -1.0), (0.5, -0.5, -1.0)
    walks = [(TO_A, rewards), (TO_C, rewards), (TO_A, rewards), (TO_C, rewards), (TO_A, less), (TO_C, less)]
    # The second visit to C was not asked for: A stays known with its 1, so that its 0.5 is less and C is tried again.
    assert abc_walks(nonstationary(), *walks) == ["++", "++", "++", "--", "++", "++"]


ROOMS = EmptyRooms(drawing="@..\n##.\n...", time_limit=20, episodes=5)
#   0 1 2     a corridor: walking distance from the start to 6 is 6, though it is two rows below
#   # # 5
#   6 7 8


def rooms_walk(goal: tuple[int, int], *walks: list[int], task: Task = ROOMS) -> list[str]:
    params = dataclasses.replace(task.sample(jax.random.key(0)), goal=jnp.array(goal))
    start = task.reset(jax.random.key(0), params, jnp.int32(0))
    return signs(make_teacher(task, 0.5), *(walk(task, actions, start, params) for actions in walks))


def test_empty_rooms_goes_to_the_nearest_cell_not_arrived_in_then_to_the_goal():
    said = rooms_walk(
        (2, 1),  # cell 7
        # 1 is new: +. Start is new, as no arrival in it was counted, and so is 2, both one away: + for going back.
        # Stay, for the wall below: 2 is two away as before: -. To 1, nearer to 2: +, and 2 itself: +.
        [RIGHT, LEFT, DOWN, RIGHT, RIGHT],
        # All of the first row is known; 5 is the nearest. From 0: 3 away; 2, 1, 0, then 8: +, and back up to 5: -.
        [RIGHT, RIGHT, DOWN, DOWN, UP],
        # Back at 0; 7 is what is nearest of 6 and 7, 5 away. On: 4, 3, 2, 1, 0 and there is the goal.
        [RIGHT, RIGHT, DOWN, DOWN, LEFT],
        # To 7 again, not to 6, which nobody has seen; a step back does not pay, the same step again does.
        [RIGHT, LEFT, RIGHT, RIGHT, DOWN, DOWN, LEFT],
    )
    assert said == ["++-++", "++++-", "+++++", "+-+++++"]


def test_empty_rooms_a_goal_in_the_start_is_left_and_come_back_to():
    # Until it is found as above; then it is two steps away for who stands in it, one from cell 1, two from cell 2.
    assert rooms_walk((0, 0), [RIGHT, LEFT], [RIGHT, LEFT], [RIGHT, RIGHT]) == ["++", "++", "+-"]


KEY_BOX = KeyBox(drawing="\n".join(4 * ["....."]), time_limit=20, episodes=5)


def key_box_state(agent: tuple[int, int], key: tuple[int, int], *boxes: tuple[int, int]):
    state = KEY_BOX.reset(jax.random.key(0), KEY_BOX.sample(jax.random.key(0)), jnp.int32(0))
    return dataclasses.replace(state, position=jnp.array(agent), key=jnp.array(key), boxes=jnp.array(boxes))


def test_key_box_first_the_key_then_a_then_c_then_the_better():
    params = dataclasses.replace(KEY_BOX.sample(jax.random.key(0)), rewards=jnp.array([0.9, -0.4, 0.3]))
    #  @ K . . .
    #  . . . . .
    #  A . B . C
    #  . . . . .
    first = key_box_state((0, 0), (0, 1), (2, 0), (2, 2), (2, 4))
    #  C . . . A
    #  . . . . .
    #  . K @ B .
    #  . . . . .
    second = key_box_state((2, 2), (2, 1), (0, 4), (2, 3), (0, 0))
    said = signs(
        make_teacher(KEY_BOX, 0.5),
        # Down: from 1 to 2 from the key. Up: 1. Right: has it. Then A, 3 away: right 4, left 3, left 2, down 1, down 0.
        walk(KEY_BOX, [DOWN, UP, RIGHT, RIGHT, LEFT, LEFT, DOWN, DOWN], first, params),
        # Right, over B without a key: away from it. Left, left: has it; C, 3 away: up 2, up 1, left 0.
        walk(KEY_BOX, [RIGHT, LEFT, LEFT, UP, UP, LEFT], second, params),
        # The key; A pays 0.9, C 0.3: A is 5 away. Up 4, down 5, right 4, then right onto B: 3 less than 4, but it ends.
        walk(KEY_BOX, [LEFT, UP, DOWN, RIGHT, RIGHT], second, params),
        # The key; A, 5 away: up, up, right, right, right.
        walk(KEY_BOX, [LEFT, UP, UP, RIGHT, RIGHT, RIGHT], second, params),
    )
    assert said == ["-++-++++", "-+++++", "++-+-", "++++++"]


def test_key_box_goes_to_c_once_a_is_known_to_be_worse():
    params = dataclasses.replace(KEY_BOX.sample(jax.random.key(0)), rewards=jnp.array([-0.9, -0.4, 0.3]))
    state = key_box_state((0, 1), (0, 2), (0, 3), (3, 3), (0, 0))  # C @ K A
    to_a, to_c = [RIGHT, RIGHT], [RIGHT, LEFT, LEFT]
    walks = [walk(KEY_BOX, actions, state, params) for actions in (to_a, to_c, to_c, to_a)]
    assert signs(make_teacher(KEY_BOX, 0.5), *walks) == ["++", "+++", "+++", "+-"]


def test_key_box_a_box_is_passed_and_stays_unknown_without_the_key():
    params = KEY_BOX.sample(jax.random.key(0))
    state = key_box_state((0, 0), (0, 3), (0, 1), (0, 2), (0, 4))  # @ A B K C
    # Over A and B to the key, 3 away: 2, 1, 0. Then to A, 2 away, C is nearer but second: left 1 is B, which it ends.
    rollout = walk(KEY_BOX, [RIGHT, RIGHT, RIGHT, LEFT], state, params)
    # Around B instead: down 3, left 2, left 1, up 0.
    around = walk(KEY_BOX, [RIGHT, RIGHT, RIGHT, DOWN, LEFT, LEFT, UP], state, params)
    assert signs(make_teacher(KEY_BOX, 0.5), rollout, around) == ["+++-", "+++-+++"]


def test_with_diagonals_ways_are_shorter():
    straight, diagonal = abc_walks(small_task(), ([UP], (0, 0, 0)), ([UP], (0, 0, 0)))[0], []
    for task in (Extended(small_task()), Permuted(small_task())):
        params = small_task().sample(jax.random.key(0))
        state = task.reset(jax.random.key(0), params, jnp.int32(0))
        diagonal += signs(make_teacher(task, 0.5), walk(task, [UP], state, params))
    # One step up A is one step away, of two before. With diagonals it was one before. Permuted, up leads down.
    assert [straight, *diagonal] == ["+", "-", "-"]
    task = Extended(small_task())
    params = task.sample(jax.random.key(0))
    assert signs(make_teacher(task, 0.5), walk(task, [UP_LEFT], task.reset(jax.random.key(0), params, 0), params)) == [
        "+"
    ]


TASKS = {
    "random-abc": RandomABC(episodes=12),
    "nonstationary-abc": NonstationaryABC(episodes=24, swap_every=8),
    "empty-rooms": EmptyRooms(episodes=30),
    "empty-rooms, walls seen": EmptyRooms(episodes=30, shows_walls=True),
    "key-box": KeyBox(episodes=12),
    "random-abc, permuted": Permuted(RandomABC(episodes=12)),
    "empty-rooms, extended": Extended(EmptyRooms(episodes=30)),
    "key-box, extended": Extended(KeyBox(episodes=12)),
}


def obey(task: Task, num_lifetimes: int) -> np.ndarray:
    """Returns f[n, E], the returns of walkers that take a step that pays, else any that ends no episode."""
    teacher, num_actions = make_teacher(task, 1.0), task.spec.num_actions
    scale = teacher.init(jax.random.key(0))

    def live(key: jax.Array) -> jax.Array:
        world = begin_world(task, key, jnp.int32(0))

        def step(carry, key):
            world, state = carry
            key_world, key_tie = jax.random.split(key)

            def attempt(action):
                following, result = step_world(task, key_world, world, action)
                seen = task.observe(world.params, world.state)
                one = jnp.ones(1)
                goes_on = 1.0 - result.episode_ended[None]
                rollout = Rollout(
                    jnp.stack([seen, seen]), result.observation[None], action[None], result.reward[None],
                    goes_on, one, world.alive[None], jnp.zeros(2),
                )  # fmt: skip
                rewards, after = teacher.unroll(scale, state, rollout)
                return rewards[0], following, after, result.reward, goes_on[0]

            paid, worlds, states, rewards, goes_on = jax.vmap(attempt)(jnp.arange(num_actions))
            best = jnp.argmax(paid + 0.1 * goes_on + 0.01 * jax.random.uniform(key_tie, (num_actions,)))
            world_and_state = jax.tree.map(lambda x: x[best], (worlds, states))
            return world_and_state, (world.episode, rewards[best] * world.alive)

        num_steps = task.spec.episodes_per_lifetime * task.spec.time_limit
        start = (world, teacher.begin(scale, key))
        _, (episode, rewards) = jax.lax.scan(step, start, jax.random.split(key, num_steps))
        return jnp.zeros(task.spec.episodes_per_lifetime).at[episode].add(rewards, mode="drop")

    keys = jax.random.split(jax.random.key(7), num_lifetimes)
    return np.asarray(jax.jit(jax.vmap(live))(keys))


@functools.cache
def obeyed(name: str) -> np.ndarray:
    return obey(TASKS[name], 256 if "abc" in name else 64)


@pytest.mark.parametrize("name", ["random-abc", "random-abc, permuted"])
def test_who_obeys_is_at_the_optimum_of_random_abc_from_the_third_episode_on(name: str):
    returns = obeyed(name)
    # A is uniform in [-1, 1], C in [0, 0.5]: means 0 and 0.25 with standard errors 0.036 and 0.009
    assert abs(returns[:, 0].mean()) < 0.11
    assert abs(returns[:, 1].mean() - 0.25) < 0.03
    np.testing.assert_array_equal(returns[:, 2:], np.maximum(returns[:, :1], returns[:, 1:2]).repeat(10, axis=1))


def test_who_obeys_loses_one_episode_in_each_swap_of_nonstationary_abc():
    returns = obeyed("nonstationary-abc")
    begins_well = returns[:, 0] == 1.0  # where A pays first, C is tried next; elsewhere A has been tried
    np.testing.assert_array_equal(returns[:, 1], np.where(begins_well, -1.0, 1.0))
    expected = np.ones(24)
    expected[[8, 16]] = -1.0  # what paid is gone to once more
    np.testing.assert_array_equal(returns[:, 2:], np.tile(expected[2:], (256, 1)))


@pytest.mark.parametrize("name", ["empty-rooms", "empty-rooms, walls seen", "empty-rooms, extended"])
def test_who_obeys_finds_the_goal_of_the_empty_rooms_and_comes_back(name: str):
    returns = obeyed(name)
    assert returns[:, 5:].min() == 1.0  # 104 cells in episodes of 100 steps: found in the third at the latest
    assert (np.diff(returns, axis=1) >= 0).all()  # never lost again


@pytest.mark.parametrize("name", ["key-box", "key-box, extended"])
def test_who_obeys_is_near_the_optimum_of_key_box(name: str):
    returns = obeyed(name)
    best = np.maximum(returns[:, :1], returns[:, 1:2])
    # A box in the way may be opened by who takes any other step for want of one that pays, rarely
    assert np.mean(returns[:, 2:] == best) > 0.97


@pytest.mark.parametrize("name", TASKS)
def test_nothing_is_read_but_what_was_seen_and_paid(name: str):
    task = TASKS[name]
    teacher = make_teacher(task, 0.3)

    @jax.jit
    def play_twice(key):
        """Returns the rewards of a random walk, and those of the same with all else replaced by noise."""
        world = begin_world(task, key, jnp.int32(0))

        def step(world, key):
            key_act, key_world = jax.random.split(key)
            seen = task.observe(world.params, world.state)
            following, result = step_world(task, key_world, world, jax.random.randint(key_act, (), 0, 4))
            return following, (
                seen,
                result.observation,
                result.reward,
                1.0 - result.episode_ended,
            )

        _, (seen, next_observation, reward, goes_on) = jax.lax.scan(step, world, jax.random.split(key, 64))
        seen = jnp.concatenate([seen, seen[-1:]])
        noise, whole = jax.random.normal(key, (64,)), jnp.ones(64)
        action = jnp.zeros(64, jnp.int32)
        told = Rollout(seen, next_observation, action, reward, goes_on, whole, whole, jnp.zeros(65))
        odd = Rollout(seen, next_observation, action + 3, reward, noise, noise, whole, jnp.ones(65))
        scale = teacher.init(key)
        return [teacher.unroll(scale, teacher.begin(scale, key), rollout)[0] for rollout in (told, odd)]

    rewards, again = play_twice(jax.random.key(1))
    np.testing.assert_array_equal(rewards, again)
    np.testing.assert_allclose(np.unique(rewards), [-0.3, 0.3], rtol=1e-6)


@pytest.mark.parametrize("name", ["random-abc", "nonstationary-abc", "empty-rooms", "key-box"])
def test_until_something_pays_lifetimes_with_other_hidden_params_are_taught_alike(name: str):
    task = TASKS[name]
    hidden = [task.sample(jax.random.key(seed)) for seed in range(6)]
    state = task.reset(jax.random.key(5), hidden[0], jnp.int32(0))
    actions = [UP, LEFT, RIGHT, RIGHT, DOWN, DOWN, LEFT]  # around the start; ABC's objects are in the corners
    said = set()
    for params in hidden:
        rollout = walk(task, actions, state, params)
        if not np.any(rollout.reward):
            said |= set(signs(make_teacher(task, 0.5), rollout))
    assert len(said) == 1


def test_what_is_beyond_the_lifetime_is_neither_paid_nor_known():
    task = small_task()
    params = dataclasses.replace(task.sample(jax.random.key(0)), rewards=jnp.array([0.9, -0.3, 0.2]))
    rollout = walk(task, TO_A, task.reset(jax.random.key(0), params, jnp.int32(0)), params)
    beyond = dataclasses.replace(rollout, in_lifetime=np.array([1.0, 0.0], np.float32))
    teacher = make_teacher(task, 0.5)
    rewards, state = teacher.unroll(jnp.float32(0.5), teacher.begin(jnp.float32(0.5), jax.random.key(0)), beyond)
    np.testing.assert_array_equal(rewards, [0.5, 0.0])
    assert not np.any(state.tried)


def test_distances_go_around_walls_and_do_not_lead_through_an_end():
    walls = parse_walls("...\n##.\n...")
    table = all_distances(walls, MOVES)
    assert [table[0, cell] for cell in (0, 2, 5, 6, 3)] == [0, 2, 3, 6, FAR]
    assert all_distances(walls, ALL_MOVES)[0, 6] == 4  # 1, then 5, 7, 6
    through = all_distances(walls, MOVES, ((1, 2),))
    assert [through[0, 5], through[0, 6], through[5, 2]] == [3, FAR, FAR]


def test_the_cell_of_each_plane_is_found():
    planes = np.zeros((1, 2, 3, 2), np.float32)
    planes[0, 1, 2, 0] = planes[0, 0, 1, 1] = 1.0
    np.testing.assert_array_equal(cells_of(jnp.asarray(planes)), [[5, 1]])


def test_only_what_may_pay_is_worth_a_visit():
    assert worth_a_visit([1.0, 0.0, 0.5]) == (0, 2)
    with pytest.raises(ValueError, match="more than 0"):
        worth_a_visit([0.0, -1.0, 0.0])
    with pytest.raises(ValueError, match="more than 0"):
        make_teacher(EmptyRooms(goal_reward=-1.0), 0.1)


@pytest.mark.parametrize("scale", [-0.1, float("nan"), float("inf")])
def test_a_scale_that_makes_no_sense_is_refused(scale: float):
    with pytest.raises(ValueError, match="scale"):
        make_teacher(small_task(), scale)


def test_a_task_without_a_teacher_is_refused_and_one_of_its_own_is_used():
    with pytest.raises(ValueError, match="Bandit has no teacher"):
        make_teacher(Bandit(), 0.1)

    class Taught(Bandit):
        def teacher(self, scale: float) -> RewardSource:
            assert scale == 0.7
            return Extrinsic()

    assert make_teacher(Taught(), 0.7) == Extrinsic()


def test_a_compiled_program_serves_every_scale():
    assert make_teacher(small_task(), 0.1) == make_teacher(small_task(), 0.2)
    assert make_teacher(small_task(), 0.1) != make_teacher(nonstationary(), 0.1)
