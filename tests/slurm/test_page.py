"""The figures of docs/how-to/cluster.md are those of the engine, and its arithmetic is right."""

import jax
import pytest

from orexis.errors import UsageError
from orexis.meta.engine import Engine, make_mesh
from orexis.meta.learner import pack
from orexis.presets import PAPER_TASKS, preset
from orexis.tasks.registry import make_task
from orexis.training.setup import usable_devices
from tests.test_docs_tables import read_table

PER_NODE = 16  # devices, and lifetimes a device, in the table of nodes
BYTES_PER_MS = 1.25e6


def numbers_sent(task: str) -> int:
    """Returns how many numbers a device's gradient has when it is sent."""
    engine = Engine(make_task(task), preset(task), 0, make_mesh(jax.devices()[:1]))
    learner = jax.eval_shape(engine.init).learner
    precomputed = jax.eval_shape(engine.parts.precompute, learner.eta, learner.phi)
    return sum(leaf.size for leaf in jax.tree.leaves(jax.eval_shape(pack, precomputed)))


def test_the_table_of_messages_is_what_the_engine_sends():
    _, *rows = read_table("how-to/cluster.md", "task")
    assert sorted(row[0].strip("`") for row in rows) == sorted(PAPER_TASKS)
    for task, numbers, size, _ in rows:
        assert int(numbers) == numbers_sent(task.strip("`"))
        assert size == f"{int(numbers) * 4 / 1e6:.3f} MB"


def test_the_table_of_nodes_follows_from_it():
    _, *messages = read_table("how-to/cluster.md", "task")
    sent = {row[0]: (int(row[1]) * 4, float(row[3].removesuffix(" ms"))) for row in messages}
    heading, one, *rows = read_table("how-to/cluster.md", "nodes")
    assert one == ["1", "16", "256", *("0", "1") * 3]
    assert [int(row[0]) for row in rows] == [2, 4, 8, 16, 32, 64]
    for row in rows:
        devices = int(row[0]) * PER_NODE
        assert row[1:3] == [str(devices), str(devices * PER_NODE)]
        for name, transfer, share in zip(heading[3::2], row[3::2], row[4::2], strict=True):
            size, cpu_ms = sent[name.removeprefix("into a node: ")]
            into = (devices - PER_NODE) * size
            assert transfer == f"{into / 1e6:.1f} MB, {into / BYTES_PER_MS:.1f} ms"
            assert share == f"{PER_NODE * cpu_ms / (PER_NODE * cpu_ms + into / BYTES_PER_MS):.2f}"


def test_lifetimes_are_what_the_page_says_they_must_be(monkeypatch):
    monkeypatch.setattr(jax, "devices", lambda: list(range(64)))
    assert len(usable_devices(1024, num_processes=4)) == 64
    with pytest.raises(UsageError, match="1000 lifetimes cannot be shared equally by the 64 devices of 4 processes"):
        usable_devices(1000, num_processes=4)
    with pytest.raises(UsageError, match="divide 8"):
        usable_devices(1024, deterministic=True, num_processes=4)
