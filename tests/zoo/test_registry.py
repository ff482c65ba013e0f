"""The shipped rewards and policies: found by name, offline and without JAX, and described by their cards."""

import subprocess
import sys

import numpy as np
import pytest

import orexis
from orexis.presets import TUNED
from orexis.storage.card import write_card
from orexis.zoo.registry import SHELF, locate, open_artefact, open_reward, shipped_names
from tests.storage.rewards import random_params, write_reward


def test_random_abc_is_shipped():
    assert "random-abc" in shipped_names()
    assert open_reward("random-abc").network.sees_action


@pytest.mark.parametrize("name", shipped_names())
def test_what_is_shipped_is_whole_and_tells_all_that_one_must_know(name):
    artefact = open_artefact(name)  # verified: sha256, shapes, finite
    record = artefact.record
    assert record["name"] == name
    assert artefact.task in TUNED
    assert record["training"].keys() >= {"updates", "lifetimes", "seed", "env_steps"}
    assert record["config"]["meta"]["outer"]
    assert record["known_failures"]
    evaluated = record["evaluation"]["lifetimes"]
    assert evaluated >= (32 if artefact.task == "key-box" else 128)  # of 5000 episodes, the paper has 30
    episodes = record["evaluation"].get("episodes", artefact.spec.episodes_per_lifetime)
    assert evaluated * episodes >= 128 * 200
    assert artefact.task in ("empty-rooms", "key-box") or evaluated * episodes >= 1024 * 50
    assert {"learned", "extrinsic-ep"} <= record["evaluation"]["sources"].keys()
    assert (SHELF / name / "README.md").read_text(encoding="utf-8") == write_card(record)
    card = write_card(record)
    use = f"load_reward('{name}')" if artefact.kind == "reward" else f"orexis evaluate {name} extrinsic-ep"
    for fact in (use, record["sha256"], "## Known failures", "## Evaluation", "outer.window = "):
        assert fact in card


def test_a_shipped_reward_pays_offline_without_jax(tmp_path):
    code = """
import socket, sys
def refuse(*arguments, **options):
    raise AssertionError("a connection was made")
socket.socket.connect = socket.getaddrinfo = refuse
import numpy as np, orexis
reward = orexis.load_reward("random-abc")
reward.begin(num_envs=1)
assert np.isfinite(reward.step(np.zeros((1, 5, 5, 4)), np.array([0]), np.array([0.0]), np.array([False]))).all()
assert not [name for name in sys.modules if name.split(".")[0] in ("jax", "jaxlib")]
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120, cwd=tmp_path)


def test_a_name_wins_over_a_folder_and_a_dot_tells_them_apart(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_reward(tmp_path / "random-abc", seed=3)
    assert locate("random-abc") == SHELF / "random-abc"
    assert orexis.load_reward("random-abc").spec.observation_shape == (5, 5, 4)
    mine = orexis.load_reward("./random-abc")
    np.testing.assert_array_equal(mine.artefact.params["head"]["w"], random_params(seed=3)["head"]["w"])


def test_what_is_nowhere_is_told_with_the_names_that_there_are():
    with pytest.raises(FileNotFoundError, match=r"no reward called 'random-xyz'.*shipped one \(.*random-abc.*\)"):
        orexis.load_reward("random-xyz")


def test_nothing_that_is_no_reward_is_on_the_shelf():
    assert "__pycache__" not in shipped_names()
    with pytest.raises(FileNotFoundError):
        locate("__pycache__")
