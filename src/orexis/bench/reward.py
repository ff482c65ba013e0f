"""`orexis bench --reward NAME`: the speed of a reward in plain NumPy, one environment on one core, and its memory."""

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from orexis.evaluation.sources import find_artefact
from orexis.interop.numpy_reward import NumpyReward

NUM_DISTINCT = 1000  # steps that are told again and again


def bench_reward(name: str, num_steps: int = 1_000_000) -> dict[str, Any]:
    """Returns steps a second of this process's time, and by how many MiB its memory grew after the first tenth."""
    reward = NumpyReward(find_artefact(name, "reward"))
    told = _random_steps(reward)
    reward.begin(1)
    started, early = time.process_time(), 0.0
    for step in range(num_steps):
        if step == num_steps // 10:
            early = resident_mib()
        reward.step(**told[step % NUM_DISTINCT])
    seconds = time.process_time() - started
    return {
        "reward": name,
        "steps": num_steps,
        "steps_per_s": num_steps / seconds,
        "memory_growth_mib": resident_mib() - early,
    }


def print_reward_speed(result: dict[str, Any]) -> None:
    """Prints a result of `bench_reward` in a line."""
    Console(highlight=False).print(
        f"{result['reward']} in NumPy: {result['steps_per_s']:,.0f} steps a second of one core, memory grew by "
        f"{result['memory_growth_mib']:.1f} MiB in {result['steps']:,} steps"
    )


def resident_mib() -> float:
    """Returns the memory that this process has in use; 0 where the system does not tell."""
    table = Path("/proc/self/statm")
    return int(table.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20 if table.is_file() else 0.0


def _random_steps(reward: NumpyReward) -> list[dict[str, np.ndarray]]:
    """Returns steps of one environment as `NumpyReward.step` takes them."""
    rng, spec = np.random.default_rng(0), reward.spec
    next_observations = (rng.random((NUM_DISTINCT, 1, *spec.observation_shape)) < 0.05).astype(np.float32)
    actions = rng.integers(0, spec.num_actions, (NUM_DISTINCT, 1))
    rewards = rng.normal(size=(NUM_DISTINCT, 1)).astype(np.float32)
    told: dict[str, np.ndarray] = {
        "next_observation": next_observations,
        "action": actions,
        "reward": rewards,
        "done": rng.random((NUM_DISTINCT, 1)) < 0.1,
        "observation": np.roll(next_observations, 1, axis=0),
    }
    return [{name: array[step] for name, array in told.items()} for step in range(NUM_DISTINCT)]
