"""`orexis view`: watches a lifetime under learned rewards and under the extrinsic one, in one HTML file."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from orexis.errors import OK
from orexis.evaluation.evaluate import settle
from orexis.evaluation.sources import SOURCES, Setting, make_source
from orexis.figures.palette import display_names, style_of
from orexis.storage.files import write_durably
from orexis.tasks.registry import TASKS, TITLES, make_task
from orexis.training.columns import read_metrics
from orexis.training.folder import CONFIG, METRICS, REWARD, read_config
from orexis.viewer.choice import SHOWN
from orexis.viewer.curves import RunCurves, training_data
from orexis.viewer.lifetimes import Told, lifetimes_data
from orexis.viewer.page import build_page
from orexis.viewer.replay import live

BESIDE = "extrinsic-ep"
"""What every lifetime is shown beside."""
MAX_BYTES = 5_000_000  # of the page


def view(
    names: Sequence[str],
    out: Path,
    task_name: str | None = None,
    seed: int = 0,
    lifetime: int = 0,
    episodes: int | None = None,
    recipe: str | None = None,
    log: Callable[[str], None] = print,
) -> int:
    """Writes the page to `out` and returns the exit code. Raises CommandError for what can be said in one sentence."""
    training = training_data(find_curves(names))
    watched = [name for name in names if _has_reward(name)]
    if not watched:
        log("no reward there yet: the page has the training curves alone")
        page = build_page("Training", ", ".join(names), None, training)
    else:
        sources = [*watched, *([] if BESIDE in watched else [BESIDE])]
        setting = settle(sources, task_name, episodes=episodes, recipe=recipe)
        page = _lifetimes_page(sources, setting, seed, lifetime, training, log)
    write_durably(out, page.encode())
    log(f"{out}: {len(page.encode()) / 1e6:.2f} MB; open it in a browser")
    return OK


def _lifetimes_page(
    sources: Sequence[str],
    setting: Setting,
    seed: int,
    lifetime: int,
    training: dict[str, Any],
    log: Callable[[str], None],
) -> str:
    """Returns the page of one lifetime under each of the sources, with as many episodes as fit into MAX_BYTES."""
    lives = {}
    for name, label in zip(sources, display_names(sources), strict=True):
        log(f"living and replaying lifetime {lifetime} of {setting.task_name} under {name}")
        told = Told(name, label, style_of(name).color, is_extrinsic=name in SOURCES and SOURCES[name].reward == BESIDE)
        lives[told] = live(setting.task, make_source(name, setting), seed, lifetime)
    title = f"One lifetime in {TITLES.get(setting.task_name, setting.task_name)}"
    subtitle = f"lifetime {lifetime} of seed {seed}, {setting.task.spec.episodes_per_lifetime} episodes"
    limit = SHOWN
    while True:
        record = lifetimes_data(setting.task, setting.task_name, seed, lifetime, lives, limit)
        page = build_page(title, subtitle, record, training)
        if len(page.encode()) <= MAX_BYTES or limit == 1:
            return page
        limit = max(limit // 2, 1)


def find_curves(names: Sequence[str]) -> list[RunCurves]:
    """Returns the training curves of those of the names that are run folders."""
    return [_curves(name) for name in names if os.path.isfile(os.path.join(name, METRICS))]


def _curves(name: str) -> RunCurves:
    folder = Path(name)
    task = read_config(folder).task if (folder / CONFIG).is_file() else ""
    num_actions = make_task(task).spec.num_actions if task in TASKS else None  # nothing named in a file is imported
    return RunCurves(name, task, num_actions, read_metrics(folder / METRICS))


def _has_reward(name: str) -> bool:
    """Returns whether there is something to watch: a run that has not saved its reward yet has its curves alone."""
    return not os.path.isfile(os.path.join(name, METRICS)) or os.path.isdir(os.path.join(name, REWARD))
