"""The reward wrapper for Stable-Baselines3, and the examples where it is installed."""

import importlib
import importlib.util
import os
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from orexis.interop.environments import OrexisEnv
from tests.interop import vec_env_stand_in
from tests.interop.test_intrinsic import ACTIONS, NUM, REWARD, REWARDS, TASK, live_alone, small_reward

INSTALLED = importlib.util.find_spec("stable_baselines3") is not None
EXAMPLES = Path(__file__).parent.parent.parent / "examples"


@pytest.fixture(scope="module")
def vec_env():
    """`stable_baselines3.common.vec_env`, or its stand-in, with the wrapper as `VecIntrinsicReward`."""
    with pytest.MonkeyPatch.context() as patch:
        if not INSTALLED:
            for name in ("stable_baselines3", "stable_baselines3.common"):
                patch.setitem(sys.modules, name, types.ModuleType(name))
            patch.setitem(sys.modules, "stable_baselines3.common.vec_env", vec_env_stand_in)
        patch.delitem(sys.modules, "orexis.interop.sb3", raising=False)
        wrapper = importlib.import_module("orexis.interop.sb3").VecIntrinsicReward
        module = importlib.import_module("stable_baselines3.common.vec_env")
        yield types.SimpleNamespace(DummyVecEnv=module.DummyVecEnv, VecIntrinsicReward=wrapper)
        sys.modules.pop("orexis.interop.sb3", None)


def make(vec_env, reward=REWARD, actions: str = "normal", **options):
    venv = vec_env.DummyVecEnv([lambda: OrexisEnv(TASK, actions=actions)] * NUM)
    return vec_env.VecIntrinsicReward(venv, reward, **options)


@pytest.mark.parametrize("view", REWARDS)
def test_every_environment_is_paid_as_it_would_be_alone(vec_env, view: str):
    env = make(vec_env, REWARDS[view], mode="sum", coefficient=2.0)
    env.seed(11)
    env.reset()
    expected = [live_alone(11 + i, ACTIONS[:, i], view=view) for i in range(NUM)]
    for t, actions in enumerate(ACTIONS):
        _, paid, _, infos = env.step(actions)
        for i in range(NUM):
            extrinsic, intrinsic, ended = expected[i][t]
            assert infos[i]["extrinsic_reward"] == pytest.approx(extrinsic)
            assert infos[i]["intrinsic_reward"] == pytest.approx(intrinsic, abs=1e-5)
            assert infos[i]["lifetime_ended"] == ended
            assert paid[i] == pytest.approx(extrinsic + 2 * intrinsic, abs=1e-5)


def first_rewards(env) -> np.ndarray:
    return np.array([info["intrinsic_reward"] for info in env.step(np.zeros(NUM, int))[3]])


def test_only_a_seed_or_a_wish_begins_a_lifetime(vec_env):
    env = make(vec_env)
    env.reset()
    newborn = first_rewards(env)
    env.reset()
    assert (first_rewards(env) != newborn).all()
    env.seed(3)
    env.reset()
    np.testing.assert_array_equal(first_rewards(env), newborn)
    env.set_options({"new_lifetime": True})
    env.reset()
    np.testing.assert_array_equal(first_rewards(env), newborn)
    env.set_options([{}, {"new_lifetime": True}, {}])
    env.reset()
    np.testing.assert_array_equal(first_rewards(env) == newborn, [False, True, False])


@pytest.mark.parametrize(("actions", "complaint"), [("permuted", "permuted Discrete"), ("extended", r"Discrete\(8\)")])
def test_a_reward_that_sees_the_action_is_refused_elsewhere(vec_env, actions, complaint):
    with pytest.raises(ValueError, match=f"the environment has {complaint}"):
        make(vec_env, actions=actions)
    env = make(vec_env, small_reward(sees_action=False), actions=actions)
    env.reset()
    assert (first_rewards(env) != 0).all()


@pytest.mark.slow
@pytest.mark.skipif(not INSTALLED, reason="needs the extra sb3")
@pytest.mark.parametrize("name", ["sb3_ppo", "sb3_dqn"])
def test_the_examples_run(name, tmp_path):
    line = [sys.executable, str(EXAMPLES / f"{name}.py"), "--lifetimes", "2", "--episodes", "4"]
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, timeout=600, env=environment)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / f"{name}.png").stat().st_size > 10_000
    assert "intrinsic reward: " in done.stdout
    assert "difference, lifetime by lifetime: " in done.stdout
