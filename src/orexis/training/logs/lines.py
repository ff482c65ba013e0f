"""What a run says to people: what is being learned, what the numbers mean, what was reached, what to do next."""

import math
import shlex
from pathlib import Path

import numpy as np

from orexis.config import Learn, RunConfig, TaskSpec
from orexis.errors import BadDataError
from orexis.storage.artefact import kind_of
from orexis.training.columns import read_metrics
from orexis.training.folder import BEST, METRICS
from orexis.training.progress import Progress

_LEARNED: dict[Learn, str] = {
    "reward": "what is learned: a reward. {lifetimes} agents at a time start knowing nothing and live {episodes} "
    "episodes each, paid by this reward alone; after every {window} of their own steps of learning, one update changes "
    "it so that they collect more of the task's reward",
    "rl2": "what is learned: a policy with a memory (RL²). It lives {lifetimes} lifetimes of {episodes} episodes at a "
    "time and remembers all of each; one update every {window} rollouts changes it so that it collects more",
    "maml": "what is learned: where agents begin (MAML). {lifetimes} agents at a time begin there, live {episodes} "
    "episodes each and learn from the task's reward; after every {window} of their steps of learning, one update "
    "changes the beginning so that they collect more",
}
"""What is said of each thing that a run can learn."""


def opening(config: RunConfig, spec: TaskSpec, done: int, num_devices: int, run_dir: Path) -> list[str]:
    """Returns what is said before the first update of this process; all of it only before the first of the run."""
    meta = config.meta
    where = (
        f"{'resuming' if done else 'starting'} {config.task} at update {done} of {config.updates}, "
        f"{meta.lifetimes} lifetimes on {num_devices} devices, in {run_dir}"
    )
    if done:
        return [where]
    return [
        where,
        _LEARNED[meta.learn].format(
            lifetimes=meta.lifetimes, episodes=spec.episodes_per_lifetime, window=meta.outer.window
        ),
        "what the numbers mean: return is what an agent collects of the task's reward in an episode, mean over agents "
        "young and old: it should rise. entropy is how freely they still try, "
        f"from {math.log(spec.num_actions):.3g} down to 0, where they are stuck. A validation is the return of fresh "
        f"agents under the {kind_of(meta.learn)} as it is then, ± its standard error over their lifetimes",
        f"every number goes to {run_dir / METRICS}, explained in docs/reference/metrics.md; "
        f"`{_command('plot', run_dir)}` draws them at any time. Ctrl-C saves and stops. Now compiling, which "
        "takes a minute or so, less the next time",
    ]


def closing(config: RunConfig, progress: Progress, run_dir: Path) -> list[str]:
    """Returns what is said after the last update: what was reached, and what to do with it."""
    best, kind = progress.best, kind_of(config.meta.learn)
    lines = [f"done: {progress.step} updates, {progress.env_steps} steps; the {kind} is in {run_dir / kind}"]
    returns = _first_and_last_returns(run_dir)
    reached = []
    if returns is not None:
        reached.append(
            f"an episode returned {returns[1]:.3g} at the end of training, {returns[0]:.3g} at its beginning"
        )
    if best.score is not None:
        first = f", the first one {best.first:.3g}" if best.first is not None else ""
        reached.append(f"the best validation was {best.score:.3g}, at update {best.update}{first}")
    if reached:
        lines.append(f"reached: {'; '.join(reached)}")
    if returns is not None and not returns[1] > returns[0]:
        lines.append("the return has not risen: most tasks need thousands of updates; see the warnings above, if any")
    every = config.validate_every
    judged = best.score is not None and every is not None and progress.step % every == 0  # the last one too
    source = run_dir / (BEST if judged else kind)
    task = ("--task", config.task) if ":" in config.task else ()
    compare = _command("evaluate", source, "extrinsic-ep", *task)
    return [
        *lines,
        f"next: `{compare}` compares it, on fresh agents, with learning from the task's reward alone",
        f"`{_command('plot', run_dir)}` draws the curves",
        f"the same command with `--updates {2 * config.updates} --resume` goes on",
    ]


def stopped(progress: Progress, run_dir: Path) -> str:
    """Returns what is said when a run was stopped on its way."""
    return f"stopped at update {progress.step} and saved; go on with --resume and the same options, in {run_dir}"


def _first_and_last_returns(run_dir: Path) -> tuple[float, float] | None:
    """Returns the mean return of an episode in the first and in the last tenth of the rows; None if there are none."""
    try:
        returns = read_metrics(run_dir / METRICS).get("episode_return", np.zeros(0))
    except BadDataError:
        return None  # somebody edited it; the run is none the worse
    known = returns[np.isfinite(returns)]
    if len(known) < 2:
        return None
    tenth = max(1, len(known) // 10)
    return float(known[:tenth].mean()), float(known[-tenth:].mean())


def _command(name: str, *arguments: str | Path) -> str:
    return shlex.join(["orexis", name, *map(str, arguments)])
