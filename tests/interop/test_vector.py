"""Many environments under vmap, each of which lives as a single one does."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from orexis.interop.environments import OrexisEnv
from orexis.interop.vector import OrexisVectorEnv
from orexis.tasks.abc import RandomABC
from orexis.tasks.key_box import KeyBox

NUM = 6


@pytest.mark.parametrize("task", [RandomABC(episodes=3), KeyBox(time_limit=12, episodes=2)], ids=["abc", "key-box"])
def test_environment_i_lives_as_the_single_one_with_seed_plus_i_does(task):
    vector, singles = OrexisVectorEnv(task, NUM), [OrexisEnv(task) for _ in range(NUM)]
    seen, infos = vector.reset(seed=11)
    for i, single in enumerate(singles):
        alone, info = single.reset(seed=11 + i)
        np.testing.assert_array_equal(seen[i], alone)
        assert {name: infos[name][i] for name in info} == info
    actions = np.random.default_rng(0).integers(0, 4, (60, NUM))
    num_over = num_lifetimes = 0
    for row in actions:
        seen, rewards, terminated, truncated, infos = vector.step(row)
        for i, single in enumerate(singles):
            alone, reward, end, cut, info = single.step(row[i])
            assert (rewards[i], terminated[i], truncated[i]) == (np.float32(reward), end, cut)
            if end or cut:
                num_over += 1
                num_lifetimes += info["lifetime_ended"]
                assert infos["_final_obs"][i]
                assert infos["_final_info"][i]
                np.testing.assert_array_equal(infos["final_obs"][i], alone)
                assert {name: infos["final_info"][name][i] for name in info} == info
                alone, info = single.reset()
            else:
                assert "final_obs" not in infos or (infos["final_obs"][i] is None and not infos["_final_obs"][i])
            np.testing.assert_array_equal(seen[i], alone)
            assert {name: infos[name][i] for name in info} == info
    assert num_over > NUM
    assert num_lifetimes > 0


def test_gymnasium_makes_it_by_its_id_and_knows_how_it_resets():
    vector = gymnasium.make_vec("orexis:Orexis/RandomABC-v0", num_envs=NUM)
    assert isinstance(vector.unwrapped, OrexisVectorEnv)
    assert vector.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert vector.observation_space.shape == (NUM, 5, 5, 4)
    assert vector.single_action_space.n == 4
    seen, _ = vector.reset(seed=0)
    assert seen in vector.observation_space
    seen, *_ = vector.step(vector.action_space.sample())
    assert seen in vector.observation_space


def test_it_works_with_gymnasiums_own_statistics():
    vector = gymnasium.wrappers.vector.RecordEpisodeStatistics(OrexisVectorEnv("random-abc", NUM))
    vector.reset(seed=0)
    for action in (0, 0, 2, 2):
        *_, infos = vector.step(np.full(NUM, action))
    np.testing.assert_array_equal(infos["episode"]["l"], np.full(NUM, 4))


def test_a_plain_reset_is_everybodys_next_episode():
    vector = OrexisVectorEnv("random-abc", NUM)
    vector.reset(seed=0)
    vector.step(np.zeros(NUM, int))
    _, infos = vector.reset()
    assert (infos["episode_index"] == 1).all()
    assert not infos["new_lifetime"].any()
    _, infos = vector.reset(options={"new_lifetime": True})
    assert (infos["lifetime_index"] == 1).all()
    assert infos["new_lifetime"].all()


def test_seeds_can_be_given_one_by_one():
    vector = OrexisVectorEnv("empty-rooms", 3)
    vector.reset(seed=[5, 6, 5])
    goals = np.asarray(vector._lives.params.goal)
    assert (goals[0] == goals[2]).all()
    assert (goals[0] != goals[1]).any()
    with pytest.raises(ValueError, match="seed must be one number or 3 of them, not 2"):
        vector.reset(seed=[1, 2])


def test_dict_observations_are_batched():
    vector = OrexisVectorEnv("random-abc", NUM, observation="dict")
    vector.reset(seed=0)
    seen, *_ = vector.step(np.arange(NUM) % 4)
    assert seen in vector.observation_space
    np.testing.assert_array_equal(seen["last_action"], np.arange(NUM) % 4)


def test_every_environment_is_drawn():
    vector = OrexisVectorEnv("random-abc", 2, render_mode="ansi")
    vector.reset(seed=0)
    vector.step(np.array([0, 1]))
    up, down = vector.render()
    assert up.splitlines()[1] == ". . @ . ."
    assert down.splitlines()[3] == ". . @ . ."


@pytest.mark.parametrize("actions", [[0, 1], [0, 1, 4], [0.5, 0, 0], [[0, 0, 0]]])
def test_actions_that_there_are_not_are_refused(actions):
    vector = OrexisVectorEnv("random-abc", 3)
    vector.reset(seed=0)
    with pytest.raises(gymnasium.error.InvalidAction, match="actions must be 3 numbers from 0 to 3"):
        vector.step(np.array(actions))


def test_nobody_steps_before_a_reset():
    with pytest.raises(gymnasium.error.ResetNeeded):
        OrexisVectorEnv("random-abc", 3).step(np.zeros(3, int))
    with pytest.raises(ValueError, match="num_envs must be at least 1, not 0"):
        OrexisVectorEnv("random-abc", 0)
