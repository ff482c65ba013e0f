"""What `orexis.interop` offers is there, and is imported only when it is asked for."""

import subprocess
import sys

import pytest

from orexis import interop


@pytest.mark.parametrize("name", interop.__all__)
def test_every_name_that_is_offered_is_there(name: str):
    assert getattr(interop, name).__name__ == name


def test_environments_are_offered():
    env = interop.OrexisEnv("bandit")
    assert env.reset(seed=0)[0] in env.observation_space
    assert interop.OrexisVectorEnv("bandit", num_envs=2).num_envs == 2


def test_rewards_come_without_jax_and_environments_with_it():
    code = """
import sys
from orexis.interop import IntrinsicReward, NumpyReward, VectorIntrinsicReward, load_reward
before = "jax" in sys.modules
from orexis.interop import OrexisEnv
print(before, "jax" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        interop.Nothing  # noqa: B018
