"""A run from its first update to its last, through kills and resumes.

The run goes in strides to the next multiple of `log_every` or `checkpoint_every` updates. Between
two strides a row of metrics is written, a checkpoint saved or the run stopped. A row that was begun
is kept in the checkpoint, so that a resumed run writes the same rows and reaches the same bits as
one that was never interrupted, on as many devices or with `deterministic`.
"""

import collections
import contextlib
import dataclasses
import hashlib
import json
import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
from rich.console import Console

from orexis.config import RunConfig, from_json, to_json
from orexis.meta.engine import Engine, TrainState, UpdateMetrics, count_shares, make_mesh, split_calls
from orexis.meta.learner import Learner
from orexis.networks.egocentric import check_view
from orexis.runs import checkpoint, distributed, signals
from orexis.runs.artefacts import write_artefact
from orexis.runs.errors import OK, BadDataError, MachineError, UsageError
from orexis.runs.folder import CHECKPOINTS, LOG, METRICS, REWARD, refuse_another
from orexis.runs.platform import spare_collector, versions
from orexis.runs.writers import MetricsFile, Reporter, Totals
from orexis.tasks.base import Task
from orexis.tasks.registry import make_task
from orexis.testing import check_task
from orexis.zoo.artefact import DamagedError, read_artefact

PATIENCE = 10
"""Updates in a row that may be skipped because something is not finite: with so many behind it, a run that
has to decide whether to make another call stops."""
AHEAD = 2
"""Calls that are handed to the devices before the first of them must be over: keeps them busy, stops promptly."""


def make_engine(config: RunConfig) -> Engine:
    """Returns the engine of a run on the devices there are. Raises UsageError if its task cannot be used."""
    try:
        task: Task = make_task(config.task)
        check_task(task)
        check_view(task.spec, config.meta.reward)
    except (ValueError, TypeError) as error:
        raise UsageError(f"task {config.task} cannot be used: {error}") from error
    mesh = make_mesh(usable_devices(config.meta.lifetimes, config.deterministic, jax.process_count()))
    return Engine(task, config.meta, config.seed, mesh, engine=config.engine, deterministic=config.deterministic)


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
    """Raises UsageError if the state alone is more than this machine's memory: better now than in an hour."""
    needed = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(template))
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > there:
        raise UsageError(
            f"the lifetimes alone would take {needed / 1e9:.3g} GB of memory and this machine has {there / 1e9:.3g}; "
            "use fewer --lifetimes or smaller networks"
        )


@dataclasses.dataclass
class Progress:
    """How far a run is: what a checkpoint keeps beside the training state."""

    totals: Totals  # of the row of metrics that was begun
    step: int = 0  # updates done
    env_steps: int = 0
    wall_s: float = 0.0
    metrics_bytes: int = 0  # length of metrics.csv
    skipped_in_a_row: int = 0

    @classmethod
    def from_manifest(cls, manifest: dict[str, Any], num_lifetimes: int) -> "Progress":
        """Returns the progress that a manifest tells. Raises BadDataError if it does not."""
        fields = {"step": int, "env_steps": int, "wall_s": float, "metrics_bytes": int, "skipped_in_a_row": int}
        told = {"skipped_in_a_row": 0, **manifest}  # format 1 did not count them
        try:
            for name, kind in fields.items():
                if type(told.get(name)) is not kind or not 0 <= told[name] < math.inf:
                    raise ValueError(f"{name} must be {kind.__name__} and not negative, not {told.get(name)!r}")
            totals = Totals(num_lifetimes, told.get("totals"))
        except ValueError as error:
            raise BadDataError(f"the manifest of step {manifest.get('step')} cannot be used: {error}") from error
        return cls(totals=totals, **{name: told[name] for name in fields})

    def to_manifest(self) -> dict[str, Any]:
        """Returns what the manifest is to tell, but for the step."""
        return {
            "env_steps": self.env_steps,
            "wall_s": self.wall_s,
            "metrics_bytes": self.metrics_bytes,
            "skipped_in_a_row": self.skipped_in_a_row,
            "totals": self.totals.to_json(),
        }

    def count(self, metrics: UpdateMetrics) -> None:
        """Counts one update."""
        self.step += 1
        self.env_steps += round(float(metrics.window.steps))
        self.skipped_in_a_row = self.skipped_in_a_row + 1 if metrics.skipped else 0
        self.totals.add(metrics)

    def row(self) -> dict[str, float]:
        return {"update": self.step, "env_steps": self.env_steps, "wall_s": self.wall_s, **self.totals.row()}


class Run:
    """One process's part of a run."""

    def __init__(self, run_dir: Path, config: RunConfig, engine: Engine, stop: signals.StopRequest):
        self.run_dir, self.config, self.engine, self.stop = run_dir, config, engine, stop
        self.progress = Progress(Totals(config.meta.lifetimes))
        self._latest: UpdateMetrics | None = None
        self._saving_s = 0.0  # spent saving, by this process

    def go(self) -> int:
        """Trains to the end and returns the exit code. Raises CommandError; whatever was saved stays good."""
        warnings: list[str] = []
        try:
            state = self._load(warnings.append)
            updates, done = self.config.updates, self.progress.step
            console = None if distributed.is_first() else Console(quiet=True)
            with contextlib.closing(Reporter(self.run_dir / LOG, updates, done, console)) as report:
                for warning in warnings:
                    report.say(f"warning: {warning}")
                if state is not None and distributed.is_first() and not self._artefact_is_of_this_step():
                    self._write_artefact(jax.device_get(state.learner))  # the kill came between checkpoint and artefact
                if done >= updates:
                    with contextlib.closing(self._open_metrics(report)) as metrics_file:
                        self._finish_row(metrics_file)
                    report.say(f"{self.run_dir} has {done} updates already: nothing to do")
                    return OK
                report.say(
                    f"{'resuming' if done else 'starting'} {self.config.task} at update {done} of {updates}, "
                    f"{self.config.meta.lifetimes} lifetimes on {self.engine.mesh.size} devices, in {self.run_dir}"
                )
                return self._train(state, report)
        except OSError as error:
            left = checkpoint.steps(self.run_dir / CHECKPOINTS)
            kept = f"the checkpoint of update {left[-1]} is untouched" if left else "no checkpoint was written yet"
            raise MachineError(
                f"cannot write to {self.run_dir}: {error.strerror or error}; {kept}: "
                f"make room, then go on with --resume --run-dir {self.run_dir}"
            ) from error

    def _load(self, warn: Callable[[str], None]) -> TrainState | None:
        """Returns the newest good state, or None to begin at the beginning."""
        template = jax.eval_shape(self.engine.init)
        checkpoint.check_template(template)
        refuse_too_large(template)
        loaded = checkpoint.load_latest(self.run_dir / CHECKPOINTS, template, warn) if distributed.is_first() else None
        state, manifest = distributed.share(loaded or (None, {}), template)
        if state is None:
            return None
        try:
            trained_with = from_json(RunConfig, manifest.get("config"))
        except ValueError as error:
            raise BadDataError(f"the manifest of step {manifest['step']} cannot be used: {error}") from error
        refuse_another(self.run_dir, trained_with, self.config)
        self.progress = Progress.from_manifest(manifest, self.config.meta.lifetimes)
        before, now = manifest.get("devices"), self.engine.mesh.size
        if before not in (None, now) and not self.config.deterministic:
            warn(f"trained on {before} devices so far and on {now} from here: equal to rounding, not to the bit")
        return distributed.place(state, self.engine.shardings)

    def _train(self, state: TrainState | None, report: Reporter) -> int:
        def prepare():
            ready = self.engine.init() if state is None else state
            return ready, self.engine.compile_updates().lower(ready, np.int32(1)).compile()

        current, compiled = signals.hearing(prepare)
        spare_collector()
        self.stop.will_save = True
        report.say("compiled; training")
        report.start_clock()
        start = time.monotonic()
        self._clock = start - self.progress.wall_s
        updates, saved = self.config.updates, self.progress.step
        with contextlib.closing(self._open_metrics(report)) as metrics_file:
            while self.progress.step < updates and not self._gave_up():
                # Not kept in `stop`: a signal that comes while they agree is for the next time.
                code = distributed.agree(self.stop.code)
                if code is not None:
                    break
                current = self._stride(current, compiled)
                self._write_row(metrics_file, report)
                if self.progress.step % self.config.checkpoint_every == 0:
                    saved = self._save(current, metrics_file)
            if saved != self.progress.step:
                self._save(current, metrics_file)
            self._finish_row(metrics_file)
        report.say(f"saving took {self._saving_s:.3g} s of {time.monotonic() - start:.4g} s of training")
        if self._gave_up():
            raise BadDataError(self._say_what_was_not_finite())
        if self.progress.step < updates:
            assert code is not None
            done = self.progress.step
            report.say(f"stopped at update {done} and saved; go on with --resume --run-dir {self.run_dir}")
            return code
        report.say(
            f"done: {updates} updates, {self.progress.env_steps} steps; the reward is in {self.run_dir / REWARD}"
        )
        return OK

    def _gave_up(self) -> bool:
        return self.progress.skipped_in_a_row >= PATIENCE

    def _stride(self, state: TrainState, compiled) -> TrainState:
        """Returns the state after the updates to the next row or checkpoint, or fewer if the run is to stop."""
        intervals = (self.config.log_every, self.config.checkpoint_every)
        end = min(self.config.updates, *((self.progress.step // every + 1) * every for every in intervals))
        waiting: collections.deque[tuple[int, UpdateMetrics]] = collections.deque()
        for number in split_calls(end - self.progress.step, self.engine.at_once):
            state, metrics = compiled(state, np.int32(number))
            waiting.append((number, metrics))
            if len(waiting) >= AHEAD:
                self._count(*waiting.popleft())
            alone = jax.process_count() == 1  # several stop between strides, when all know
            if (alone and self.stop.code is not None) or self._gave_up():
                break
        for number, metrics in waiting:
            self._count(number, metrics)
        self.progress.wall_s = time.monotonic() - self._clock
        return state

    def _count(self, number: int, metrics: UpdateMetrics) -> None:
        """Waits until so many updates are over and counts them."""
        rows = jax.device_get(metrics)
        for i in range(number):
            self._latest = jax.tree.map(lambda x, i=i: x[i], rows)
            self.progress.count(self._latest)

    def _write_row(self, metrics_file: MetricsFile, report: Reporter) -> None:
        """Shows how it goes; writes the row of metrics if it is whole."""
        row = self.progress.row()
        report.progress(self.progress.step, row)
        if self.progress.step % self.config.log_every == 0:
            metrics_file.append(row)
            self.progress.totals = Totals(self.config.meta.lifetimes)

    def _finish_row(self, metrics_file: MetricsFile) -> None:
        """Writes the row that was begun, after the offset just saved: a run that goes on will overwrite it."""
        if self.progress.totals.count:
            metrics_file.append(self.progress.row())

    def _open_metrics(self, report: Reporter) -> MetricsFile:
        return MetricsFile(
            self.run_dir / METRICS, self.progress.metrics_bytes, lambda message: report.say(f"warning: {message}")
        )

    def _save(self, state: TrainState, metrics_file: MetricsFile) -> int:
        """Writes a checkpoint, then the artefact from the same state; returns the step."""
        jax.block_until_ready(state)  # training still under way is not counted as saving
        start = time.monotonic()
        whole = distributed.gather(state, self.engine.mesh)
        if not distributed.is_first():
            return self.progress.step
        self.progress.metrics_bytes = metrics_file.offset()
        config = to_json(self.config)
        digest = hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()
        about = {"config": config, "config_sha256": digest, "versions": versions(), "devices": self.engine.mesh.size}
        checkpoint.save(
            self.run_dir / CHECKPOINTS,
            self.progress.step,
            whole,
            {**about, **self.progress.to_manifest()},
        )
        self._write_artefact(whole.learner)
        self._saving_s += time.monotonic() - start
        return self.progress.step

    def _write_artefact(self, learner: Learner) -> None:
        meta, progress = self.config.meta, self.progress
        training = {
            "updates": progress.step,
            "lifetimes": meta.lifetimes,
            "seed": self.config.seed,
            "env_steps": progress.env_steps,
            "wall_s": progress.wall_s,
        }
        write_artefact(
            self.run_dir / REWARD,
            self.config.task,
            self.engine.task.spec,
            meta.reward,
            learner.eta_average,
            {"config": to_json(self.config), "training": training, "versions": versions()},
        )

    def _artefact_is_of_this_step(self) -> bool:
        try:
            training = read_artefact(self.run_dir / REWARD).record.get("training")
        except (DamagedError, FileNotFoundError):
            return False
        return isinstance(training, dict) and training.get("updates") == self.progress.step

    def _say_what_was_not_finite(self) -> str:
        latest = self._latest
        assert latest is not None
        return (
            "the meta-gradient, or the learner itself, was not finite in "
            f"{self.progress.skipped_in_a_row} updates in a row, up to update {self.progress.step} "
            f"(norm of eta's {latest.eta_gradient_norm}, of phi's {latest.phi_gradient_norm}; "
            f"{round(float(latest.dropped))} of {self.config.meta.lifetimes} lifetimes were not finite themselves); "
            f"eta and phi are as the last good update left them and saved as such in {self.run_dir}: "
            "try smaller learning rates or another seed"
        )
