"""`orexis train`."""

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, cast

from tyro.conf import Positional

from orexis.api import default_run_dir
from orexis.commands.checks import replace, require_task
from orexis.config import AgentConfig, HistoryNetConfig, Learn, MamlConfig, MetaConfig, OuterConfig, RunConfig
from orexis.errors import UsageError
from orexis.platform.processes import find_processes
from orexis.presets import VALIDATE_EVERY, preset, training_episodes
from orexis.training.folder import check_beginning, holds_run
from orexis.training.logs.tensorboard import require_log

ARRAY_TASK = "SLURM_ARRAY_TASK_ID"
"""The environment variable by which Slurm tells the tasks of an array apart."""


@dataclasses.dataclass(frozen=True)
class Train:
    """Meta-learn an intrinsic reward, or a policy, on a task distribution."""

    task: Positional[str]
    """A name from `orexis tasks`, or module:Class for your own."""
    learn: Learn = "reward"
    """A reward; or a policy that rivals it: rl2, with a memory over its lifetime, or maml, the initialisation of agents
    that learn by the extrinsic reward."""
    updates: int = RunConfig.updates
    """Updates of what is learned, in total; a resumed run goes on to here."""
    seed: int | None = None
    """Default 0."""
    seeds: tuple[int, ...] = ()
    """Several seeds, each in a run folder of its own, one after the other; in a Slurm array, its task picks one."""
    run_dir: Path | None = None
    """Run folder; default runs/TASK-seedS, of a policy runs/TASK-LEARN-seedS. With --seeds, the folder of the run
    folders seedS."""
    checkpoint_every: int = RunConfig.checkpoint_every
    """Updates between two checkpoints."""
    episodes: int | None = None
    """Of a lifetime while training; default the recipe's, or else the task's own."""
    task_options: tuple[str, ...] = ()
    """NAME=VALUE of the task's own options, for example room=5 of key-box: what it is trained on, not evaluated on."""
    begin_with: str | None = None
    """Start from a learner that was trained before: a run, its learner folder, or (eta alone) a reward."""
    validate_every: int = VALIDATE_EVERY
    """Updates between two validations of the averaged reward or policy; best/ holds the best of them. 0: none."""
    validation_lifetimes: int = RunConfig.validation_lifetimes
    """How many fresh agents each validation has."""
    stop_on_collapse: bool = RunConfig.stop_on_collapse
    """End the run, saved and with exit code 0, when its validation has fallen clearly below its best."""
    resume: bool = False
    """Go on with the run in --run-dir; with --seeds, with those that are not finished."""
    log: Literal["tensorboard"] | None = None
    """Where else the rows of metrics.csv go: as events into tensorboard/ of the run folder (needs tensorboardX)."""
    devices: int | None = None
    """CPU devices to use, of this process; default one a core."""
    coordinator: str | None = None
    """HOST:PORT of the first process, for a run on several; under Slurm they find each other."""
    num_processes: int | None = None
    """How many processes the run has."""
    process_id: int | None = None
    """Which of them this one is, from 0; the first writes the run folder."""
    join_timeout: int = 300
    """Seconds to wait for the others to arrive."""
    engine: Literal["fast", "dense"] = RunConfig.engine
    """dense: nothing is factored or tabulated, for debugging."""
    deterministic: bool = RunConfig.deterministic
    """The same bits on 1, 2 or 4 devices or processes, not only the same to rounding; may be slower."""
    recipe: Literal["tuned", "paper"] = "tuned"
    """Where the settings below begin: ours, or the paper's algorithm and table to the letter."""
    lifetimes: int = MetaConfig.lifetimes
    """Lifetimes in parallel."""
    history: Literal["lstm", "none"] | None = None
    """Memory of the reward: the whole lifetime, or the current step only."""
    objective: Literal["lifetime", "episode"] | None = None
    """What the reward is trained to maximise."""
    reward_sees_action: bool = True
    """Whether the action is an input of the reward; without it, a reward serves other action spaces too."""
    agent: AgentConfig = dataclasses.field(default_factory=AgentConfig)
    reward: HistoryNetConfig = dataclasses.field(default_factory=HistoryNetConfig)
    outer: OuterConfig = dataclasses.field(default_factory=OuterConfig)
    maml: MamlConfig = dataclasses.field(default_factory=MamlConfig)

    @classmethod
    def for_task(cls, task: str, recipe: str = "tuned", learn: str = "reward") -> "Train":
        """Returns the command with the preset of `task` as its defaults. Raises UsageError if there is none."""
        try:
            meta = preset(task, recipe, learn)
        except ValueError as error:
            raise UsageError(f"--recipe {recipe} --learn {learn}: {error}") from error
        return cls(
            task,
            learn=meta.learn,
            recipe=cast(Any, recipe),
            episodes=training_episodes(task, recipe),
            lifetimes=meta.lifetimes,
            reward_sees_action=meta.reward.sees_action,
            agent=meta.agent,
            reward=meta.reward,
            outer=meta.outer,
            maml=meta.maml,
        )

    def run(self) -> int:
        require_log(self.log)
        if self.seeds:
            return self._run_seeds()
        run_dir, config = self.run_dir or default_run_dir(self.task, self.seed or 0, self.learn), self.config()
        processes = find_processes(self.coordinator, self.num_processes, self.process_id, self.join_timeout)
        from orexis.training.train import train

        return train(run_dir, config, self.resume, self.devices, processes, self.log)

    def _run_seeds(self) -> int:
        if self.seed is not None:
            raise UsageError("--seed and --seeds do not go together: give one of them")
        if len(set(self.seeds)) < len(self.seeds):
            raise UsageError(f"--seeds names a seed twice: {' '.join(map(str, self.seeds))}")
        runs = [self._of_seed(seed) for seed in self.seeds]
        if self.run_dir is not None and holds_run(self.run_dir):
            raise UsageError(f"--run-dir {self.run_dir} is a run itself; with --seeds, name a folder for several")
        picked = pick_seed(self.seeds, os.environ.get(ARRAY_TASK))
        if picked is not None:
            print(f"seed {picked} of {' '.join(map(str, self.seeds))}, picked by {ARRAY_TASK}")
            return dataclasses.replace(self._of_seed(picked), seeds=()).run()
        if find_processes(self.coordinator, self.num_processes, self.process_id, self.join_timeout) is not None:
            raise UsageError("several processes train one seed at a time: use --seed, or --seeds in a Slurm array")
        from orexis.tools.seeds import train_seeds

        configs = [(Path(str(run.run_dir)), run.config()) for run in runs]
        return train_seeds(configs, self.resume, self.devices, self.log)

    def _of_seed(self, seed: int) -> "Train":
        """Returns the command that trains one of the seeds."""
        run_dir = default_run_dir(self.task, seed, self.learn) if self.run_dir is None else self.run_dir / f"seed{seed}"
        return dataclasses.replace(self, seed=seed, run_dir=run_dir)

    def config(self) -> RunConfig:
        """Returns the run's config, the short options laid over the preset. Raises UsageError for a bad value."""
        require_task(self.task)
        if self.devices is not None and self.devices < 1:
            raise UsageError(f"--devices must be at least 1, not {self.devices}")
        if self.begin_with is not None and not self.resume:
            check_beginning(self.begin_with)
        if self.learn != "maml" and self.maml != MamlConfig():
            raise UsageError(f"--maml.* are options of --learn maml; leave them out with --learn {self.learn}")
        try:
            sees_action = self.reward.sees_action and self.reward_sees_action
            reward = replace(self.reward, history=self.history, sees_action=sees_action)
            outer = replace(self.outer, objective=self.objective)
            return RunConfig(
                task=self.task,
                seed=self.seed or 0,
                updates=self.updates,
                checkpoint_every=self.checkpoint_every,
                engine=self.engine,
                deterministic=self.deterministic,
                recipe=self.recipe,
                episodes=self.episodes,
                task_options=self.task_options,
                begin_with=self.begin_with,
                validate_every=self.validate_every or None,
                validation_lifetimes=self.validation_lifetimes,
                stop_on_collapse=self.stop_on_collapse,
                meta=MetaConfig(self.agent, reward, outer, self.lifetimes, self.learn, self.maml),
            )
        except ValueError as error:
            raise UsageError(str(error)) from error


def pick_seed(seeds: Sequence[int], array_task: str | None) -> int | None:
    """Returns the seed that a task of a Slurm array trains, counted from 0; None outside of an array.

    Raises UsageError for a task that has no seed.
    """
    if array_task is None:
        return None
    if not array_task.isdecimal() or int(array_task) >= len(seeds):
        raise UsageError(
            f"{ARRAY_TASK} is {array_task} and there are {len(seeds)} seeds: use sbatch --array=0-{len(seeds) - 1}"
        )
    return seeds[int(array_task)]
