"""`orexis tasks`: what can be trained on, with a small drawing and the numbers that matter."""

import textwrap
from typing import Any

import jax
import jax.numpy as jnp
from rich.console import Console
from rich.table import Table
from rich.text import Text

from orexis.interop.registration import ENVIRONMENTS
from orexis.interop.rendering import sketch
from orexis.presets import preset
from orexis.tasks.registry import TASKS
from orexis.tools.play import color_signs


def print_tasks() -> None:
    """Prints each task: a drawing of an episode's first state where it has one, beside the key numbers."""
    console = Console(highlight=False)
    for name, entry in TASKS.items():
        task = entry.make()
        block = Table.grid(padding=(0, 3))
        block.add_column(min_width=21)
        block.add_column()
        block.add_row(_drawing(task), Text("\n".join(describe_task(name, task, entry.summary))))
        console.print(Text(name, style="bold"))
        console.print(block)
        console.print()
    console.print("A task of your own is named module:Class; see docs/how-to/add_a_task.md.")


def describe_task(name: str, task: Any, summary: str) -> list[str]:
    """Returns the key numbers of a task in words, line by line."""
    spec, agent = task.spec, preset(name).agent
    shape = "×".join(str(size) for size in spec.observation_shape)
    steps = f"{spec.time_limit} step{'s' if spec.time_limit > 1 else ''}"
    best = [f"best possible return of an episode: {task.optimum():.4f}"] if hasattr(task, "optimum") else []
    ids = [identity for identity, task_name in ENVIRONMENTS.items() if task_name == name]
    return [
        *textwrap.wrap(summary, 56),
        f"{spec.episodes_per_lifetime} episodes of at most {steps}, {spec.num_actions} actions, observation {shape}",
        *best,
        f"agent: T = {agent.rollout_length}, {agent.optimizer} {agent.learning_rate:g}, entropy {agent.entropy_cost:g}",
        *(f"Gymnasium: orexis:{identity}" for identity in ids),
    ]


def _drawing(task: Any) -> Text:
    """Returns the first state of an episode, hidden things shown; empty for a task without a sketch."""
    if not hasattr(task, "sketch"):
        return Text("")
    key = jax.random.key(3)
    params = task.sample(key)
    return color_signs(sketch(task, *jax.device_get((params, task.reset(key, params, jnp.zeros((), jnp.int32))))))
