"""`orexis`: parsing only. Each command imports what it needs when it runs, so that help is instant."""

import contextlib
import dataclasses
import io
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import tyro
from tyro.conf import Positional

from orexis import __version__
from orexis.config import AgentConfig, HistoryNetConfig, MetaConfig, OuterConfig, RunConfig
from orexis.presets import PAPER_TASKS, check_task_name, preset, training_episodes
from orexis.runs.beginnings import check_beginning
from orexis.runs.errors import FAILED, INTERRUPTED, OK, CommandError, UsageError, check_numbers
from orexis.runs.processes import find_processes
from orexis.runs.sources import check_source_name

if TYPE_CHECKING:
    from orexis.runs.evaluate import Plan


@dataclasses.dataclass(frozen=True)
class Train:
    """Meta-learn an intrinsic reward on a task distribution."""

    task: Positional[str]
    """A name from `orexis tasks`, or module:Class for your own."""
    updates: int = RunConfig.updates
    """Updates of the reward in total; a resumed run goes on to here."""
    seed: int = 0
    run_dir: Path | None = None
    """Run folder; default runs/TASK-seedS."""
    checkpoint_every: int = RunConfig.checkpoint_every
    """Updates between two checkpoints."""
    episodes: int | None = None
    """Of a lifetime while training; default the recipe's, or else the task's own."""
    begin_with: str | None = None
    """Start from a learner that was trained before: a run, its learner folder, or (eta alone) a reward."""
    validate_every: int = 500
    """Updates between two validations of the averaged reward; best/ holds the best of them. 0: none."""
    validation_lifetimes: int = RunConfig.validation_lifetimes
    stop_on_collapse: bool = RunConfig.stop_on_collapse
    """End the run, saved and with exit code 0, when its validation has fallen clearly below its best."""
    resume: bool = False
    """Go on with the run in --run-dir."""
    devices: int | None = None
    """CPU devices to use, of this process; default one a core."""
    coordinator: str | None = None
    """HOST:PORT of the first process, for a run on several; under Slurm they find each other."""
    num_processes: int | None = None
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

    @classmethod
    def for_task(cls, task: str, recipe: str = "tuned") -> "Train":
        """Returns the command with the preset of `task` as its defaults. Raises UsageError if there is none."""
        try:
            meta = preset(task, recipe)
        except ValueError as error:
            raise UsageError(f"--recipe {recipe}: {error}") from error
        return cls(
            task,
            recipe=cast(Any, recipe),
            episodes=training_episodes(task, recipe),
            lifetimes=meta.lifetimes,
            reward_sees_action=meta.reward.sees_action,
            agent=meta.agent,
            reward=meta.reward,
            outer=meta.outer,
        )

    def run(self) -> int:
        config = self.config()
        processes = find_processes(self.coordinator, self.num_processes, self.process_id, self.join_timeout)
        from orexis.runs.train import train

        run_dir = self.run_dir or Path("runs") / f"{_file_name(self.task)}-seed{self.seed}"
        return train(run_dir, config, self.resume, self.devices, processes)

    def config(self) -> RunConfig:
        """Returns the run's config, the short options laid over the preset. Raises UsageError for a bad value."""
        _require_task(self.task)
        if self.devices is not None and self.devices < 1:
            raise UsageError(f"--devices must be at least 1, not {self.devices}")
        if self.begin_with is not None and not self.resume:
            check_beginning(self.begin_with)
        try:
            sees_action = self.reward.sees_action and self.reward_sees_action
            reward = _replace(self.reward, history=self.history, sees_action=sees_action)
            outer = _replace(self.outer, objective=self.objective)
            return RunConfig(
                task=self.task,
                seed=self.seed,
                updates=self.updates,
                checkpoint_every=self.checkpoint_every,
                engine=self.engine,
                deterministic=self.deterministic,
                recipe=self.recipe,
                episodes=self.episodes,
                begin_with=self.begin_with,
                validate_every=self.validate_every or None,
                validation_lifetimes=self.validation_lifetimes,
                stop_on_collapse=self.stop_on_collapse,
                meta=MetaConfig(agent=self.agent, reward=reward, outer=outer, lifetimes=self.lifetimes),
            )
        except ValueError as error:
            raise UsageError(str(error)) from error


@dataclasses.dataclass(frozen=True)
class Evaluate:
    """Let fresh agents live under each source and compare what they collect."""

    sources: Positional[tuple[str, ...]]
    """Shipped rewards (see orexis zoo list), run folders, reward folders, or any of:
    extrinsic-ep extrinsic-life q-extrinsic count icm teacher near-optimal random."""
    task: str | None = None
    """Default: the task that the rewards were learned on."""
    lifetimes: int = 256
    seed: int = 0
    agent: Literal["actor-critic", "q-learning"] = "actor-critic"
    """Who learns from what the sources pay."""
    recipe: Literal["tuned", "paper"] | None = None
    """Whose settings the agents have; default those that the rewards were trained with, else the tuned ones."""
    episodes: int | None = None
    """Of a lifetime; default the task's own."""
    actions: Literal["normal", "permuted", "extended"] = "normal"
    """Actions as trained; or reversed; or with four diagonals more. A reward that sees the action is refused."""
    json: Path | None = None
    """Where to write the summary."""
    csv: Path | None = None
    """Where to write a row for each source, lifetime and episode."""
    trace: Path | None = None
    """Where to write every step, as NPZ."""
    cache: Path | None = None
    """Folder of tables to reuse and to add to; default in your cache folder."""
    fresh: bool = False
    """Live again, whatever the cache holds."""

    def run(self) -> int:
        if not self.sources:
            raise UsageError("name at least one source, for example extrinsic-ep")
        if self.task is not None:
            _require_task(self.task)
        if len(set(self.sources)) != len(self.sources):
            raise UsageError("a source is named twice")
        for source in self.sources:
            check_source_name(source)
        check_numbers(self.lifetimes, self.seed)
        _require_episodes(self.episodes)
        _require_file_places(self.json, self.csv, self.trace)
        _require_folder_place(self.cache, "--cache")
        from orexis.runs.platform import prepare_jax

        prepare_jax()
        from orexis.runs.cache import default_folder
        from orexis.runs.evaluate import Plan, evaluate_all, settle
        from orexis.runs.files import write_json
        from orexis.runs.progress import progress_bars
        from orexis.runs.scores import as_json, write_csv, write_trace
        from orexis.runs.tables import print_summary

        names = list(self.sources)
        setting = settle(names, self.task, self.actions, self.agent, self.episodes, self.recipe)
        cache = None if self.fresh else self.cache or default_folder()
        with progress_bars(setting.task_name, self.lifetimes) as tell:
            plan = Plan(self.lifetimes, self.seed, self.trace is not None, cache, tell)
            tables, traces = evaluate_all(names, setting, plan)
        if self.json is not None:
            write_json(self.json, {**as_json(tables), "actions": self.actions, "agent": self.agent})
        if self.csv is not None:
            write_csv(self.csv, tables)
        if self.trace is not None:
            write_trace(self.trace, traces)
        print_summary(tables)
        return OK


@dataclasses.dataclass(frozen=True)
class Sweep:
    """Find the coefficients that serve a source best, or the best agent, on lifetimes that no report uses."""

    source: Positional[str]
    """extrinsic-ep, count, icm or teacher; agent, for settings of the agent under extrinsic-ep and teacher; or
    recipe, for what each part of a tuned recipe buys."""
    task: str
    lifetimes: int = 64
    episodes: int | None = None
    """Of a lifetime; default the task's own."""
    seed: int = 9000
    """Reports use 0: keep away from it."""
    out: Path = Path("results/sweeps")
    """Folder for the table, as CSV and as Markdown."""
    cache: Path | None = None
    """Folder of tables to reuse and to add to; default in your cache folder."""
    base: tuple[str, ...] = ()
    """Of sweep agent: FIELD=VALUE laid over the preset before it is varied, for example gradient_clip=2."""
    vary: tuple[str, ...] = ()
    """Of sweep agent: the fields that vary, for example learning_rate net; default all that are listed for it."""
    teacher_scale: float | None = None
    """Of sweep agent: what a step of the teacher pays; default the task's."""
    updates: int = 3000
    """Of sweep recipe: updates of each training."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Of sweep recipe: training seeds."""
    runs: Path = Path("runs/recipe")
    """Of sweep recipe: folder of the runs, which are kept and gone on with."""
    devices: int | None = None
    """Of sweep recipe: CPU devices of each training; default one a core."""

    def run(self) -> int:
        _require_task(self.task)
        check_numbers(self.lifetimes, self.seed)
        _require_folder_place(self.out, "--out")
        if self.source != "agent" and (self.base or self.vary or self.teacher_scale is not None):
            raise UsageError("--base, --vary and --teacher-scale belong to orexis sweep agent")
        _require_folder_place(self.cache, "--cache")
        _require_episodes(self.episodes)
        from orexis.runs.platform import prepare_jax

        prepare_jax()
        from orexis.runs.cache import default_folder
        from orexis.runs.evaluate import Plan, settle
        from orexis.runs.progress import progress_bars
        from orexis.runs.sweep import grid_of, sweep, write_sweep

        line = ["orexis", "sweep", self.source, "--task", self.task, "--lifetimes", str(self.lifetimes)]
        line += ["--episodes", str(self.episodes)] if self.episodes else []
        line += ["--seed", str(self.seed)]
        with progress_bars(self.task, self.lifetimes) as tell:
            plan = Plan(self.lifetimes, self.seed, False, self.cache or default_folder(), tell)
            if self.source == "agent":
                page = self._sweep_agent(plan, line)
            elif self.source == "recipe":
                page = self._sweep_recipe(plan, line)
            else:
                grid_of(self.source)
                setting = settle([self.source], self.task, episodes=self.episodes)
                page = write_sweep(self.out, self.source, self.task, sweep(self.source, setting, plan), line)
        print(page.read_text(encoding="utf-8"))
        return OK

    def _sweep_recipe(self, plan: "Plan", line: list[str]) -> Path:
        """Writes the table of what each part of a recipe buys; returns the page."""
        from orexis.runs.evaluate import evaluate_source, settle
        from orexis.runs.sweep_recipe import RecipePlan, sweep_recipe, write_recipe_sweep

        if not self.seeds or len(set(self.seeds)) != len(self.seeds) or self.updates < 1:
            raise UsageError("--seeds takes different numbers, at least one, and --updates at least 1")
        recipes = RecipePlan(self.task, self.updates, self.seeds, self.episodes, self.runs, self.devices)

        def evaluate(run: Path):
            return evaluate_source(str(run), settle([str(run)], self.task, episodes=self.episodes), plan)[0]

        line = [*line, "--updates", str(self.updates), "--seeds", *map(str, self.seeds)]
        return write_recipe_sweep(self.out, recipes, sweep_recipe(recipes, evaluate, print), line)

    def _sweep_agent(self, plan: "Plan", line: list[str]) -> Path:
        """Writes the tables of agents, each under every source; returns the page."""
        from orexis.runs.evaluate import settle
        from orexis.runs.sweep_agent import list_settings, parse_changes, sweep_agent, write_agent_sweep

        setting = settle(["extrinsic-ep"], self.task, episodes=self.episodes)
        try:
            bonus = _replace(setting.bonus, teacher_scale=self.teacher_scale)
        except ValueError as error:
            raise UsageError(str(error)) from error
        agents = list_settings(setting.config, parse_changes(self.base), self.vary)
        rows = sweep_agent(dataclasses.replace(setting, bonus=bonus), agents, plan)
        line = line + (["--base", *self.base] if self.base else []) + (["--vary", *self.vary] if self.vary else [])
        line += [] if self.teacher_scale is None else ["--teacher-scale", f"{self.teacher_scale:g}"]
        return write_agent_sweep(self.out, _file_name(self.task), rows, line)


@dataclasses.dataclass(frozen=True)
class Reproduce:
    """Run what a figure of the paper needs, draw it, and check what the paper says about it."""

    figure: Positional[Literal["fig3", "all"]]
    budget: Literal["smoke", "small", "paper"] = "small"
    """Training of the rewards that are not there yet; smoke also shortens lifetimes."""
    out: Path = Path("results")
    tasks: tuple[str, ...] = PAPER_TASKS
    """Which panels."""
    rewards: tuple[str, ...] = ()
    """Learned rewards that are there already, each TASK=SOURCE; shipped ones need not be named."""
    train: bool = True
    """Train rewards that are missing; without, their lines are missing too."""
    cache: Path | None = None
    """Folder of tables to reuse and to add to; default in your cache folder."""

    def run(self) -> int:
        _require_folder_place(self.out, "--out")
        _require_folder_place(self.cache, "--cache")
        for task in self.tasks:
            if task not in PAPER_TASKS:
                raise UsageError(f"{self.figure} has no panel for {task!r}; it has {', '.join(PAPER_TASKS)}")
        if not self.tasks or len(set(self.tasks)) != len(self.tasks):
            raise UsageError("name at least one of --tasks, and none twice")
        rewards = dict(_split_reward(text, self.tasks) for text in self.rewards)
        from orexis.runs.platform import prepare_jax

        prepare_jax()
        from orexis.reproduce.fig3 import Request, reproduce
        from orexis.runs.cache import default_folder

        line = ["orexis", "reproduce", self.figure, "--budget", self.budget, "--out", str(self.out)]
        line += ["--tasks", *self.tasks]
        line += ["--rewards", *self.rewards] if self.rewards else []
        line += [] if self.train else ["--no-train"]
        cache = self.cache or default_folder()
        return reproduce(Request(self.budget, self.out, self.tasks, rewards, self.train, cache, tuple(line)))


@dataclasses.dataclass(frozen=True)
class Demo:
    """The main job in minutes: train a reward, evaluate it on fresh agents, draw, write a report."""

    out: Path = Path("demo")
    updates: int = 2500
    seed: int = 0

    def run(self) -> int:
        if self.updates < 1:
            raise UsageError(f"--updates must be at least 1, not {self.updates}")
        _require_folder_place(self.out, "--out")
        check_numbers(1, self.seed)
        from orexis.runs.platform import prepare_jax

        prepare_jax()
        from orexis.runs.demo import demo

        return demo(self.out, self.updates, self.seed)


@dataclasses.dataclass(frozen=True)
class Play:
    """Walk through a lifetime of a task, with the arrow keys or at random."""

    task: Positional[str]
    """A name from `orexis tasks`, or module:Class for your own."""
    random: bool = False
    """Walk at random instead of asking for keys."""
    gif: Path | None = None
    """Where to write the walk as a moving picture."""
    episodes: int | None = None
    """How many; default 5 at random, else the whole lifetime."""
    seed: int = 0
    actions: Literal["normal", "permuted", "extended"] = "normal"

    def run(self) -> int:
        _require_task(self.task)
        _require_episodes(self.episodes)
        if not 0 <= self.seed < 2**32:
            raise UsageError(f"--seed must be between 0 and 2^32 - 1, not {self.seed}")
        _require_file_places(self.gif)
        if not self.random and not sys.stdin.isatty():
            raise UsageError("keys can be read from a terminal only; add --random to watch a random walk")
        from orexis.runs.platform import prepare_jax

        prepare_jax(1)
        from orexis.runs.play import play

        return play(self.task, self.random, self.gif, self.episodes, self.seed, self.actions)


@dataclasses.dataclass(frozen=True)
class Tasks:
    """List what can be trained on."""

    def run(self) -> int:
        from orexis.runs.listing import print_tasks

        print_tasks()
        return OK


@dataclasses.dataclass(frozen=True)
class Bench:
    """Measure the engine against the naive reference in one run, or the tasks alone, or a reward alone."""

    task: Positional[str] = "random-abc"
    lifetimes: int = 64
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
        _require_task(self.task)
        _require_file_places(self.json, self.picture if self.scaling else None)
        if self.lifetimes < 1 or self.repeats < 1:
            raise UsageError("--lifetimes and --repeats must be at least 1")
        if self.tasks:
            from orexis.runs.platform import prepare_jax

            prepare_jax()
            from orexis.runs.bench_tasks import bench_tasks, print_task_speeds

            result = bench_tasks()
            print_task_speeds(result)
        elif self.scaling:
            from orexis.runs.bench_scaling import bench_scaling, print_scaling

            result = bench_scaling(self.picture, self.repeats)
            print_scaling(result)
        elif self.reward is not None:
            from orexis.runs.bench_reward import bench_reward, print_reward_speed

            result = bench_reward(self.reward)
            print_reward_speed(result)
        else:
            from orexis.runs.bench import bench

            result = bench(self.task, self.lifetimes, self.repeats)
        if self.json is not None:
            from orexis.runs.files import write_json

            write_json(self.json, result)
        return OK


@dataclasses.dataclass(frozen=True)
class Doctor:
    """Verify a run or a reward byte by byte; say what is wrong and what a resume would do."""

    folder: Positional[Path]
    """A run folder, a reward folder or a learner folder."""

    def run(self) -> int:
        if not os.path.isdir(self.folder):
            raise UsageError(f"{self.folder} is neither a run folder nor a reward folder")
        from orexis.runs.doctor import examine

        diagnosis = examine(self.folder)
        print("\n".join(diagnosis.lines()))
        return diagnosis.code


@dataclasses.dataclass(frozen=True)
class Zoo:
    """List the rewards that came with Orexis, show the card of one, or copy one."""

    what: Positional[Literal["list", "show", "export"]]
    name: Positional[str | None] = None
    """A shipped reward, a run folder or a reward folder."""
    out: Positional[Path | None] = None
    """The new folder that export writes."""
    evaluation: Path | None = None
    """A file of `orexis evaluate --json`, to be told on the card of the copy."""
    failures: tuple[str, ...] = ()
    """Sentences for the card of the copy: what the reward is known to do badly."""

    def run(self) -> int:
        if self.what != "list" and self.name is None:
            raise UsageError(f"say which reward: orexis zoo {self.what} NAME; orexis zoo list tells the names")
        if self.what == "export" and self.out is None:
            raise UsageError("say where to: orexis zoo export NAME FOLDER")
        from orexis.runs import zoo

        if self.what == "list":
            zoo.print_shipped()
        elif self.what == "show":
            zoo.print_card(str(self.name))
        else:
            zoo.export(str(self.name), Path(str(self.out)), self.evaluation, self.failures)
        return OK


COMMANDS: dict[str, type] = {
    "demo": Demo,
    "tasks": Tasks,
    "play": Play,
    "train": Train,
    "evaluate": Evaluate,
    "sweep": Sweep,
    "reproduce": Reproduce,
    "bench": Bench,
    "doctor": Doctor,
    "zoo": Zoo,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code, see `orexis.runs.errors`."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    if arguments[:1] == ["--version"]:
        print(f"orexis {__version__}")
        return OK
    try:
        return _parse(arguments).run()
    except CommandError as error:
        if debug:
            traceback.print_exc()
        print(f"orexis: {error}", file=sys.stderr)
        return error.code
    except KeyboardInterrupt:
        print("orexis: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except Exception as error:
        if debug:
            raise
        reason = str(error).strip().splitlines()
        sentence = f"{type(error).__name__}: {reason[0] if reason else 'no message'}"
        print(f"orexis: {sentence} (run again with --debug for the traceback)", file=sys.stderr)
        return FAILED


def entry() -> None:
    """The console script."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a path may hold what the terminal has no letters for
    raise SystemExit(main())


def _parse(arguments: list[str]):
    """Returns the command that `arguments` spell, its defaults from the task's preset. Exits 2 on a bad line."""
    name = arguments[0] if arguments else "--help"
    if name in ("-h", "--help"):
        print(_overview())
        raise SystemExit(OK)
    if name not in COMMANDS:
        raise UsageError(f"unknown command {name!r}; commands are {', '.join(COMMANDS)}")
    rest = arguments[1:]
    command = COMMANDS[name]
    default = None
    if command is Train and rest and not rest[0].startswith("-"):
        default = Train.for_task(rest[0], _option(rest, "--recipe") or "tuned")
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            return tyro.cli(command, prog=f"orexis {name}", args=rest, default=default)
    except SystemExit as stop:
        if stop.code in (None, OK):
            raise
        raise UsageError(f"{_first_sentence(complaint.getvalue())}; see orexis {name} --help") from None


def _option(arguments: list[str], name: str) -> str | None:
    """Returns what follows the option `name`, as `--name value` or `--name=value`; None if it is not there."""
    for argument, following in zip(arguments, [*arguments[1:], None], strict=True):
        if argument == name:
            return following
        if argument.startswith(f"{name}="):
            return argument.removeprefix(f"{name}=")
    return None


def _first_sentence(box: str) -> str:
    """Returns what tyro's framed complaint says before its first rule, as one line."""
    said = []
    for line in box.splitlines()[1:]:
        text = line.strip("│╭╮╰╯ ")
        if not text or set(text) == {"─"}:
            break
        said.append(text)
    return " ".join(said) or "bad command line"


def _overview() -> str:
    lines = ["usage: orexis COMMAND [OPTIONS]", "", "Learns what agents should want.", "", "commands:"]
    lines += [f"  {name:<10} {(command.__doc__ or '').splitlines()[0]}" for name, command in COMMANDS.items()]
    return "\n".join([*lines, "", "`orexis COMMAND --help` tells the options; `--debug` shows tracebacks."])


def _split_reward(text: str, tasks: Sequence[str]) -> tuple[str, str]:
    """Returns the task and the source that TASK=SOURCE names. Raises UsageError if it names none."""
    task, _, source = text.partition("=")
    if task not in tasks or not source:
        raise UsageError(f"--rewards takes TASK=SOURCE with a task of the figure, not {text!r}")
    check_source_name(source)
    return task, source


def _require_file_places(*paths: Path | None) -> None:
    for path in paths:
        if path is None:
            continue
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise UsageError(f"cannot write {path}: it is a folder or its folder does not exist")
        if not os.access(path.absolute().parent, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
            raise UsageError(f"cannot write {path}: it or its folder is read-only")


def _require_episodes(episodes: int | None) -> None:
    if episodes is not None and episodes < 1:
        raise UsageError(f"--episodes must be at least 1, not {episodes}")


def _require_folder_place(path: Path | None, option: str) -> None:
    if path is not None and path.exists() and not path.is_dir():
        raise UsageError(f"{option} {path} is a file; name a folder")


def _require_task(name: str) -> None:
    """Raises UsageError if `name` can be no task; a task of the user's own is also looked for in the current folder."""
    try:
        check_task_name(name)
    except ValueError as error:
        raise UsageError(str(error)) from error
    if ":" in name and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())


def _replace(config, **changes):
    """Returns `config` with the changes that are not None."""
    return dataclasses.replace(config, **{name: value for name, value in changes.items() if value is not None})


def _file_name(task: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in task)
