"""The wrappers that pay a learned reward: what it sees, when a lifetime begins, what is paid, what is refused."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from orexis.config import HistoryNetConfig
from orexis.interop import IntrinsicReward, NumpyReward, VectorIntrinsicReward
from orexis.interop.environments import OrexisEnv
from orexis.interop.mixing import image_of
from orexis.interop.vector import OrexisVectorEnv
from orexis.storage.artefact import Artefact
from orexis.tasks.abc import RandomABC
from tests.storage.rewards import random_params

TASK = RandomABC(episodes=3)
NUM = 3
ACTIONS = np.random.default_rng(1).integers(0, 4, (70, NUM))


def small_reward(sees_action: bool = True, view: str = "planes", sees_clock: bool = False) -> NumpyReward:
    """Returns a random reward for Random ABC."""
    network = HistoryNetConfig(
        sees_action=sees_action, view=view, sees_clock=sees_clock, num_filters=2, num_hidden=5, num_units=4
    )
    return NumpyReward(Artefact("random-abc", TASK.spec, network, random_params(TASK.spec, network), {}))


REWARD = small_reward()
REWARDS = {
    "planes": REWARD,
    "egocentric": small_reward(view="egocentric"),
    "clock": small_reward(sees_clock=True),
}


def live_alone(
    seed: int, actions: np.ndarray, form: str = "array", view: str = "planes"
) -> list[tuple[float, float, bool]]:
    """Returns what the reward pays by hand in one environment: (extrinsic, intrinsic, lifetime ended) of each step."""
    env, reward = OrexisEnv(TASK, observation=form), REWARDS[view].newborn()
    acted_on = np.array(image_of(env.reset(seed=seed)[0]))
    reward.begin(1)
    rows = []
    for action in actions:
        seen, extrinsic, terminated, truncated, info = env.step(action)
        over = terminated or truncated
        next_observation = np.array(seen if form == "array" else seen["image"])
        told = (np.array([action]), np.array([extrinsic]), np.array([over]))
        paid = reward.step(next_observation[None], *told, observation=acted_on[None])
        rows.append((extrinsic, float(paid[0]), info["lifetime_ended"]))
        acted_on = next_observation
        if over:
            seen, info = env.reset()
            acted_on = np.array(image_of(seen))
            if info["new_lifetime"]:
                reward.begin(1)
    assert any(ended for *_, ended in rows)
    return rows


@pytest.mark.parametrize(
    ("mode", "of_extrinsic", "of_intrinsic"), [("intrinsic", 0, 3), ("sum", 1, 3), ("extrinsic", 1, 0)]
)
@pytest.mark.parametrize("form", ["array", "dict"])
@pytest.mark.parametrize("view", REWARDS)
def test_an_environment_pays_what_the_reward_pays_by_hand(mode, of_extrinsic, of_intrinsic, form, view):
    env = IntrinsicReward(OrexisEnv(TASK, observation=form), REWARDS[view], mode=mode, coefficient=3.0)
    env.reset(seed=5)
    alone = live_alone(5, ACTIONS[:, 0], form, view)
    for action, (extrinsic, intrinsic, _) in zip(ACTIONS[:, 0], alone, strict=True):
        _, paid, terminated, truncated, info = env.step(action)
        assert isinstance(paid, float)
        assert paid == pytest.approx(of_extrinsic * extrinsic + of_intrinsic * intrinsic, abs=1e-6)
        assert info["extrinsic_reward"] == extrinsic
        assert info["intrinsic_reward"] == pytest.approx(intrinsic, abs=1e-6)
        if terminated or truncated:
            env.reset()


def make_sync(autoreset_mode: AutoresetMode, form: str = "array", copy: bool = True) -> SyncVectorEnv:
    return SyncVectorEnv([lambda: OrexisEnv(TASK, observation=form)] * NUM, copy, autoreset_mode=autoreset_mode)


VECTORS = {
    "ours": lambda: OrexisVectorEnv(TASK, NUM),
    "ours, dict": lambda: OrexisVectorEnv(TASK, NUM, observation="dict"),
    "sync, same step": lambda: make_sync(AutoresetMode.SAME_STEP),
    "sync, same step, dict": lambda: make_sync(AutoresetMode.SAME_STEP, "dict"),
    "sync, next step": lambda: make_sync(AutoresetMode.NEXT_STEP),
    "sync, next step, dict": lambda: make_sync(AutoresetMode.NEXT_STEP, "dict"),
    "sync, next step, written over": lambda: make_sync(AutoresetMode.NEXT_STEP, copy=False),
    "sync, by hand": lambda: make_sync(AutoresetMode.DISABLED),
}


@pytest.mark.parametrize("kind", VECTORS)
@pytest.mark.parametrize("view", REWARDS)
def test_every_environment_of_a_vector_is_paid_as_it_would_be_alone(kind, view):
    envs = VectorIntrinsicReward(VECTORS[kind](), REWARDS[view], mode="sum", coefficient=0.5)
    envs.reset(seed=11)
    expected = [live_alone(11 + i, ACTIONS[:, i], view=view) for i in range(NUM)]
    taken = np.zeros(NUM, int)  # steps of each environment; a reset that takes a step is none
    while taken.max() < len(ACTIONS):
        actions = ACTIONS[taken, np.arange(NUM)]
        _, paid, terminated, truncated, infos = envs.step(actions)
        for i in range(NUM):
            if not infos["_extrinsic_reward"][i]:
                assert (paid[i], infos["intrinsic_reward"][i]) == (0, 0)
                continue
            extrinsic, intrinsic, _ = expected[i][taken[i]]
            assert infos["extrinsic_reward"][i] == extrinsic
            assert infos["intrinsic_reward"][i] == pytest.approx(intrinsic, abs=1e-5)
            assert paid[i] == pytest.approx(extrinsic + 0.5 * intrinsic, abs=1e-5)
            taken[i] += 1
        if kind == "sync, by hand" and (terminated | truncated).any():
            envs.reset(options={"reset_mask": terminated | truncated})
    assert (taken > 50).all()


def first_rewards(env: IntrinsicReward, steps: int = 3) -> list[float]:
    return [env.step(action)[4]["intrinsic_reward"] for action in ACTIONS[:steps, 0]]


def test_only_a_seed_or_a_wish_begins_a_lifetime():
    env = IntrinsicReward(OrexisEnv(TASK), REWARD)
    env.reset()
    newborn = first_rewards(env)
    env.reset()
    assert first_rewards(env)[0] != newborn[0]  # it remembers the episode before
    for begin in ({"options": {"new_lifetime": True}}, {"seed": 7}):
        env.reset(**begin)
        np.testing.assert_array_equal(first_rewards(env), newborn)


def test_in_a_vector_those_that_were_given_a_seed_begin_a_lifetime():
    envs = VectorIntrinsicReward(make_sync(AutoresetMode.NEXT_STEP), REWARD)
    envs.reset(seed=[1, 1, 1])
    newborn = envs.step(np.zeros(NUM, int))[4]["intrinsic_reward"]
    envs.reset(seed=[1, None, 1])
    found = envs.step(np.zeros(NUM, int))[4]["intrinsic_reward"]
    np.testing.assert_array_equal(found == newborn, [True, False, True])
    envs.reset(options={"new_lifetime": True})
    np.testing.assert_array_equal(envs.step(np.zeros(NUM, int))[4]["intrinsic_reward"], newborn)


def test_environments_that_share_a_reward_do_not_share_its_memory():
    first, second = (IntrinsicReward(OrexisEnv(TASK), REWARD) for _ in range(2))
    for env in (first, second):
        env.reset(seed=0)
    paid = [(first.step(action)[1], second.step(action)[1]) for action in ACTIONS[:3, 0]]
    assert all(one == other for one, other in paid)


@pytest.mark.filterwarnings("ignore:.*different from the unwrapped version")
@pytest.mark.parametrize("reward", ["random-abc", REWARD], ids=["by name", "loaded"])
def test_gymnasiums_own_check_passes(reward):
    env = IntrinsicReward(gymnasium.make("orexis:Orexis/RandomABC-v0"), reward)
    check_env(env, skip_render_check=True)
    again = gymnasium.make(env.spec)
    assert isinstance(again, IntrinsicReward)
    rows = []
    for each in (env, again):
        each.reset(seed=3)
        rows.append([each.step(action)[1] for action in (0, 1, 2)])
    assert rows[0] == rows[1]


class Elsewhere(gymnasium.Env):
    """An environment with spaces of one's choice."""

    def __init__(self, observations: gymnasium.Space, actions: gymnasium.Space):
        self.observation_space, self.action_space = observations, actions


BOX = gymnasium.spaces.Box(0, 1, (5, 5, 4), np.float32)
FOUR = gymnasium.spaces.Discrete(4)


@pytest.mark.parametrize(
    ("env", "complaint"),
    [
        (OrexisEnv("empty-rooms"), r"observations of shape \(5, 5, 4\), the environment has \(11, 11, "),
        (Elsewhere(gymnasium.spaces.Box(0, 1, (4, 5, 5)), FOUR), r"shape \(5, 5, 4\), the environment has \(4, 5, 5\)"),
        (Elsewhere(FOUR, FOUR), r"shape \(5, 5, 4\), the environment has Discrete\(4\)"),
        (Elsewhere(gymnasium.spaces.Dict({"a": BOX}), FOUR), r"shape \(5, 5, 4\), the environment has Dict"),
        (Elsewhere(BOX, gymnasium.spaces.Discrete(5)), r"knows Discrete\(4\), the environment has Discrete\(5\)"),
        (Elsewhere(BOX, gymnasium.spaces.Box(-1, 1, (2,))), r"knows Discrete\(4\), the environment has \(2,\)"),
        (OrexisEnv(TASK, actions="extended"), r"knows Discrete\(4\), the environment has Discrete\(8\)"),
        (
            OrexisEnv(TASK, actions="permuted"),
            r"knows normal Discrete\(4\), the environment has permuted Discrete\(4\)",
        ),
    ],
)
def test_where_a_reward_does_not_fit_it_is_refused(env, complaint):
    with pytest.raises(ValueError, match=complaint):
        IntrinsicReward(env, REWARD)


@pytest.mark.parametrize("actions", ["permuted", "extended"])
def test_other_actions_are_for_rewards_that_do_not_see_them(actions):
    for make in (
        lambda: OrexisVectorEnv(TASK, 2, actions=actions),
        lambda: SyncVectorEnv([lambda: OrexisEnv(TASK, actions=actions)]),
    ):
        with pytest.raises(ValueError, match=f"the environment has .*{'permuted' if actions == 'permuted' else 8}"):
            VectorIntrinsicReward(make(), REWARD)
    env = IntrinsicReward(OrexisEnv(TASK, actions=actions), small_reward(sees_action=False))
    env.reset(seed=0)
    assert env.step(env.action_space.n - 1)[1] != 0


def test_actions_may_be_counted_from_anywhere():
    class FromOne(gymnasium.ActionWrapper):
        action_space = gymnasium.spaces.Discrete(4, start=1)

        def action(self, action):
            return action - 1

    env, plain = IntrinsicReward(FromOne(OrexisEnv(TASK)), REWARD), IntrinsicReward(OrexisEnv(TASK), REWARD)
    env.reset(seed=0)
    plain.reset(seed=0)
    assert env.step(4)[1] == plain.step(3)[1]


def test_there_is_no_other_mode():
    with pytest.raises(ValueError, match="mode must be one of intrinsic, sum, extrinsic, not 'both'"):
        IntrinsicReward(OrexisEnv(TASK), REWARD, mode="both")


def test_in_an_environment_without_jax_there_is_no_jax():
    code = """
import sys
import gymnasium, numpy as np
from orexis.interop import IntrinsicReward, VectorIntrinsicReward

class Empty(gymnasium.Env):
    observation_space, action_space = gymnasium.spaces.Box(0, 1, (5, 5, 4)), gymnasium.spaces.Discrete(4)
    def reset(self, seed=None, options=None):
        return np.zeros((5, 5, 4), np.float32), {}
    def step(self, action):
        return np.zeros((5, 5, 4), np.float32), 0.0, False, False, {}

env = IntrinsicReward(Empty(), "random-abc")
env.reset()
envs = VectorIntrinsicReward(gymnasium.vector.SyncVectorEnv([Empty]), "random-abc")
envs.reset()
assert abs(env.step(0)[1] - envs.step(np.array([0]))[1][0]) < 1e-6
assert not [name for name in sys.modules if name.split(".")[0] in ("jax", "jaxlib")]
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
