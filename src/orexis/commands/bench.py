"""`orexis bench`."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from tyro.conf import Positional

from orexis.commands.checks import (
    require_file_places,
    require_task,
)
from orexis.errors import OK, UsageError

if TYPE_CHECKING:
    pass


@dataclasses.dataclass(frozen=True)
class Bench:
    """Measure the engine against the naive reference in one run, or the tasks alone, or a reward alone."""

    task: Positional[str] = "random-abc"
    lifetimes: int = 64
    """In parallel."""
    repeats: int = 5
    """Turns that engine and reference take."""
    tasks: bool = False
    """Measure the tasks alone, and their share of an update."""
    scaling: bool = False
    """Measure and draw updates of Random ABC as lifetimes, T, N and the grid grow."""
    picture: Path = Path("scaling.png")
    """Where --scaling draws."""
    reward: str | None = None
    """Measure this reward, a shipped name or a folder, in NumPy alone: steps a second and memory."""
    json: Path | None = None
    """Where to write the figures."""

    def run(self) -> int:
        require_task(self.task)
        require_file_places(self.json, self.picture if self.scaling else None)
        if self.lifetimes < 1 or self.repeats < 1:
            raise UsageError("--lifetimes and --repeats must be at least 1")
        if self.tasks:
            from orexis.platform import prepare_jax

            prepare_jax()
            from orexis.bench.tasks import bench_tasks, print_task_speeds

            result = bench_tasks()
            print_task_speeds(result)
        elif self.scaling:
            from orexis.bench.scaling import bench_scaling, print_scaling

            result = bench_scaling(self.picture, self.repeats)
            print_scaling(result)
        elif self.reward is not None:
            from orexis.bench.reward import bench_reward, print_reward_speed

            result = bench_reward(self.reward)
            print_reward_speed(result)
        else:
            from orexis.bench.compare import bench

            result = bench(self.task, self.lifetimes, self.repeats)
        if self.json is not None:
            from orexis.storage.files import write_json

            write_json(self.json, result)
        return OK
