"""A run from its first update to its last, through kills and resumes.

The run goes in strides to the next multiple of `log_every`, `checkpoint_every` or `validate_every` updates. Between
two strides the averaged reward or policy is validated, a row of metrics written, a checkpoint saved or the run
stopped. A row that was begun and a validation that is owed are kept in the checkpoint, so that a resumed run writes the
same rows and reaches the same bits as one that was never interrupted, on as many devices or with `deterministic`.
"""

import collections
import contextlib
import dataclasses
import functools
import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np
from rich.console import Console

from orexis.config import RunConfig
from orexis.config_json import to_json
from orexis.errors import OK, BadDataError, MachineError
from orexis.meta.chunks import split_calls
from orexis.meta.engine import Engine, make_mesh
from orexis.meta.learner import Learner
from orexis.meta.state import TrainState, UpdateMetrics
from orexis.platform import freeze_gc, versions
from orexis.storage import checkpoint
from orexis.training import distributed, learners, signals
from orexis.training.choosing.selection import Chooser
from orexis.training.folder import BEST, CHECKPOINTS, LOG, METRICS
from orexis.training.logs import lines
from orexis.training.outputs import Outputs
from orexis.training.progress import Progress, say_what_changed
from orexis.training.resume import choose
from orexis.training.setup import refuse_too_large, warn_of_compiling
from orexis.training.writers import MetricsFile, Reporter, Totals

PATIENCE = 10
"""Updates in a row that may be skipped because something is not finite: with so many behind it, a run that
has to decide whether to make another call stops."""
COLLAPSED = 256
"""What processes tell each other when a run is to end because it has collapsed: no exit code, that is 0."""
ASKED = 257
"""Likewise when the caller's `should_stop` said so: saved, and the exit code is 0."""
AHEAD = 2
"""Calls that are handed to the devices before the first of them must be over: keeps them busy, stops promptly."""


class Run:
    """One process's part of a run."""

    def __init__(
        self,
        run_dir: Path,
        config: RunConfig,
        engine: Engine,
        stop: signals.StopRequest,
        callbacks: signals.Callbacks = signals.NOBODY,
        verbose: bool = True,
        resume: bool = False,
    ):
        self.run_dir, self.config, self.engine, self.stop = run_dir, config, engine, stop
        self._callbacks, self._verbose, self._resume = callbacks, verbose, resume
        self._asked = False  # by the callbacks, to stop
        self.progress = Progress(Totals(config.meta.lifetimes))
        self._latest: UpdateMetrics | None = None
        self._outputs = Outputs(run_dir, config, engine.task.spec)
        self._chooser = Chooser(config, engine.task, self._outputs)
        self._beginning: dict[str, np.ndarray] = {}  # of the learner, where another one was begun with
        self._saving_s = 0.0  # spent saving, by this process

    def go(self) -> int:
        """Trains to the end and returns the exit code. Raises CommandError; whatever was saved stays good."""
        warnings: list[str] = []
        try:
            state = self._load(warnings.append)
            updates, done = self.config.updates, self.progress.step
            console = None if self._verbose and distributed.is_first() else Console(quiet=True)
            with contextlib.closing(Reporter(self.run_dir / LOG, updates, done, console)) as report:
                for warning in warnings:
                    report.log(f"warning: {warning}")
                if state is not None and distributed.is_first() and not self._outputs.are_of(done):
                    self._outputs.write(jax.device_get(state.learner), self.progress)  # the kill came before it
                if done >= updates and not self.progress.best.owed:
                    with contextlib.closing(self._open_metrics(report)) as metrics_file:
                        self._finish_row(metrics_file)
                    report.log(f"{self.run_dir} has {done} updates already: nothing to do")
                    return OK
                if self._chooser.must_end(self.progress):
                    report.log(self._chooser.farewell(self.progress))
                    return OK
                for warning in (*self._chooser.warnings(), *warn_of_compiling(self.config)):
                    report.log(f"warning: {warning}")
                for line in lines.opening(
                    self.config, self.engine.task.spec, done, self.engine.mesh.size, self.run_dir
                ):
                    report.log(line)
                return self._train(state, report)
        except OSError as error:
            left = checkpoint.steps(self.run_dir / CHECKPOINTS)
            kept = f"the checkpoint of update {left[-1]} is untouched" if left else "no checkpoint was written yet"
            raise MachineError(
                f"cannot write to {self.run_dir}: {error.strerror or error}; {kept}: "
                f"make room, then go on with --resume and the same options, in {self.run_dir}"
            ) from error

    def _load(self, warn: Callable[[str], None]) -> TrainState | None:
        """Returns the newest good state, or None to begin at the beginning."""
        template = jax.eval_shape(self.engine.init)
        checkpoint.check_template(template)
        refuse_too_large(template)
        loaded = None
        if distributed.is_first():
            look = functools.partial(choose, self.run_dir, self.config)
            loaded = checkpoint.load_latest(self.run_dir / CHECKPOINTS, template, warn, self._make_fresh, look)
        state, manifest = distributed.share(loaded or (None, {}), template)
        if state is None:
            if self._resume:
                warn(f"there is nothing to resume in {self.run_dir}: this is a new run, from the beginning")
            self._read_beginning(template.learner, warn)
            return None
        self.progress = Progress.from_manifest(manifest, self.config.meta.lifetimes)
        for sentence in say_what_changed(manifest, self.engine.mesh.size, self.config.deterministic):
            warn(sentence)
        if distributed.is_first() and self.progress.best.update is not None and not self._outputs.has_best():
            warn(f"{BEST}/ is lost: from here on the next validation counts as the best")
            self.progress.best.forget()
        return distributed.place(state, self.engine.shardings)

    def _make_fresh(self) -> TrainState:
        """Returns the state before the first update, made by this process alone."""
        return dataclasses.replace(self.engine, mesh=make_mesh(jax.local_devices()[:1])).init()

    def _read_beginning(self, template: Learner, warn: Callable[[str], None]) -> None:
        """Reads what `begin_with` names, if anything. Raises CommandError where that cannot be begun with."""
        if self.config.begin_with is None or not distributed.is_first():
            return
        beginning = learners.read_beginning(self.config.begin_with)
        self._beginning, sentences = learners.fit(template, beginning)
        self.progress.begun_with = beginning.about()
        self.progress.stages = beginning.stages
        for sentence in sentences:
            warn(sentence)

    def _begin(self) -> TrainState:
        """Returns the state before the first update, its learner the one that was begun with."""
        state = self.engine.init()
        if self.config.begin_with is None:
            return state
        fresh = distributed.gather(state.learner, self.engine.mesh)
        learner, _ = distributed.share((learners.merge(fresh, self._beginning), {}), fresh)
        return dataclasses.replace(state, learner=distributed.place(learner, self.engine.shardings.learner))

    def _train(self, state: TrainState | None, report: Reporter) -> int:
        def prepare():
            ready = self._begin() if state is None else state
            self._chooser.prepare(self.progress, ready.learner.eta_average)
            return ready, self.engine.compile_updates().lower(ready, np.int32(1)).compile()

        current, compiled = signals.run_interruptible(prepare)
        freeze_gc()
        self.stop.will_save = True
        report.log("compiled; training")
        report.start_clock()
        start = time.monotonic()
        self._clock = start - self.progress.wall_s
        updates, saved = self.config.updates, self.progress.step
        code: int | None = None
        with contextlib.closing(self._open_metrics(report)) as metrics_file:
            while (self.progress.step < updates or self.progress.best.owed) and not self._gave_up():
                # Not kept in `stop`: a signal that comes while they agree is for the next time.
                code = distributed.agree(ASKED if self._asked else self.stop.code)
                if code is not None:
                    break
                if not self.progress.best.owed:
                    current = self._stride(current, compiled)
                if self.progress.best.owed and not self._gave_up():
                    self._validate(current.learner, report)
                    code = distributed.agree(COLLAPSED if self._chooser.must_end(self.progress) else self.stop.code)
                    if code is not None:
                        break
                self._write_row(metrics_file, report)
                if self.progress.step % self.config.checkpoint_every == 0:
                    saved = self._save(current, metrics_file)
            if saved != self.progress.step:
                self._save(current, metrics_file)
            self._finish_row(metrics_file)
        report.log(f"saving took {self._saving_s:.3g} s of {time.monotonic() - start:.4g} s of training")
        if self._gave_up():
            raise BadDataError(self._say_what_was_not_finite())
        if code == COLLAPSED:
            report.log(self._chooser.farewell(self.progress))
            return OK
        if self.progress.step < updates or self.progress.best.owed:
            assert code is not None
            report.log(lines.stopped(self.progress, self.run_dir))
            return OK if code == ASKED else code
        for line in lines.closing(self.config, self.progress, self.run_dir):
            report.log(line)
        return OK

    def _gave_up(self) -> bool:
        return self.progress.skipped_in_a_row >= PATIENCE

    def _stride(self, state: TrainState, compiled) -> TrainState:
        """Returns the state after the updates to the next row or checkpoint, or fewer if the run is to stop."""
        config = self.config
        intervals = (config.log_every, config.checkpoint_every, config.validate_every or config.updates)
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
        self.progress.best.owed = self._chooser.is_due(self.progress.step)
        return state

    def _validate(self, learner: Learner, report: Reporter) -> None:
        self._chooser.validate(learner, self.progress, report.log, lambda: self.stop.code is not None)
        self.progress.wall_s = time.monotonic() - self._clock

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
            self._callbacks.on_row(dict(row))
            self._asked = self._callbacks.should_stop(dict(row))
            self.progress.begin_row()
            for sentence in self.progress.health.look(row, self.config, self.engine.task.spec):
                report.log(f"warning: {sentence}")

    def _finish_row(self, metrics_file: MetricsFile) -> None:
        """Writes the row that was begun, after the offset just saved: a run that goes on will overwrite it."""
        if self.progress.totals.count:
            metrics_file.append(self.progress.row())
            self._callbacks.on_row(self.progress.row())

    def _open_metrics(self, report: Reporter) -> MetricsFile:
        path, known = self.run_dir / METRICS, (self.progress.metrics_bytes, self.progress.metrics_sha256)
        metrics_file = MetricsFile(path, *known, lambda said: report.log(f"warning: {said}"))
        self._callbacks.on_begin(path)
        return metrics_file

    def _save(self, state: TrainState, metrics_file: MetricsFile) -> int:
        """Writes a checkpoint, then the artefact from the same state; returns the step."""
        jax.block_until_ready(state)  # training still under way is not counted as saving
        start = time.monotonic()
        whole = distributed.gather(state, self.engine.mesh)
        if not distributed.is_first():
            return self.progress.step
        self.progress.metrics_bytes, self.progress.metrics_sha256 = metrics_file.offset(), metrics_file.sha256()
        config = to_json(self.config)
        digest = hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()
        about = {"config": config, "config_sha256": digest, "versions": versions(), "devices": self.engine.mesh.size}
        written = checkpoint.save(
            self.run_dir / CHECKPOINTS,
            self.progress.step,
            whole,
            {**about, **self.progress.to_manifest()},
        )
        self._outputs.write(whole.learner, self.progress)
        self._saving_s += time.monotonic() - start
        self._callbacks.on_checkpoint(written, self.progress.step)
        return self.progress.step

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
