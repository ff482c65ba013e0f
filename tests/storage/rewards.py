"""Rewards and policies to test with: small, random, of every kind."""

from pathlib import Path

import numpy as np

from orexis.config import HistoryNetConfig, PolicyNetConfig, RunConfig, TaskSpec
from orexis.config_json import to_json
from orexis.presets import preset
from orexis.storage.artefact import expected_shapes, write_artefact

SPEC = TaskSpec(num_actions=3, observation_shape=(3, 4, 2), time_limit=5, episodes_per_lifetime=6)
GRID = TaskSpec(num_actions=3, observation_shape=(3, 4, 2), time_limit=5, episodes_per_lifetime=6, agent_plane=1)
"""`SPEC` as a grid's: it names the agent's plane."""
ALONE = TaskSpec(num_actions=3, observation_shape=(3, 4, 1), time_limit=5, episodes_per_lifetime=6, agent_plane=0)
"""A grid with nothing but the agent on it."""
NETWORK = HistoryNetConfig(num_filters=2, num_hidden=5, num_units=4)
NETWORKS = {"reward": NETWORK, "rl2": NETWORK, "maml": PolicyNetConfig(num_filters=2, num_hidden=4)}
"""A small network of everything that can be learned."""


def random_params(spec: TaskSpec = SPEC, network=NETWORK, seed: int = 0, learn: str = "reward"):
    """Returns parameters of a reward or policy network, none of them zero."""
    rng = np.random.default_rng(seed)
    return {
        layer: {leaf: rng.normal(size=shape).astype(np.float32) for leaf, shape in leaves.items()}
        for layer, leaves in expected_shapes(spec, network, learn).items()
    }


def write_reward(
    place: Path,
    seed: int = 0,
    network: HistoryNetConfig | None = None,
    task: str = "bandit",
    spec: TaskSpec = SPEC,
    learn: str = "reward",
    **record,
) -> Path:
    """Writes a reward, or a policy learned so, with random parameters and returns its folder."""
    network = NETWORKS[learn] if network is None else network
    config = to_json(RunConfig(task="bandit", meta=preset("bandit", learn=learn)))
    params = random_params(spec, network, seed, learn)
    write_artefact(place, task, spec, network, params, {"config": config, **record}, learn)
    return place
