"""`orexis train`: a run folder from its first update to its last, through kills and resumes.

The run goes in strides of `log_every` updates. Between two strides, and only there, a row of
metrics is written, a checkpoint saved or the run stopped, so that a resumed run writes the
same rows and reaches the same bits as one that was never interrupted.
"""

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

import jax

from orexis.config import HARMLESS, RunConfig, differences, from_json, to_json
from orexis.meta.engine import Engine, TrainState, make_mesh
from orexis.runs import checkpoint, lock, signals
from orexis.runs.artefacts import write_artefact
from orexis.runs.errors import OK, BadDataError, UsageError
from orexis.runs.files import write_json
from orexis.runs.platform import versions
from orexis.runs.writers import MetricsFile, Reporter, Totals
from orexis.tasks.base import Task
from orexis.tasks.registry import make_task
from orexis.testing import check_task
from orexis.zoo.artefact import DamagedError, read_json

FORMAT_VERSION = 1


def train(run_dir: Path, config: RunConfig, resume: bool) -> int:
    """Trains until `config.updates` and returns the exit code: 0, or 75 or 130 when stopped by a signal.

    Raises CommandError for everything that can be said in one sentence.
    """
    task = checked_task(config.task)
    open_folder(run_dir, resume)
    with lock.hold(run_dir), signals.listening() as stop:
        remember_config(run_dir, config, resume)
        engine = Engine(task, config.meta, config.seed, make_mesh(_usable_devices(config.meta.lifetimes)))
        return _Run(run_dir, config, engine, stop).go()


def checked_task(name: str) -> Task:
    """Returns the task called `name`. Raises UsageError if there is none or it breaks the contract of a task."""
    try:
        task = make_task(name)
        check_task(task)
    except (ValueError, TypeError) as error:
        raise UsageError(f"task {name} cannot be used: {error}") from error
    return task


def open_folder(run_dir: Path, resume: bool) -> None:
    """Makes the run folder, or raises UsageError if it is in the way, in use or cannot be written to."""
    if run_dir.exists() and not run_dir.is_dir():
        raise UsageError(f"--run-dir {run_dir} is a file; name a folder")
    if not resume and (run_dir / "config.json").exists():
        raise UsageError(f"{run_dir} holds a run already; add --resume to go on with it, or choose another --run-dir")
    try:
        run_dir.mkdir(parents=True, exist_ok=True)
        probe = run_dir / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise UsageError(f"cannot write to {run_dir}: {error.strerror}; choose another --run-dir") from error


def read_config(run_dir: Path) -> RunConfig:
    """Returns the config of a run folder. Raises BadDataError if it is damaged or of another version."""
    path = run_dir / "config.json"
    try:
        data = read_json(path)
        version = data.pop("format_version", None)
        if version != FORMAT_VERSION:
            raise DamagedError(f"{path} has format version {version!r}; this Orexis reads {FORMAT_VERSION}")
        return from_json(RunConfig, data)
    except ValueError as error:
        raise BadDataError(f"the config of {run_dir} cannot be used: {error}") from error


def remember_config(run_dir: Path, config: RunConfig, resume: bool) -> None:
    """Writes config.json; on resume, first compares with the one there and refuses another experiment."""
    if resume and (run_dir / "config.json").exists():
        changed = [line for line in differences(read_config(run_dir), config) if line.split(":")[0] not in HARMLESS]
        if changed:
            raise UsageError(f"cannot resume {run_dir} with another config: {'; '.join(changed)}")
    write_json(run_dir / "config.json", {"format_version": FORMAT_VERSION, **to_json(config)})
    write_json(run_dir / "env.json", versions())


class _Run:
    """One process's part of a run."""

    def __init__(self, run_dir: Path, config: RunConfig, engine: Engine, stop: signals.StopRequest):
        self.run_dir, self.config, self.engine, self.stop = run_dir, config, engine, stop
        self.update, self.env_steps, self.wall_s, self.offset = 0, 0, 0.0, 0
        self.totals = Totals(config.meta.lifetimes)

    def go(self) -> int:
        warnings: list[str] = []
        state = self._load(warnings.append)
        with contextlib.closing(Reporter(self.run_dir / "log.txt", self.config.updates, self.update)) as report:
            for warning in warnings:
                report.say(f"warning: {warning}")
            if self.update >= self.config.updates:
                report.say(f"{self.run_dir} has {self.update} updates already: nothing to do")
                return OK
            report.say(
                f"{'resuming' if self.update else 'starting'} {self.config.task} at update {self.update} of "
                f"{self.config.updates}, {self.config.meta.lifetimes} lifetimes on {self.engine.mesh.size} devices, "
                f"in {self.run_dir}"
            )
            return self._train(state, report)

    def _load(self, warn: Callable[[str], None]) -> TrainState | None:
        """Returns the newest good state, or None to begin at the beginning."""
        template = jax.eval_shape(self.engine.init)
        loaded = checkpoint.load_latest(self.run_dir / "checkpoints", template, warn)
        if loaded is None:
            return None
        state, manifest = loaded
        try:
            self.update, self.env_steps, self.wall_s = (manifest[name] for name in ("step", "env_steps", "wall_s"))
            self.offset = manifest["metrics_bytes"]
            self.totals = Totals(self.config.meta.lifetimes, manifest["totals"])
        except (KeyError, TypeError) as error:
            raise BadDataError(f"the manifest of step {manifest.get('step')} lacks {error}") from error
        return jax.device_put(state, self.engine.shardings)

    def _train(self, state: TrainState | None, report: Reporter) -> int:
        def prepare():
            ready = self.engine.init() if state is None else state
            return ready, self.engine.compile_update().lower(ready).compile()

        current, compiled = signals.leave_at_once_during(self.stop, prepare)
        report.say("compiled; training")
        report.start_clock()
        self._clock = time.monotonic() - self.wall_s
        saved = self.update
        with contextlib.closing(MetricsFile(self.run_dir / "metrics.csv", self.offset)) as metrics_file:
            while self.update < self.config.updates and self.stop.code is None:
                current = self._stride(current, compiled, metrics_file, report)
                if self.update - saved >= self.config.checkpoint_every or self.update == self.config.updates:
                    self._save(current, metrics_file)
                    saved = self.update
            if saved != self.update:
                self._save(current, metrics_file)
            if self.totals.count:  # a row that a longer run would go on with: after the offset just saved
                metrics_file.append(self._row())
        if self.stop.code is not None and self.update < self.config.updates:
            report.say(f"stopped at update {self.update} and saved; go on with --resume --run-dir {self.run_dir}")
            return self.stop.code
        report.say(f"done: {self.update} updates, {self.env_steps} steps; the reward is in {self.run_dir / 'reward'}")
        return OK

    def _stride(self, state: TrainState, compiled, metrics_file: MetricsFile, report: Reporter) -> TrainState:
        """Returns the state after the updates to the next multiple of `log_every`, their row written."""
        every = self.config.log_every
        end = min(self.config.updates, (self.update // every + 1) * every)
        collected = []
        for _ in range(self.update, end):
            state, metrics = compiled(state)
            collected.append(metrics)
        for metrics in jax.device_get(collected):
            self.totals.add(metrics)
            self.env_steps += round(float(metrics.window.steps))
        self.update, self.wall_s = end, time.monotonic() - self._clock
        row = self._row()
        report.progress(self.update, row)
        if end % every == 0:
            metrics_file.append(row)
            self.totals = Totals(self.config.meta.lifetimes)
        return state

    def _row(self) -> dict[str, float]:
        return {"update": self.update, "env_steps": self.env_steps, "wall_s": self.wall_s, **self.totals.row()}

    def _save(self, state: TrainState, metrics_file: MetricsFile) -> None:
        """Writes a checkpoint, then refreshes the artefact from the same state."""
        config, meta = to_json(self.config), self.config.meta
        progress = {"env_steps": self.env_steps, "wall_s": self.wall_s}
        extra = {"metrics_bytes": metrics_file.offset(), "totals": self.totals.to_json()}
        manifest = {"config": config, "versions": versions(), **progress, **extra}
        checkpoint.save(self.run_dir / "checkpoints", self.update, jax.device_get(state), manifest)
        training = {"updates": self.update, "lifetimes": meta.lifetimes, "seed": self.config.seed, **progress}
        write_artefact(
            self.run_dir / "reward",
            self.config.task,
            self.engine.task.spec,
            meta.reward,
            state.learner.eta_average,
            {"config": config, "training": training, "versions": versions()},
        )


def _usable_devices(num_lifetimes: int) -> list[jax.Device]:
    """Returns the most devices that can share `num_lifetimes` equally."""
    devices = jax.devices()
    count = len(devices)
    while num_lifetimes % count:
        count -= 1
    return devices[:count]
