"""The smallest run there is: a bandit, four lifetimes, networks of a few units. Shared by tests of runs and faults.

Importing this starts no JAX devices, so that processes may still be forked.
"""

import dataclasses
import functools
import json
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from orexis.config import AgentConfig, HistoryNetConfig, MetaConfig, OuterConfig, PolicyNetConfig, RunConfig
from orexis.errors import OK
from orexis.meta.engine import Engine, make_mesh
from orexis.meta.state import TrainState
from orexis.training import setup
from orexis.training.setup import make_run_task, usable_devices
from orexis.training.train import train

TINY_META = MetaConfig(
    agent=AgentConfig(net=PolicyNetConfig(num_filters=2, num_hidden=4), rollout_length=2),
    reward=HistoryNetConfig(num_filters=2, num_hidden=4, num_units=4),
    outer=OuterConfig(window=2),
    lifetimes=4,
)
TINY = RunConfig(task="bandit", updates=12, checkpoint_every=4, log_every=3, meta=TINY_META)
"""A lifetime of the bandit is 20 steps, a window 4: lifetimes begun at episodes 0, 5, 10, 15 end in turn."""

OPTIONS = (
    *("--agent.net.num-filters", "2", "--agent.net.num-hidden", "4", "--agent.rollout-length", "2"),
    *("--reward.num-filters", "2", "--reward.num-hidden", "4", "--reward.num-units", "4"),
    *("--outer.window", "2", "--lifetimes", "4"),
)
"""What spells `TINY_META` on the command line, after the preset of the bandit."""


class CompiledOnce(Engine):
    """An engine that is compiled the first time and remembered: a training run then takes milliseconds to start."""

    @functools.cached_property
    def _compiled(self):
        return super().compile_updates().lower(super().init(), np.int32(1)).compile()

    @functools.cached_property
    def _first(self) -> TrainState:
        return jax.tree.map(np.array, super().init())

    def init(self) -> TrainState:
        return jax.device_put(self._first, self.shardings)

    def compile_updates(self):
        return SimpleNamespace(lower=lambda state, number: SimpleNamespace(compile=lambda: self._compiled))


def remembered_engine(config: RunConfig) -> CompiledOnce:
    """Returns the engine of a run, the same for the same experiment: for `orexis.training.setup.make_engine`."""
    return _engine(config.task, config.meta, config.seed, config.deterministic, config.episodes)


@functools.cache
def _engine(task: str, meta: MetaConfig, seed: int, deterministic: bool, episodes: int | None) -> CompiledOnce:
    mesh = make_mesh(usable_devices(meta.lifetimes, deterministic))
    made = make_run_task(RunConfig(task=task, episodes=episodes))
    engine = CompiledOnce(made, meta, seed, mesh, deterministic=deterministic)
    assert engine._first is not None  # made now: later it may be asked for inside a trace
    return engine


def with_updates(updates: int, **changes) -> RunConfig:
    """Returns the tiny run with another end."""
    return dataclasses.replace(TINY, updates=updates, **changes)


def digest_of(run_dir: Path, step: int) -> str:
    """Returns the sha256 of the training state at `step`."""
    manifest = json.loads((run_dir / "checkpoints" / f"step_{step:08d}" / "manifest.json").read_text())
    return manifest["files"]["state.safetensors"]["sha256"]


def rows_of(run_dir: Path) -> list[list[str]]:
    """Returns the cells of metrics.csv but for the column of clock times."""
    lines = (run_dir / "metrics.csv").read_text().splitlines()
    clock = lines[0].split(",").index("wall_s")
    rows = [line.split(",") for line in lines]
    return [row[:clock] + row[clock + 1 :] for row in rows]


def train_undisturbed(run_dir: Path, config: RunConfig = TINY) -> Path:
    """Returns the folder of a run that nothing disturbed, trained with the engine that tests share."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(setup, "make_engine", remembered_engine)
        assert train(run_dir, config, resume=False) == OK
    return run_dir
