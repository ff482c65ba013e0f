"""Compiled programs kept in a file, so that a process can train within a fraction of a second.

Everything of a run is real but for compiling: the program was compiled once, by `freeze`, and is loaded.
"""

import pickle
from pathlib import Path

import jax
import numpy as np
from jax.experimental.serialize_executable import deserialize_and_load, serialize

from orexis.config import RunConfig
from orexis.meta.engine import make_mesh
from orexis.tasks.registry import make_task
from tests.training.tiny import CompiledOnce


def freeze(config: RunConfig, path: Path) -> None:
    """Writes the first state and the update of a run on one device to `path`."""
    engine = _make(config)
    program, _, _ = serialize(engine._compiled)
    _, metrics = engine._compiled(engine.init(), np.int32(1))
    path.write_bytes(pickle.dumps((program, engine._first, jax.tree.map(np.array, metrics))))


def thaw(config: RunConfig, path: Path) -> CompiledOnce:
    """Returns the engine of a run, its program from a file that `freeze` wrote with the same config."""
    program, first, metrics = pickle.loads(path.read_bytes())
    engine = _make(config)
    trees = jax.tree.structure(((first, np.int32(1)), {})), jax.tree.structure((first, metrics))
    vars(engine).update(_first=first, _compiled=deserialize_and_load(program, *trees))
    return engine


def _make(config: RunConfig) -> CompiledOnce:
    return CompiledOnce(make_task(config.task), config.meta, config.seed, make_mesh(jax.devices()[:1]))
