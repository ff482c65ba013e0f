"""One side of the benchmark in a process of its own, with the XLA flags that suit it.

Started by `bench.compare` as `python -m orexis.bench.worker SIDE SETTING CACHE`, the setting being JSON, see
`bench.compare.Setting`. It compiles, says so in one line of JSON, and then runs as many updates as each line on its
standard input asks for.
"""

import collections
import dataclasses
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from orexis.bench.compare import Setting
from orexis.config import MetaConfig, OuterConfig
from orexis.platform import freeze_gc, prepare_jax
from orexis.presets import PAPER, preset

ENGINE_SIDES = ("engine", "dense")


def main() -> None:
    side, setting, cache = sys.argv[1], Setting(**json.loads(sys.argv[2])), sys.argv[3]
    started = time.perf_counter()
    if side in ENGINE_SIDES:
        prepare_jax()
    import jax

    from orexis.meta.chunks import split_calls
    from orexis.training.loop import AHEAD

    jax.config.update("jax_compilation_cache_dir", cache)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    made = make_side(side, setting)
    state, imported = made.state, time.perf_counter()
    traced = made.updates.trace(state, np.int32(1))
    seen = time.perf_counter()
    compiled = traced.lower().compile()
    times = {"start_s": imported - started, "trace_s": seen - imported, "compile_s": time.perf_counter() - seen}
    flops = count_matmul_flops(jax.make_jaxpr(made.update)(state).jaxpr, made.num_chunks)
    state = jax.block_until_ready(compiled(state, np.int32(1)))[0]
    freeze_gc()
    say({**times, "matmul_flops": flops, "peak": matmul_peak()})
    for line in sys.stdin:
        begun, used = time.perf_counter(), time.process_time()
        waiting: collections.deque[Any] = collections.deque()
        for number in split_calls(int(line), made.at_once):
            state, metrics = compiled(state, np.int32(number))
            waiting.append(metrics)
            if len(waiting) >= AHEAD:  # as in training: with more on their way the devices can starve each other
                jax.block_until_ready(waiting.popleft())
        jax.block_until_ready(state)
        say(
            {"seconds": time.perf_counter() - begun, "cpu_seconds": time.process_time() - used, "rss_mb": peak_rss_mb()}
        )


@dataclasses.dataclass
class Side:
    """One of the two that are compared, before it is compiled."""

    state: Any
    update: Callable[..., Any]  # (state) -> (state, metrics): its flops are counted, free of the loop over updates
    updates: Any  # jitted (state, number) -> (state, metrics)
    at_once: int  # updates that a call makes
    num_chunks: int  # that a device's lifetimes are cut into


def make_side(side: str, setting: Setting) -> Side:
    """Returns what is to be compiled and run."""
    import jax

    from orexis.meta.engine import Engine, make_mesh
    from orexis.reference.naive import Naive
    from orexis.tasks.abc import RandomABC, abc_map
    from orexis.tasks.registry import make_task

    task = make_task(setting.task) if setting.grid is None else RandomABC(drawing=abc_map(setting.grid))
    config = config_of(setting)
    config = dataclasses.replace(
        config,
        lifetimes=setting.lifetimes,
        agent=dataclasses.replace(config.agent, rollout_length=setting.steps or config.agent.rollout_length),
        outer=dataclasses.replace(config.outer, window=setting.window or config.outer.window),
    )
    if side == "naive":
        naive = Naive(task, config)
        updates = jax.jit(lambda state, number: naive.update(state), donate_argnums=0)
        return Side(jax.jit(naive.init)(), naive.update, updates, at_once=1, num_chunks=1)
    engine = Engine(task, config, 0, make_mesh(), engine="fast" if side == "engine" else "dense")
    num_chunks = setting.lifetimes // (engine.mesh.size * (engine.chunk or 1))
    return Side(engine.init(), engine.compile_update(), engine.compile_updates(), engine.at_once, num_chunks)


def config_of(setting: Setting) -> MetaConfig:
    """Returns the settings that are measured, see `bench.compare.Setting.recipe`."""
    if setting.recipe == "tuned" or setting.task in PAPER:
        return preset(setting.task, setting.recipe)
    tuned = preset(setting.task)
    agent = dataclasses.replace(tuned.agent, gradient_clip=None)
    return dataclasses.replace(tuned, agent=agent, outer=OuterConfig(window=tuned.outer.window))


def count_matmul_flops(jaxpr: Any, num_chunks: int) -> float:
    """Returns the flops of all matmuls and convolutions in a jaxpr: loops by their length, one device's share.

    A loop of unknown length is the one over chunks of lifetimes; that over newborn lifetimes is counted alike, as if
    there were one for each chunk. What nobody uses is left out, as XLA leaves it out.
    """
    total = 0.0
    for equation in _used_equations(jaxpr):
        name, params = equation.primitive.name, equation.params
        if name == "dot_general":
            (contracting, _), _ = params["dimension_numbers"]
            shape = equation.invars[0].aval.shape
            inner = 1
            for axis in contracting:
                inner *= shape[axis]
            total += 2.0 * inner * equation.outvars[0].aval.size
        elif name == "conv_general_dilated":
            kernel = equation.invars[1].aval
            numbers = params["dimension_numbers"].rhs_spec
            total += 2.0 * equation.outvars[0].aval.size * kernel.size / kernel.shape[numbers[0]]
        else:
            repeats = {"scan": params.get("length", 1), "while": num_chunks}.get(name, 1)
            num_inner = 1 if name == "while" else num_chunks
            for value in params.values():
                for inner_jaxpr in value if isinstance(value, tuple | list) else (value,):
                    inner_jaxpr = getattr(inner_jaxpr, "jaxpr", inner_jaxpr)
                    if hasattr(inner_jaxpr, "eqns"):
                        total += repeats * count_matmul_flops(inner_jaxpr, num_inner)
    return total


def _used_equations(jaxpr: Any) -> list[Any]:
    """Returns the equations that the outputs of a jaxpr depend on, from the last to the first."""
    used, needed = [], {id(variable) for variable in jaxpr.outvars}
    for equation in reversed(jaxpr.eqns):
        if equation.effects or any(id(variable) in needed for variable in equation.outvars):
            used.append(equation)
            needed |= {id(variable) for variable in equation.invars}
    return used


def matmul_peak() -> float:
    """Returns the flops per second of one core's large float32 matmul, the best of a few tries."""
    import jax
    import jax.numpy as jnp

    size, best = 768, 0.0
    x = jnp.ones((size, size))
    multiply = jax.jit(lambda a: a @ a)
    multiply(x).block_until_ready()
    for _ in range(8):
        begun = time.process_time()
        multiply(x).block_until_ready()
        best = max(best, 2.0 * size**3 / max(time.process_time() - begun, 1e-9))
    return best


def peak_rss_mb() -> float:
    """Returns this process's largest resident size so far, MB."""
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale / 1e6


def say(message: dict[str, Any]) -> None:
    """Writes one line of JSON to the process that started this one."""
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    main()
