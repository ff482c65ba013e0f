"""The size of a lifetime, foretold from an agent's settings, against XLA's own count for the compiled lifetimes."""

import dataclasses
from typing import Any, cast

import jax
import numpy as np
import pytest

from orexis.agents.size import LARGEST, check_size, lifetime_bytes
from orexis.config import AgentConfig, PolicyNetConfig
from orexis.evaluation.lifetimes import lifetimes_program
from orexis.evaluation.sources import Setting, make_source
from orexis.meta.engine import make_mesh
from orexis.presets import PAPER, TUNED
from orexis.tasks.abc import RandomABC
from orexis.tasks.registry import make_task

TASK = RandomABC(episodes=2)
SETTINGS = {
    "wide": AgentConfig(net=PolicyNetConfig(num_hidden=4000)),
    "many filters": AgentConfig(net=PolicyNetConfig(num_filters=1000), optimizer="adam"),
    "long": AgentConfig(rollout_length=2000),
}


def bytes_by_xla(config: AgentConfig, chunk: int = 4) -> float:
    source = make_source("extrinsic-ep", Setting("random-abc", TASK, config))
    mesh = make_mesh(jax.devices()[:1])
    program = lifetimes_program(*cast(Any, (TASK, source.agent, source.reward, mesh, False)))
    numbers = jax.ShapeDtypeStruct((1, chunk), np.int32)
    compiled = program.lower(numbers, jax.ShapeDtypeStruct((), np.uint32), (), source.params).compile()
    return compiled.memory_analysis().temp_size_in_bytes / chunk


@pytest.mark.parametrize("name", SETTINGS)
def test_it_is_what_the_compiled_lifetimes_take(name: str):
    assert 0.7 < bytes_by_xla(SETTINGS[name]) / lifetime_bytes(TASK.spec, SETTINGS[name]) < 1.5


def test_what_is_shipped_is_far_from_the_limit():
    for task, meta in (*TUNED.items(), *PAPER.items()):
        assert lifetime_bytes(make_task(task).spec, meta.agent) < LARGEST / 30


@pytest.mark.parametrize(
    "config",
    [
        AgentConfig(rollout_length=20000),
        AgentConfig(net=PolicyNetConfig(num_hidden=40000)),
        AgentConfig(net=PolicyNetConfig(num_filters=20000)),
        dataclasses.replace(AgentConfig(), rollout_length=2**31 - 1),
    ],
)
def test_what_is_not_plausible_is_refused(config):
    with pytest.raises(ValueError, match="of memory a lifetime, and 134 MB are plausible"):
        check_size(TASK.spec, config)
