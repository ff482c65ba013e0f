"""`--log tensorboard`: the rows of metrics.csv as events in `tensorboard/` of the run folder.

The events are a function of the file: whenever a run begins or goes on, with metrics.csv cut to what its checkpoint
has seen, they are written anew from it, so that no event is there twice, torn, or of updates that were undone.
"""

import contextlib
import dataclasses
import importlib.util
import math
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

from orexis.errors import UsageError
from orexis.training.columns import COLUMNS, read_metrics
from orexis.training.signals import Callbacks

Log: TypeAlias = Literal["tensorboard"]
FOLDER = "tensorboard"
_DRAWN = tuple(column for column in COLUMNS if column.heading)


def require_log(log: Log | None) -> None:
    """Raises UsageError if what `log` needs is not installed."""
    if log is not None and importlib.util.find_spec("tensorboardX") is None:
        raise UsageError("--log tensorboard needs tensorboardX, which is not installed: pip install tensorboardX")


@contextlib.contextmanager
def logging_to(log: Log | None, run_dir: Path, callbacks: Callbacks) -> Iterator[Callbacks]:
    """Gives callbacks that also write to `log`, if there is one, and then call the given ones."""
    if log is None:
        yield callbacks
        return
    with contextlib.closing(EventLog(run_dir / FOLDER)) as events:
        yield dataclasses.replace(
            callbacks,
            on_begin=_both(events.begin, callbacks.on_begin),
            on_row=_both(events.append, callbacks.on_row),
        )


def _both(first: Callable[[Any], None], second: Callable[[Any], None]) -> Callable[[Any], None]:
    def call(told: Any) -> None:
        first(told)
        second(told)

    return call


class EventLog:
    """The events of one run, an event a row. Written at once and by this thread: a signal leaves nothing behind."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._writer: Any = None
        self._origin = 0.0  # the clock of the events: seconds of training after this

    def begin(self, metrics: Path) -> None:
        """Writes the rows that are in the file `metrics` in place of all events that were there before."""
        from tensorboardX.event_file_writer import EventsWriter
        from tensorboardX.proto.event_pb2 import Event, SessionLog

        self.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        columns = read_metrics(metrics)
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        self._origin = time.time() - (rows[-1]["wall_s"] if rows else 0.0)
        self._writer = EventsWriter(str(self._folder / "events"))
        # A TensorBoard that watches drops what it has read before.
        start = SessionLog(status=SessionLog.START)
        self._writer.write_event(Event(wall_time=self._origin, step=0, session_log=start))
        for row in rows:
            self._write(row)
        self._writer.flush()

    def append(self, row: Mapping[str, float]) -> None:
        """Adds a row of metrics.csv."""
        self._write(row)
        self._writer.flush()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _write(self, row: Mapping[str, float]) -> None:
        from tensorboardX.proto.event_pb2 import Event
        from tensorboardX.proto.summary_pb2 import Summary, SummaryMetadata

        values = []
        for column in _DRAWN:
            value = row.get(column.name, math.nan)
            if math.isfinite(value):
                about = SummaryMetadata(
                    display_name=column.name,
                    summary_description=f"{column.meaning}. Healthy: {column.healthy}" * bool(column.healthy)
                    or column.meaning,
                    plugin_data=SummaryMetadata.PluginData(plugin_name="scalars"),
                )
                shown = float(f"{value:.6g}")  # as metrics.csv has it: the same whether written now or read back later
                values.append(Summary.Value(tag=tag_of(column.name), simple_value=shown, metadata=about))
        at = self._origin + row["wall_s"]
        self._writer.write_event(Event(wall_time=at, step=int(row["update"]), summary=Summary(value=values)))


def tag_of(column: str) -> str:
    """Returns what TensorBoard calls a column: its part before the slash groups them."""
    return f"{'validation' if column.startswith('validation') else 'training'}/{column}"
