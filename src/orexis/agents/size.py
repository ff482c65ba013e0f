"""How much memory an agent's lifetime takes, known from its settings before anything is compiled. Needs no JAX."""

import math

from orexis.config import AgentConfig, TaskSpec

LARGEST = 128 * 2**20
"""Bytes of a lifetime that are plausible: some 8 million parameters. An agent of the presets takes 0.4 to 2 MB."""


def lifetime_bytes(spec: TaskSpec, config: AgentConfig) -> int:
    """Returns about how many bytes a lifetime takes while its agent learns, by the arrays that are alive at once.

    4 · theta (old, gradient, step, new; with Adam's moments twice that) + T · (what a step saw and computed), in f32.
    XLA's own count for the compiled lifetimes is between 0.7 and 1.5 of it (tests/agents/test_size.py).
    """
    height, width, planes = spec.observation_shape
    cells, net = height * width, config.net
    theta = (9 * planes + 1) * net.num_filters + (cells * net.num_filters + 1) * net.num_hidden
    theta += (net.num_hidden + 1) * (spec.num_actions + 1)
    step = cells * (11 * planes + 2 * net.num_filters) + 2 * net.num_hidden
    copies = 8 if config.optimizer == "adam" else 4
    return 4 * (copies * theta + config.rollout_length * step)


def check_size(spec: TaskSpec, config: AgentConfig) -> None:
    """Raises ValueError if agents of these settings are larger than is plausible."""
    needed = lifetime_bytes(spec, config)
    if needed > LARGEST:
        net = config.net
        raise ValueError(
            f"an agent with num_filters {net.num_filters}, num_hidden {net.num_hidden} and rollout_length "
            f"{config.rollout_length} takes {_in_words(needed)} of memory a lifetime, "
            f"and {_in_words(LARGEST)} are plausible"
        )


def _in_words(size: int) -> str:
    return f"{size / 1e9:.3g} GB" if math.log10(size) >= 9 else f"{size / 1e6:.3g} MB"
