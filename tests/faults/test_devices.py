"""FAULTS 16: the same bits on 1, 2 and 4 devices. (And no gradient summed too often: tests/meta/test_engine.py)"""

import functools

import jax
import numpy as np
import pytest

from orexis.meta.engine import Engine, default_chunk, make_mesh
from orexis.presets import preset
from orexis.tasks.registry import make_task
from tests.runs.tiny import TINY_META


@functools.cache
def run(num_devices: int, num_updates: int = 7):
    """Returns the states and metrics of the tiny run, from the first on."""
    engine = Engine(make_task("bandit"), TINY_META, 0, make_mesh(jax.devices()[:num_devices]))
    state = engine.init()
    results, update = [jax.tree.map(np.array, state)], engine.compile_update()
    for _ in range(num_updates):
        state, metrics = update(state)
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
        assert odd == [], f"after update {number}"
    assert int(ours[-1][0].learner.update) == 7


@pytest.mark.parametrize("num_lifetimes", [4, 8, 16, 20, 64, 100, 256, 1024])
@pytest.mark.parametrize("agent_bytes", [1, 300_000, 10**9])
def test_one_two_and_four_devices_share_the_same_chunks(num_lifetimes: int, agent_bytes: int):
    chunks = {default_chunk(num_lifetimes, num_devices, agent_bytes) for num_devices in (1, 2, 4)}
    assert len(chunks) == 1
    (chunk,) = chunks
    assert num_lifetimes % (4 * chunk) == 0
    assert chunk <= 16


@pytest.mark.parametrize(
    ("num_lifetimes", "num_devices", "chunk"),
    [(64, 1, 16), (64, 8, 8), (64, 64, 1), (6, 1, 6), (6, 2, 3), (60, 3, 5), (7, 7, 1)],
)
def test_every_device_has_whole_chunks(num_lifetimes: int, num_devices: int, chunk: int):
    assert default_chunk(num_lifetimes, num_devices, agent_bytes=1) == chunk
    assert num_lifetimes // num_devices % chunk == 0


@pytest.mark.parametrize(
    ("name", "chunk"), [("random-abc", 16), ("nonstationary-abc", 16), ("empty-rooms", 4), ("key-box", 2)]
)
def test_the_larger_the_agents_the_smaller_the_chunks(name: str, chunk: int):
    assert Engine(make_task(name), preset(name), 0, make_mesh(jax.devices()[:1])).chunk == chunk
