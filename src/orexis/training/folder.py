"""The run folder, before anything is trained: can it be used, by whom, and is this the run that it holds?

Needs no JAX, so that a wrong command line is answered at once.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from orexis.config import HARMLESS, RunConfig
from orexis.config_json import differences, from_json, to_json
from orexis.errors import BadDataError, MachineError, UsageError
from orexis.platform import versions
from orexis.storage import lock
from orexis.storage.files import remove_drafts, write_json
from orexis.storage.manifest import survey
from orexis.storage.reading import DamagedError, read_json
from orexis.zoo.registry import shipped_names

FORMAT_VERSION = 1
CONFIG, ENVIRONMENT, CHECKPOINTS, METRICS, LOG = "config.json", "env.json", "checkpoints", "metrics.csv", "log.txt"
REWARD, POLICY, BEST, LEARNER = "reward", "policy", "best", "learner"
"""What a run makes: the reward or policy of its newest checkpoint, the one that validated best, the learner to begin
with."""
KINDS = (REWARD, POLICY)


@contextlib.contextmanager
def claimed(run_dir: Path, config: RunConfig, resume: bool) -> Iterator[None]:
    """Keeps the run folder for this process, with `config` written into it.

    Raises CommandError if it is in the way, in use, of another experiment, or cannot be written to.
    """
    try:
        check_use(run_dir, config, resume)
    except OSError as error:  # a name too long, a folder above that one may not enter
        raise UsageError(f"--run-dir {run_dir} cannot be used: {error.strerror}") from error
    make_writable(run_dir)
    with lock.hold(run_dir):
        check_use(run_dir, config, resume)  # again: another process may have come and gone
        remove_drafts(run_dir)
        try:
            write_json(run_dir / CONFIG, {"format_version": FORMAT_VERSION, **to_json(config)})
            write_json(run_dir / ENVIRONMENT, versions())
        except OSError as error:
            raise MachineError(f"cannot write to {run_dir}: {error.strerror}") from error
        yield


def check_use(run_dir: Path, config: RunConfig, resume: bool) -> None:
    """Raises UsageError if the folder is no folder, holds a run that is not to be resumed, or another experiment."""
    if run_dir.exists() and not run_dir.is_dir():
        raise UsageError(f"--run-dir {run_dir} is a file; name a folder")
    if not resume and is_used(run_dir):
        raise UsageError(f"{run_dir} holds a run already; add --resume to go on with it, or choose another --run-dir")
    refuse_obstacles(run_dir)
    if resume and is_used(run_dir):
        before = read_config(run_dir) if (run_dir / CONFIG).exists() else config_of_checkpoint(run_dir)
        refuse_another(run_dir, before or config, config)


def config_of_checkpoint(run_dir: Path) -> RunConfig | None:
    """Returns what the newest good checkpoint was trained with; None if there is none that can be read."""
    try:
        return from_json(RunConfig, survey(run_dir / CHECKPOINTS).manifest.get("config"))
    except ValueError:
        return None


def holds_run(folder: Path) -> bool:
    """Returns whether the folder is that of a run, whole or damaged."""
    return os.path.lexists(folder / CONFIG) or is_used(folder)


def is_used(run_dir: Path) -> bool:
    """Returns whether something was trained in the folder; a start that was refused or ended while compiling is not."""
    return any(os.path.lexists(run_dir / name) for name in (METRICS, CHECKPOINTS, *KINDS, LEARNER))


def refuse_obstacles(run_dir: Path) -> None:
    """Raises UsageError if something that a run writes is there and is of another kind: a folder for a file, a link."""
    for name in (CONFIG, ENVIRONMENT, METRICS, LOG, lock.NAME):
        place = run_dir / name
        to_device = name == LOG and place.is_char_device()  # a log may go to one, and need not be readable again
        if os.path.lexists(place) and not place.is_file() and not to_device:
            raise UsageError(f"{place} is not a file; move it away")
    for name in (CHECKPOINTS, *KINDS, BEST, LEARNER):
        if os.path.lexists(run_dir / name) and not (run_dir / name).is_dir():
            raise UsageError(f"{run_dir / name} is not a folder; move it away")
    for name in (*KINDS, BEST, LEARNER):
        if (run_dir / name).is_symlink():  # these are replaced whole, and a link cannot be
            raise UsageError(f"{run_dir / name} is a link to a folder elsewhere; put the folder itself there")


def refuse_lost(run_dir: Path) -> None:
    """Raises BadDataError if a run without checkpoints had some: there is what is written after one."""
    left = [name for name in (*KINDS, LEARNER) if os.path.lexists(run_dir / name)]
    if left:
        raise BadDataError(
            f"{run_dir} has lost its checkpoints and still has {' and '.join(f'{name}/' for name in left)}, which a "
            f"fresh start would overwrite: put {CHECKPOINTS}/ back, or choose another --run-dir"
        )


def refuse_another(run_dir: Path, before: RunConfig, now: RunConfig) -> None:
    """Raises UsageError, naming each field, if two configs differ in what is learned."""
    changed = [line for line in differences(before, now) if line.split(":")[0] not in HARMLESS]
    if changed:
        raise UsageError(f"cannot resume {run_dir} with another config: {'; '.join(changed)}")


def make_writable(run_dir: Path) -> None:
    """Makes the run folder. Raises UsageError if it, or what a run writes in it, cannot be written to."""
    try:
        run_dir.mkdir(parents=True, exist_ok=True)
        for folder in (run_dir, run_dir / CHECKPOINTS):
            if folder.exists():
                probe = folder / f".writable.tmp-{os.getpid()}"
                probe.touch()
                probe.unlink()
        for name in (METRICS, LOG):
            if (run_dir / name).exists():
                os.close(os.open(run_dir / name, os.O_WRONLY | os.O_APPEND))
    except OSError as error:
        what = error.filename or run_dir
        raise UsageError(f"cannot write to {run_dir}: {error.strerror} ({what}); choose another --run-dir") from error


def read_config(run_dir: Path) -> RunConfig:
    """Returns the config of a run folder. Raises BadDataError if it is damaged or of another version."""
    path = run_dir / CONFIG
    try:
        data = read_json(path)
        version = data.pop("format_version", None)
        if version != FORMAT_VERSION:
            raise DamagedError(f"{path} has format version {version!r}; this Orexis reads {FORMAT_VERSION}")
        return from_json(RunConfig, data)
    except ValueError as error:
        raise BadDataError(f"the config of {run_dir} cannot be used: {error}") from error


def check_beginning(name: str) -> None:
    """Raises UsageError if `name` can be nothing to begin with: neither a folder nor a shipped reward."""
    if name not in shipped_names() and not os.path.isdir(name):
        raise UsageError(
            f"--begin-with {name} is neither the folder of a run, a learner, a reward or a policy "
            f"nor a shipped one ({', '.join(shipped_names())})"
        )
