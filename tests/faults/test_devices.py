"""FAULTS 16: with `deterministic` the same bits on 1, 2 and 4 devices. (No gradient summed too often:
tests/meta/test_engine.py.)"""

import dataclasses
import functools

import jax
import numpy as np
import pytest

from orexis.config import RunConfig
from orexis.errors import UsageError
from orexis.meta.chunks import AT_ONCE, count_shares, default_chunk
from orexis.meta.engine import Engine, make_mesh
from orexis.presets import preset
from orexis.tasks.registry import make_task
from orexis.training import setup
from tests.training.tiny import TINY_META


@functools.cache
def run(num_devices: int, calls: tuple[int, ...] = (1, AT_ONCE, 1)):
    """Returns the states and metrics of the tiny run, from the first on, after each call."""
    mesh = make_mesh(jax.devices()[:num_devices])
    engine = Engine(make_task("bandit"), TINY_META, 0, mesh, deterministic=True)
    state = engine.init()
    results, update = [jax.tree.map(np.array, state)], engine.compile_updates()
    for number in calls:
        state, metrics = update(state, np.int32(number))
        results.append(jax.tree.map(np.array, (state, metrics)))
    return results


@pytest.mark.slow
@pytest.mark.parametrize("num_devices", [2, 4])
def test_every_bit_of_state_and_metrics_is_the_same_on_any_number_of_devices(num_devices: int):
    ours, expected = run(num_devices), run(1)
    for number, (one, other) in enumerate(zip(ours, expected, strict=True)):
        leaves, _ = jax.tree_util.tree_flatten_with_path(one)
        odd = [
            jax.tree_util.keystr(path)
            for (path, leaf), same in zip(leaves, jax.tree.leaves(other), strict=True)
            if leaf.tobytes() != same.tobytes()
        ]
        assert odd == [], f"after call {number}"
    assert int(ours[-1][0].learner.update) == AT_ONCE + 2


@pytest.mark.parametrize(("num_lifetimes", "num_blocks"), [(4, 4), (8, 8), (16, 8), (20, 4), (64, 8), (6, 2), (7, 1)])
def test_a_deterministic_run_is_cut_alike_for_any_number_of_devices(num_lifetimes: int, num_blocks: int):
    config = dataclasses.replace(TINY_META, lifetimes=num_lifetimes)
    cuts = set()
    for num_devices in (1, 2, 4):
        mesh = make_mesh(jax.devices()[:num_devices])
        if num_blocks % num_devices == 0:
            engine = Engine(make_task("bandit"), config, 0, mesh, deterministic=True)
            cuts.add((engine.num_blocks, engine.chunk))
        else:
            with pytest.raises(ValueError, match=f"of a deterministic run cannot be shared equally by {num_devices}"):
                Engine(make_task("bandit"), config, 0, mesh, deterministic=True)
    assert cuts == {(num_blocks, num_lifetimes // num_blocks)}


def test_without_it_a_device_has_one_block_and_larger_chunks():
    config = dataclasses.replace(TINY_META, lifetimes=64)
    for num_devices in (1, 2, 4):
        engine = Engine(make_task("bandit"), config, 0, make_mesh(jax.devices()[:num_devices]))
        assert (engine.num_blocks, engine.chunk) == (num_devices, 16)


@pytest.mark.parametrize(
    ("num_lifetimes", "num_devices", "chunk"),
    [(64, 1, 16), (64, 8, 8), (64, 64, 1), (16, 2, 8), (6, 1, 6), (6, 2, 3), (60, 3, 10), (7, 7, 1)],
)
def test_every_device_has_whole_chunks(num_lifetimes: int, num_devices: int, chunk: int):
    assert default_chunk(num_lifetimes, num_devices, agent_bytes=1) == chunk
    assert num_lifetimes // num_devices % chunk == 0


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize(("num_lifetimes", "usable", "usable_blocks"), [(64, 4, 4), (6, 3, 2), (20, 4, 4), (7, 1, 1)])
def test_a_run_takes_as_many_devices_as_share_its_lifetimes(num_lifetimes, usable, usable_blocks, deterministic: bool):
    config = RunConfig(
        "bandit", deterministic=deterministic, meta=dataclasses.replace(TINY_META, lifetimes=num_lifetimes)
    )
    assert len(jax.devices()) == 4
    assert setup.make_engine(config).mesh.size == (usable_blocks if deterministic else usable)
    if count_shares(num_lifetimes, deterministic) % 4:
        with pytest.raises(UsageError, match=r"cannot be shared|with --deterministic") as refused:
            setup.usable_devices(num_lifetimes, deterministic, num_processes=2)
        assert ("--deterministic" in str(refused.value)) == deterministic


@pytest.mark.parametrize(
    ("name", "chunk", "at_once"),
    [("random-abc", 16, AT_ONCE), ("nonstationary-abc", 16, AT_ONCE), ("empty-rooms", 4, 1), ("key-box", 2, 1)],
)
def test_the_larger_the_agents_the_smaller_the_chunks_and_the_calls(name: str, chunk: int, at_once: int):
    engine = Engine(make_task(name), preset(name, "paper"), 0, make_mesh(jax.devices()[:1]))
    assert (engine.chunk, engine.at_once) == (chunk, at_once)


def test_many_lifetimes_are_not_held_up_by_long_calls():
    config = dataclasses.replace(preset("random-abc"), lifetimes=1024)
    assert Engine(make_task("random-abc"), config, 0, make_mesh(jax.devices()[:2])).at_once == 1
