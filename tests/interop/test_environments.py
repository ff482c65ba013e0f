"""The tasks as Gymnasium environments."""

import dataclasses
import pickle
import subprocess
import sys
import warnings

import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import orexis  # noqa: F401  registers
from orexis.interop.environments import OrexisEnv
from orexis.interop.registration import ENVIRONMENTS, register_environments
from orexis.interop.rendering import TILE
from orexis.tasks.abc import RandomABC
from orexis.tasks.probes import Bandit

UP, DOWN, LEFT, RIGHT = range(4)


@pytest.mark.smoke
@pytest.mark.parametrize("actions", ["normal", "permuted", "extended"])
@pytest.mark.parametrize("identity", ENVIRONMENTS)
def test_gymnasium_finds_nothing_to_complain_about(identity: str, actions: str):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(f"orexis:{identity}", actions=actions, render_mode="rgb_array")
        check_env(env.unwrapped)
        env.close()


def test_gymnasium_finds_nothing_to_complain_about_in_dict_observations():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make("orexis:Orexis/RandomABC-v0", observation="dict").unwrapped)


def test_the_four_ids_are_those_of_the_design():
    assert set(ENVIRONMENTS) == {
        "Orexis/EmptyRooms-v0",
        "Orexis/RandomABC-v0",
        "Orexis/NonstationaryABC-v0",
        "Orexis/KeyBox-v0",
    }


def test_registering_twice_changes_nothing():
    before = dict(gymnasium.registry)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        register_environments()
    assert dict(gymnasium.registry) == before


@pytest.mark.parametrize(
    "lines",
    [
        "import gymnasium; env = gymnasium.make('orexis:Orexis/KeyBox-v0')",
        "import orexis, gymnasium; env = gymnasium.make('orexis:Orexis/KeyBox-v0')",
        "import orexis, gymnasium; env = gymnasium.make('Orexis/KeyBox-v0')",
    ],
    ids=["by module", "imported first", "without module"],
)
def test_an_environment_is_made_in_a_fresh_process_whatever_is_imported_first(lines: str):
    check = "import sys; assert 'jax' in sys.modules; print(env.observation_space.shape)"
    done = subprocess.run([sys.executable, "-W", "error", "-c", f"{lines}; {check}"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "(9, 9, 5)"


def test_importing_orexis_imports_no_jax():
    code = "import orexis, orexis.cli, sys; raise SystemExit('jax' in sys.modules or 'matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.fixture
def env() -> OrexisEnv:
    return OrexisEnv(RandomABC(episodes=3), render_mode="ansi")


def go_to(env: OrexisEnv, *actions: int):
    for action in actions:
        told = env.step(action)
    return told


TO_A = (UP, UP, LEFT, LEFT)


def test_a_plain_reset_is_the_next_episode_of_the_same_lifetime_until_the_last(env):
    _, info = env.reset(seed=4)
    assert (info["episode_index"], info["lifetime_index"], info["new_lifetime"]) == (0, 0, True)
    paid = []
    for episode in range(3):
        _, reward, terminated, truncated, info = go_to(env, *TO_A)
        paid.append(reward)
        assert (terminated, truncated, info["outcome"]) == (True, False, "A")
        assert info["episode_index"] == episode
        assert info["lifetime_progress"] == pytest.approx((episode + 1) / 3)
        assert info["lifetime_ended"] == (episode == 2)
        _, info = env.reset()
        assert info["new_lifetime"] == (episode == 2)
        assert info["lifetime_progress"] == pytest.approx([1 / 3, 2 / 3, 0][episode])
    assert paid[0] == paid[1] == paid[2] != 0.0  # one task for a lifetime
    assert (info["episode_index"], info["lifetime_index"]) == (0, 1)
    assert go_to(env, *TO_A)[1] != paid[0]  # another for the next


def test_an_episode_that_is_given_up_counts_and_one_that_was_not_begun_does_not(env):
    env.reset(seed=0)
    assert env.reset()[1]["episode_index"] == 0
    env.step(UP)
    assert env.reset()[1]["episode_index"] == 1
    assert env.reset()[1]["episode_index"] == 1


def test_a_new_lifetime_can_be_asked_for(env):
    env.reset(seed=0)
    env.step(UP)
    _, info = env.reset(options={"new_lifetime": True})
    assert (info["lifetime_index"], info["episode_index"], info["new_lifetime"]) == (1, 0, True)


def test_equal_seeds_live_equal_lives_and_other_seeds_do_not(env):
    other = OrexisEnv(RandomABC(episodes=3))

    def pays(which: OrexisEnv, seed: int):
        which.reset(seed=seed)
        first = go_to(which, *TO_A)[1]
        which.reset(options={"new_lifetime": True})
        return first, go_to(which, *TO_A)[1]

    assert pays(env, 7) == pays(other, 7) == pays(env, 7)
    assert pays(env, 8) != pays(env, 7)


def test_without_a_seed_lifetimes_differ():
    first, second = OrexisEnv(RandomABC()), OrexisEnv(RandomABC())
    first.reset()
    second.reset()
    assert go_to(first, *TO_A)[1] != go_to(second, *TO_A)[1]


def test_the_time_limit_truncates(env):
    env.reset(seed=0)
    for _ in range(9):
        assert env.step(RIGHT)[2:4] == (False, False)
    *_, terminated, truncated, info = env.step(RIGHT)
    assert (terminated, truncated, info["outcome"]) == (False, True, "")


def test_arriving_in_the_last_step_terminates_and_does_not_truncate():
    env = OrexisEnv(RandomABC(time_limit=4))
    env.reset(seed=0)
    assert go_to(env, *TO_A)[2:4] == (True, False)


def test_the_terminal_observation_is_returned_and_not_the_next_first(env):
    env.reset(seed=0)
    seen = go_to(env, *TO_A)[0]
    assert seen[0, 0, 0] == 1.0
    assert env.reset()[0][2, 2, 0] == 1.0


def test_nobody_steps_before_a_reset_or_after_the_end(env):
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(UP)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.render()
    env.reset(seed=0)
    go_to(env, *TO_A)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(UP)


@pytest.mark.parametrize("action", [4, -1, 1.5, "up", None])
def test_an_action_that_there_is_not_is_refused(env, action):
    env.reset(seed=0)
    with pytest.raises(gymnasium.error.InvalidAction, match="action must be from 0 to 3"):
        env.step(action)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"render_mode": "human"}, "render_mode must be one of rgb_array, ansi, not 'human'"),
        ({"observation": "flat"}, "observation must be 'array' or 'dict', not 'flat'"),
        ({"actions": "more"}, "unknown action space 'more'"),
    ],
)
def test_an_option_that_there_is_not_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        OrexisEnv("random-abc", **options)


def test_options_of_the_task_reach_it():
    env = gymnasium.make("orexis:Orexis/EmptyRooms-v0", time_limit=3, episodes=2)
    assert (env.unwrapped.task.time_limit, env.unwrapped.task.episodes) == (3, 2)


def test_dict_observations_tell_what_the_last_step_told():
    env = OrexisEnv(RandomABC(episodes=2), observation="dict")
    seen, _ = env.reset(seed=1)
    assert (seen["last_action"], seen["last_reward"], seen["last_done"]) == (0, 0.0, 0)
    assert go_to(env, UP)[0]["last_action"] == UP
    seen, reward, *_ = go_to(env, UP, LEFT, LEFT)
    assert (seen["last_action"], seen["last_done"]) == (LEFT, 1)
    assert seen["last_reward"] == np.float32(reward) != 0
    after, _ = env.reset()
    assert after["last_reward"] == seen["last_reward"]  # remembered over the episode's end,
    go_to(env, *TO_A)
    assert env.reset()[0]["last_reward"] == 0.0  # forgotten at the lifetime's


def test_text_shows_the_room(env):
    env.reset(seed=0)
    assert env.render() == "A . . . B\n. . . . .\n. . @ . .\n. . . . .\nC . . . ."


def test_pixels_show_the_room_and_the_hidden_goal_which_observations_do_not():
    env = OrexisEnv("empty-rooms", render_mode="rgb_array")
    seen, frames = [], []
    for seed in (0, 1):
        seen.append(env.reset(seed=seed)[0])
        frames.append(env.render())
    assert frames[0].shape == (11 * TILE, 11 * TILE, 3)
    assert frames[0].dtype == np.uint8
    assert (frames[0] != frames[1]).any()
    np.testing.assert_array_equal(seen[0], seen[1])


def test_a_task_without_a_sketch_is_drawn_from_its_planes():
    env = OrexisEnv(Bandit(), render_mode="ansi")
    env.reset(seed=0)
    assert env.render() == "@ ."


class Planes(Bandit):
    """Shows three planes: walls, the agent, things; the agent stands on one of the things."""

    agent_plane = None

    @property
    def spec(self):
        return dataclasses.replace(super().spec, observation_shape=(1, 4, 3), agent_plane=self.agent_plane)

    def observe(self, params, state):
        return jnp.array([[[1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]])


class PlanesWithAgent(Planes):
    agent_plane = 1


@pytest.mark.parametrize(("task", "drawn"), [(Planes(), "@ 2 2 ."), (PlanesWithAgent(), "0 @ 2 .")])
def test_the_agent_is_drawn_where_the_spec_says_that_it_is(task, drawn: str):
    env = OrexisEnv(task, render_mode="ansi")
    env.reset(seed=0)
    assert env.render() == drawn


def test_it_works_with_the_wrappers_that_people_use():
    env = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make("orexis:Orexis/RandomABC-v0"))
    env.reset(seed=0)
    *_, info = go_to(env, *TO_A)
    assert info["episode"]["l"] == 4
    flat = gymnasium.wrappers.FlattenObservation(gymnasium.make("orexis:Orexis/RandomABC-v0"))
    assert flat.reset(seed=0)[0].shape == (100,)


def test_an_environment_that_was_not_reset_can_be_pickled():
    env = pickle.loads(pickle.dumps(OrexisEnv("key-box")))
    assert env.reset(seed=0)[0].shape == (9, 9, 5)
