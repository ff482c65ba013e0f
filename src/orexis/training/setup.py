"""From a run's config to its engine: the task, checked; the devices that can share the lifetimes; room in memory."""

import json
from typing import Any

import jax

from orexis.agents.size import check_size
from orexis.config import RunConfig
from orexis.errors import UsageError
from orexis.meta.chunks import count_shares
from orexis.meta.engine import Engine, make_mesh
from orexis.meta.state import TrainState
from orexis.networks.egocentric import check_view
from orexis.platform import require_memory
from orexis.tasks.base import Task
from orexis.tasks.registry import make_task
from orexis.testing import check_task

LONG_WINDOW = 100
"""Updates of a window that still compile in minutes; recipes have 5 to 20."""


def make_engine(config: RunConfig) -> Engine:
    """Returns the engine of a run on the devices there are. Raises UsageError if its task cannot be used."""
    try:
        task = make_run_task(config)
        check_task(task)
        check_size(task.spec, config.meta.agent)
        check_view(task.spec, config.meta.reward)
    except (ValueError, TypeError) as error:
        raise UsageError(f"task {config.task} cannot be used: {error}") from error
    mesh = make_mesh(usable_devices(config.meta.lifetimes, config.deterministic, jax.process_count()))
    return Engine(task, config.meta, config.seed, mesh, engine=config.engine, deterministic=config.deterministic)


def make_run_task(config: RunConfig) -> Task:
    """Returns the task of a run with the options that the run asks for. Raises ValueError or TypeError as it does."""
    options = dict(parse_option(text) for text in config.task_options)
    if config.episodes is not None:
        options["episodes"] = config.episodes
    if not options:
        return make_task(config.task)
    try:
        task = make_task(config.task, **options)
    except TypeError as error:
        names = " and ".join(
            ["--episodes"] * (config.episodes is not None) + ["--task-options"] * bool(config.task_options)
        )
        raise UsageError(f"{config.task} cannot be made with {names}: {error}") from error
    told = task.spec.episodes_per_lifetime
    if told != options.get("episodes", told):
        raise UsageError(f"{config.task} was asked for lifetimes of {config.episodes} episodes and has {told}")
    return task


def parse_option(text: str) -> tuple[str, Any]:
    """Returns the name and the value that NAME=VALUE says; a value that is not JSON is a text. Raises UsageError."""
    name, separator, value = text.partition("=")
    if not separator or not name.isidentifier():
        raise UsageError(f"--task-options takes NAME=VALUE, not {text!r}")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value


def usable_devices(num_lifetimes: int, deterministic: bool = False, num_processes: int = 1) -> list[jax.Device]:
    """Returns the most devices that can share `num_lifetimes` equally; for several processes, all or UsageError."""
    devices = jax.devices()
    count, shares = len(devices), count_shares(num_lifetimes, deterministic)
    if num_processes > 1 and shares % count:
        how = f" with --deterministic can only be shared by as many devices as divide {shares}, not by"
        raise UsageError(
            f"{num_lifetimes} lifetimes{how if deterministic else ' cannot be shared equally by'} "
            f"the {count} devices of {num_processes} processes; change --lifetimes or --devices"
            + (" or leave it out" if deterministic else "")
        )
    while shares % count:
        count -= 1
    return devices[:count]


def refuse_too_large(template: TrainState) -> None:
    """Raises UsageError if the state alone is more than this machine's memory."""
    needed = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(template))
    require_memory(needed, "the lifetimes alone", "use fewer --lifetimes or smaller networks")


def warn_of_compiling(config: RunConfig) -> list[str]:
    """Returns what is to be said before a program is compiled that takes long: its size grows with the window."""
    window = config.meta.outer.window
    if window <= LONG_WINDOW:
        return []
    return [
        f"the {window} updates of a window are compiled one after the other, which takes {window // 10} times as long "
        "as a window of 10, minutes to hours, and as much more memory; try a smaller --outer.window"
    ]
