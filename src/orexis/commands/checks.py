"""What is refused before anything is imported: names, numbers and places on the command line that make no sense; and
writing to such a place in the end."""

import dataclasses
import os
import sys
from collections.abc import Callable
from pathlib import Path

from orexis.errors import MachineError, UsageError
from orexis.presets import check_task_name, preset


def require_task(name: str) -> None:
    """Raises UsageError if `name` can be no task; a task of the user's own is also looked for in the current folder."""
    try:
        check_task_name(name)
    except ValueError as error:
        raise UsageError(str(error)) from error
    if ":" in name and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())


def require_episodes(episodes: int | None) -> None:
    if episodes is not None and episodes < 1:
        raise UsageError(f"--episodes must be at least 1, not {episodes}")


def require_recipe(task: str, recipe: str) -> None:
    try:
        preset(task, recipe)
    except ValueError as error:
        raise UsageError(f"--recipe {recipe}: {error}") from error


def require_file_places(*paths: Path | None) -> None:
    given = [os.path.realpath(path) for path in paths if path is not None]
    twice = next((path for path in given if given.count(path) > 1), None)
    if twice is not None:
        raise UsageError(f"two results cannot be written to one file, {twice}: name another for one of them")
    for path in paths:
        if path is None:
            continue
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise UsageError(f"cannot write {path}: it is a folder or its folder does not exist")
        if not os.access(path.absolute().parent, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
            raise UsageError(f"cannot write {path}: it or its folder is read-only")


def write_result(path: Path | None, write: Callable[[Path], None]) -> None:
    """Writes a result to `path`, if one was asked for. Raises MachineError if it cannot be."""
    if path is None:
        return
    try:
        write(path)
    except OSError as error:
        raise MachineError(f"cannot write {path}: {error.strerror or error}; name another file") from error


def require_folder_place(path: Path | None, option: str) -> None:
    if path is not None and path.exists() and not path.is_dir():
        raise UsageError(f"{option} {path} is a file; name a folder")


def replace(config, **changes):
    """Returns `config` with the changes that are not None."""
    return dataclasses.replace(config, **{name: value for name, value in changes.items() if value is not None})
