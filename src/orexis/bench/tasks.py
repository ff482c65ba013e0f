"""How fast the tasks are alone, and which share of a training update they take: `orexis bench --tasks`.

A *window* here is what the environments do in one update of the reward: every lifetime observes, takes
N·T steps whose actions were drawn beforehand, and everything that a rollout keeps is written. No network, no
agent. Tasks with a table of observations run as the engine runs them, by row number; `images` tells what it would
cost to write every picture instead.
"""

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table

from orexis.meta.engine import Engine, make_mesh
from orexis.presets import preset
from orexis.tasks.base import Task, begin_world, step_world
from orexis.tasks.registry import make_task
from orexis.tasks.tabled import Tabled, has_table
from orexis.types import World

PAPER_TASKS = ("empty-rooms", "random-abc", "nonstationary-abc", "key-box")


def window_program(task: Task, num_lifetimes: int, num_steps: int, chunk: int | None = None) -> Callable[[], None]:
    """Returns a compiled function that runs one window of the environments alone and waits for it.

    All lifetimes in one vmap, or `chunk` of them at a time, one chunk after the other, as the engine does.
    """
    size = chunk or num_lifetimes
    if num_lifetimes % size:
        raise ValueError(f"{num_lifetimes} lifetimes cannot be cut into chunks of {size}")

    def live(world: World, actions: jax.Array, key: jax.Array):
        def take_step(world: World, given: tuple[jax.Array, jax.Array]):
            action, key_step = given
            observation = task.observe(world.params, world.state)
            following, result = step_world(task, key_step, world, action)
            kept = (
                observation,
                result.observation,
                result.reward,
                result.episode_ended,
                following.alive,
            )
            return following, kept

        return jax.lax.scan(take_step, world, (actions, jax.random.split(key, num_steps)))

    keys = jax.random.split(jax.random.key(0), num_lifetimes)
    worlds = jax.jit(jax.vmap(lambda key: begin_world(task, key, jnp.zeros((), jnp.int32))))(keys)
    actions = jax.random.randint(jax.random.key(1), (num_lifetimes, num_steps), 0, task.spec.num_actions)
    arguments = jax.tree.map(lambda x: x.reshape(-1, size, *x.shape[1:]), (worlds, actions, keys))
    program = jax.jit(lambda given: jax.lax.map(lambda each: jax.vmap(live, out_axes=(0, 1))(*each), given))
    compiled = program.lower(arguments).compile()

    def run() -> None:
        jax.block_until_ready(compiled(arguments))

    return run


def window_seconds(task: Task, num_lifetimes: int = 64, num_steps: int = 20, chunk: int | None = None) -> float:
    """Returns the best wall time of one window of the environments alone, on one device.

    The best of many: other work on the machine only ever adds.
    """
    return _best_seconds(window_program(task, num_lifetimes, num_steps, chunk))


def bench_tasks(
    names: Sequence[str] = PAPER_TASKS, num_lifetimes: int = 64, with_shares: bool = True
) -> dict[str, Any]:
    """Returns steps per second of each task alone, `num_lifetimes` under one vmap on one device, windows of N·T.

    with_shares: also what a training update takes, see `share_of_update`; that has to be compiled first.
    """
    results: dict[str, Any] = {}
    for name in names:
        task, config = make_task(name), preset(name)
        num_steps = config.outer.window * config.agent.rollout_length
        pictures = window_seconds(task, num_lifetimes, num_steps)
        rows = window_seconds(Tabled(task), num_lifetimes, num_steps) if has_table(task) else pictures
        results[name] = {
            "steps_per_s": num_lifetimes * num_steps / rows,
            "steps_per_s_images": num_lifetimes * num_steps / pictures,
            "window_ms": 1e3 * rows,
            "window_steps": num_steps,
            **(share_of_update(name, num_lifetimes) if with_shares else {}),
        }
    return {"lifetimes": num_lifetimes, "tasks": results}


def share_of_update(name: str, num_lifetimes: int = 64, num_updates: int = 10) -> dict[str, float]:
    """Returns the times of one training update and of its environments alone, on one device, and their ratio.

    Both run the same chunks of lifetimes, so the ratio does not depend on the number of cores.
    """
    task, config = make_task(name), dataclasses.replace(preset(name), lifetimes=num_lifetimes)
    engine = Engine(task, config, seed=0, mesh=make_mesh(jax.devices()[:1]))
    num_steps = config.outer.window * config.agent.rollout_length
    seen = Tabled(task) if has_table(task) else task
    environments = window_seconds(seen, num_lifetimes, num_steps, engine.chunk)
    state = engine.init()
    update = engine.compile_update()
    state, _ = jax.block_until_ready(update(state))
    times = []
    for _ in range(num_updates):
        start = time.perf_counter()
        state, _ = jax.block_until_ready(update(state))
        times.append(time.perf_counter() - start)
    return {
        "update_ms": 1e3 * min(times),
        "environments_ms": 1e3 * environments,
        "share": environments / min(times),
    }


def print_task_speeds(results: dict[str, Any]) -> None:
    """Prints a row for each task of what `bench_tasks` returned."""
    shown = Table(title=f"environments alone, {results['lifetimes']} lifetimes under one vmap, one device")
    for heading in ("task", "steps/s", "with images", "N·T", "window", "update", "share"):
        shown.add_column(heading, justify="left" if heading == "task" else "right")
    for name, row in results["tasks"].items():
        update = (f"{row['update_ms']:.0f} ms", f"{100 * row['share']:.1f} %") if "share" in row else ("", "")
        shown.add_row(
            name,
            f"{row['steps_per_s']:,.0f}",
            f"{row['steps_per_s_images']:,.0f}",
            str(row["window_steps"]),
            f"{row['window_ms']:.2f} ms",
            *update,
        )
    Console().print(shown)


def _best_seconds(run: Callable[[], None], budget: float = 1.0, at_least: int = 20) -> float:
    """Returns the shortest time of `run` in about `budget` seconds of trying."""
    run()
    times: list[float] = []
    while len(times) < at_least or sum(times) < budget:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return float(np.min(times))
