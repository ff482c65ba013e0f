"""A table lies in the cache under what really lived, also where a running training replaces the reward meanwhile."""

import dataclasses
from pathlib import Path

import jax
import numpy as np

from orexis.config import RunConfig
from orexis.config_json import to_json
from orexis.evaluation import cache, sources
from orexis.evaluation.evaluate import Plan, evaluate_source, settle
from orexis.evaluation.sources import make_source
from orexis.presets import TUNED, preset
from orexis.rewards.learned import LearnedReward
from orexis.storage.artefact import read_artefact, write_artefact
from orexis.tasks.probes import Bandit
from orexis.zoo.registry import open_artefact
from tests.training.tiny import TINY_META

EPISODES = 3


def write_reward(folder: Path, seed: int) -> str:
    """Writes a reward of its own for each seed; returns its sha256."""
    spec = Bandit(episodes=EPISODES).spec
    params = LearnedReward(spec, TINY_META.reward).init(jax.random.key(seed))
    record = {"config": to_json(RunConfig(task="bandit", meta=TINY_META))}
    write_artefact(folder, "bandit", spec, TINY_META.reward, params, record)
    return read_artefact(folder).record["sha256"]


def keys_in(folder: Path) -> set[str]:
    return {path.stem for path in folder.glob("*.npz")}


def test_a_reward_that_is_replaced_after_it_was_opened_is_kept_under_the_hash_of_the_one_that_lived(tmp_path):
    folder, plan = tmp_path / "reward", Plan(num_lifetimes=2, seed=3, cache=tmp_path / "cache")
    first = write_reward(folder, seed=1)
    setting = settle([str(folder)], "bandit", episodes=EPISODES)
    key = cache.key_of(make_source(str(folder), setting), setting, 2, 3)

    assert write_reward(folder, seed=2) != first
    table, _ = evaluate_source(str(folder), setting, plan)
    assert keys_in(plan.cache) == {key}

    of_the_second, _ = evaluate_source(str(folder), settle([str(folder)], "bandit", episodes=EPISODES), plan)
    assert len(keys_in(plan.cache)) == 2
    write_reward(folder, seed=1)
    of_the_first, _ = evaluate_source(
        str(folder),
        settle([str(folder)], "bandit", episodes=EPISODES),
        dataclasses.replace(plan, cache=None),
    )
    np.testing.assert_array_equal(table.intrinsic, of_the_first.intrinsic)
    assert not np.array_equal(table.intrinsic, of_the_second.intrinsic)


def test_a_reward_that_is_replaced_between_making_and_keying_is_kept_under_the_hash_of_the_one_that_lived(tmp_path):
    folder = tmp_path / "reward"
    first = write_reward(folder, seed=1)
    setting = dataclasses.replace(settle([str(folder)], "bandit", episodes=EPISODES), artefacts={})
    source = make_source(str(folder), setting)  # opened here, as nobody did before
    key = cache.key_of(source, setting, 2, 3)
    write_reward(folder, seed=2)
    assert cache.key_of(source, setting, 2, 3) == key
    assert source.artefact.record["sha256"] == first
    assert cache.key_of(make_source(str(folder), setting), setting, 2, 3) != key


def test_a_reward_is_opened_once_in_an_evaluation(tmp_path, monkeypatch):
    write_reward(tmp_path / "reward", seed=1)
    opened = []
    monkeypatch.setattr(sources, "open_artefact", lambda name: opened.append(name) or open_artefact(name))
    name = str(tmp_path / "reward")
    evaluate_source(name, settle([name], "bandit", episodes=EPISODES), Plan(num_lifetimes=2, cache=tmp_path / "cache"))
    assert opened == [name]


def test_what_length_of_lifetimes_a_reward_was_trained_on_is_in_the_key(tmp_path):
    clocked, keys = dataclasses.replace(TINY_META.reward, sees_clock=True), set()
    params = LearnedReward(Bandit().spec, clocked).init(jax.random.key(0))
    record = {"config": to_json(RunConfig(task="bandit", meta=TINY_META))}
    for episodes in (3, 4):
        folder = tmp_path / str(episodes)
        write_artefact(folder, "bandit", Bandit(episodes=episodes).spec, clocked, params, record)
        setting = settle([str(folder)], "bandit", episodes=EPISODES)
        source = make_source(str(folder), setting)
        assert source.reward.spec.episodes_per_lifetime == episodes  # and not the evaluation's
        keys.add(cache.key_of(source, setting, 2, 3))
    assert len(keys) == 2


def test_the_lifetimes_discount_comes_from_the_preset_and_is_in_the_key(monkeypatch):
    def keyed() -> tuple[str | None, float]:
        setting = settle(["extrinsic-life"], "bandit")
        source = make_source("extrinsic-life", setting)
        assert source.reward.returns.through_episodes
        return cache.key_of(source, setting, 2, 3), source.reward.returns.discount

    meta = preset("bandit")
    before = keyed()
    assert before[1] == meta.outer.discount
    changed = dataclasses.replace(meta, outer=dataclasses.replace(meta.outer, discount=0.5))
    monkeypatch.setitem(TUNED, "bandit", changed)
    after = keyed()
    assert after[1] == 0.5
    assert after[0] != before[0]
