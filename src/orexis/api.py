"""Training and evaluating from Python: what `orexis train` and `orexis evaluate` do, with the same defaults.

`import orexis` offers these functions as `orexis.train` and `orexis.evaluate`. JAX is set up and imported when one is
called, after everything that can be refused has been.
"""

import dataclasses
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from orexis.agents.registry import LEARNERS
from orexis.config import Learn, MetaConfig, RunConfig
from orexis.errors import UsageError, check_numbers
from orexis.evaluation.sources import check_source_name
from orexis.presets import EVALUATION_LIFETIMES, VALIDATE_EVERY, check_task_name, preset, training_episodes
from orexis.training.folder import BEST, CHECKPOINTS, POLICY, REWARD, check_beginning
from orexis.training.logs.tensorboard import Log, require_log
from orexis.training.signals import Callbacks

if TYPE_CHECKING:
    from orexis.evaluation.lifetimes import Trace
    from orexis.evaluation.table import SourceTable

Recipe = Literal["tuned", "paper"]


@dataclasses.dataclass(frozen=True)
class TrainedRun:
    """What `train` returns: the run folder, and how far the run is."""

    run_dir: Path
    updates: int  # of the reward, done so far
    finished: bool  # whether those are all that were asked for; else it was stopped, or has collapsed

    @property
    def reward(self) -> Path:
        """The folder of the reward as the last update left it: for `evaluate` and `load_reward`."""
        return self.run_dir / REWARD

    @property
    def policy(self) -> Path:
        """The same of a run that learned a policy: for `evaluate`."""
        return self.run_dir / POLICY

    @property
    def best(self) -> Path | None:
        """The folder of the reward or policy that validated best; None where there was no validation."""
        return self.run_dir / BEST if (self.run_dir / BEST).is_dir() else None


def train(
    task: str,
    updates: int = RunConfig.updates,
    seed: int = RunConfig.seed,
    run_dir: str | Path | None = None,
    *,
    recipe: Recipe = "tuned",
    learn: Learn = "reward",
    meta: MetaConfig | None = None,
    resume: bool = False,
    devices: int | None = None,
    log: Log | None = None,
    on_row: Callable[[dict[str, float]], None] = Callbacks.on_row,
    on_checkpoint: Callable[[Path, int], None] = Callbacks.on_checkpoint,
    should_stop: Callable[[dict[str, float]], bool] = Callbacks.should_stop,
    verbose: bool = True,
    **settings: Any,
) -> TrainedRun:
    """Returns the run that meta-learned an intrinsic reward, or a policy, on `task`, as `orexis train` does.

    task: a name from `orexis tasks`, or `module:Class` for your own.
    updates: of what is learned in total; a resumed run goes on to here.
    run_dir: the run folder; by default runs/TASK-seedS, of a policy runs/TASK-LEARN-seedS.
    recipe, learn, meta: the settings of agent, reward network and meta-learner, and what is learned: those of
        `preset(task, recipe, learn)`, or `meta`.
    resume: go on with the run in the folder, which must have been trained with the same settings.
    devices: CPU devices to use, one a core by default; without effect once JAX has made its devices.
    log: "tensorboard" also writes the rows as events into `tensorboard/` of the run folder, see docs/reference/logs.md.
    on_row: is given each row of metrics.csv when it is written (docs/reference/metrics.md), NaN where a cell is empty.
    on_checkpoint: is given the folder of each checkpoint when it is written, and the updates done.
    should_stop: is given each whole row; True saves the run and ends it.
    verbose: show progress; log.txt in the run folder has it anyway.
    settings: more fields of `RunConfig`: checkpoint_every, log_every, episodes, validate_every, begin_with, ….

    Ctrl-C saves the run and then raises KeyboardInterrupt. Raises ValueError for a bad setting and
    `orexis.errors.CommandError` for what the command would refuse or fail at.
    """
    config = make_config(task, recipe, meta, learn, updates=updates, seed=seed, **settings)
    if devices is not None and devices < 1:
        raise ValueError(f"devices must be at least 1, not {devices}")
    if run_dir == "":
        raise ValueError("run_dir is empty; name a folder")
    if config.begin_with is not None and not resume:
        check_beginning(config.begin_with)
    require_log(log)
    folder = default_run_dir(task, seed, config.meta.learn) if run_dir is None else Path(run_dir)
    from orexis.training.train import train_here

    callbacks = Callbacks(on_row=on_row, on_checkpoint=on_checkpoint, should_stop=should_stop)
    train_here(folder, config, resume, devices, callbacks, verbose, log)
    from orexis.storage.checkpoint import steps

    done = steps(folder / CHECKPOINTS)[-1]  # a run that ends is saved
    return TrainedRun(folder, done, finished=done >= updates)


def make_config(
    task: str, recipe: str = "tuned", meta: MetaConfig | None = None, learn: Learn = "reward", **settings: Any
) -> RunConfig:
    """Returns the config of a run on `task`, all that is not in `settings` as `orexis train` has it by default.

    Raises ValueError for a name that can be no task's, a recipe that the task does not have, or a bad value.
    """
    check_task_name(task)
    defaults = {"episodes": training_episodes(task, recipe), "validate_every": VALIDATE_EVERY}
    meta = preset(task, recipe, learn) if meta is None else meta
    return RunConfig(**{**defaults, **settings, "task": task, "recipe": recipe, "meta": meta})


def default_run_dir(task: str, seed: int, learn: Learn = "reward") -> Path:
    """Returns where a run goes that does not say where: runs/TASK-seedS, of a policy runs/TASK-LEARN-seedS."""
    called = file_name(task) if learn == "reward" else f"{file_name(task)}-{learn}"
    return Path("runs") / f"{called}-seed{seed}"


def file_name(task: str) -> str:
    """Returns a task's name as a file may be called: letters that have a meaning in paths replaced."""
    return "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in task)


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """What `evaluate` returns: a table for each source, all of the same lifetimes."""

    tables: "tuple[SourceTable, ...]"  # in the order of the sources
    traces: "dict[str, Trace]"  # every step, by source; {} where they were not asked for
    agent: str
    actions: str

    @property
    def summary(self) -> dict[str, Any]:
        """What `orexis evaluate --json` writes: means and 95 % intervals, and how the sources compare, see
        docs/reference/evaluation.md."""
        from orexis.evaluation.scores import as_json

        return {**as_json(list(self.tables)), "actions": self.actions, "agent": self.agent}


def evaluate(
    sources: str | Path | Sequence[str | Path],
    task: str | None = None,
    lifetimes: int = EVALUATION_LIFETIMES,
    seed: int = 0,
    *,
    agent: str = "actor-critic",
    recipe: Recipe | None = None,
    episodes: int | None = None,
    actions: Literal["normal", "permuted", "extended"] = "normal",
    traced: bool = False,
    cache: Path | None = None,
    fresh: bool = False,
    verbose: bool = True,
) -> Evaluation:
    """Returns what fresh agents collect in whole lifetimes under each source, as `orexis evaluate` does.

    sources: shipped rewards, run folders, reward folders, or baselines such as "extrinsic-ep"; all of them meet the
        same tasks, the same initial agents and the same random numbers.
    task: a name, or `module:Class`; by default the task that the rewards were learned on.
    lifetimes, seed: how many, and which: lifetime i of a seed is always the same one.
    agent: who learns from what the sources pay.
    recipe: whose settings the agents have; by default those that the rewards were trained with, else the tuned ones.
    episodes: of a lifetime; by default the task's own.
    actions: as trained; reversed; or with four diagonals more.
    traced: keep every step too.
    cache: a folder of tables and traces to reuse and to add to, by default in the user's cache folder. fresh: use none.
    verbose: show progress on stderr.

    Raises `orexis.errors.CommandError` for what the command would refuse.
    """
    names = [os.fspath(source) for source in ([sources] if isinstance(sources, str | os.PathLike) else sources)]
    if not names:
        raise UsageError("name at least one source, for example extrinsic-ep")
    if len(set(names)) != len(names):
        raise UsageError("a source is named twice")
    for name in names:
        check_source_name(name)
    check_numbers(lifetimes, seed)
    if agent not in LEARNERS:
        raise UsageError(f"agents that learn are {', '.join(LEARNERS)}, not {agent!r}")
    from orexis.platform import prepare_jax

    prepare_jax()
    from orexis.evaluation.cache import default_folder
    from orexis.evaluation.evaluate import Plan, evaluate_all, settle
    from orexis.evaluation.progress import progress_bars

    setting = settle(names, task, actions, agent, episodes, recipe)
    plan = Plan(lifetimes, seed, traced, None if fresh else cache or default_folder())
    if verbose:
        with progress_bars(setting.task_name, lifetimes) as on_progress:
            tables, traces = evaluate_all(names, setting, dataclasses.replace(plan, on_progress=on_progress))
    else:
        tables, traces = evaluate_all(names, setting, plan)
    return Evaluation(tuple(tables), traces, agent, actions)
