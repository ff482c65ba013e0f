"""How far an evaluation is: a bar for each source on a terminal's stderr, a line for each elsewhere."""

import contextlib
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


@contextlib.contextmanager
def progress_bars(task_name: str, num_lifetimes: int, console: Console | None = None) -> Iterator[Callable]:
    """Gives the block a function `tell(source, num_done)`, with 0 when a source begins; shows what it is told."""
    console = console or Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        bars = {}

        def on_progress(source: str, num_done: int) -> None:
            if source not in bars:
                bars[source] = progress.add_task(f"{task_name}: {source}", total=num_lifetimes)
                if not console.is_terminal:
                    console.print(f"evaluating {source}: {num_lifetimes} lifetimes of {task_name}")
            progress.update(bars[source], completed=num_done)

        yield on_progress
