"""A disk that forgets what was not flushed: replays the file operations of a save up to a power cut.

A file is what was last flushed with fsync, or empty. Whether a name is there is another matter, and three
kinds of disk bound what real ones do:

- forgetful: a folder is what it was when it was last flushed; later names, renames and removals are lost.
- hasty: the same, but removals arrive at once.
- journaled: names, renames and removals have all arrived, in order; only the contents lag behind.
"""

import dataclasses
import os
from pathlib import Path
from typing import Any, Literal


@dataclasses.dataclass
class File:
    content: bytes = b""
    flushed: bytes = b""


@dataclasses.dataclass
class Folder:
    names: dict[str, Any] = dataclasses.field(default_factory=dict)
    flushed: dict[str, Any] = dataclasses.field(default_factory=dict)


def scan(path: Path) -> Folder:
    """Returns what is at `path`, all of it flushed."""
    folder = Folder()
    for entry in path.iterdir():
        if entry.is_dir():
            folder.names[entry.name] = scan(entry)
        else:
            folder.names[entry.name] = File(entry.read_bytes(), entry.read_bytes())
    folder.flushed = dict(folder.names)
    return folder


class Disk:
    """The disk below the folder `root`, as a list of operations leaves it."""

    def __init__(self, root: Path, kind: Literal["forgetful", "hasty", "journaled"]):
        self.root, self.kind, self.tree = root, kind, scan(root)
        self.open: dict[int, File | Folder] = {}

    def apply(self, operation: tuple) -> None:
        """Does one operation, as `Recorder` noted it."""
        name, *arguments = operation
        getattr(self, f"_{name}")(*arguments)

    def leave(self, place: Path) -> None:
        """Writes to `place` what is on the disk after a power cut."""
        _leave(self.tree, place, self.kind == "journaled")

    def _find(self, path: str) -> tuple[Folder, str]:
        """Returns the folder that has the last part of `path`, and that part; '' for the root itself."""
        parts = Path(path).relative_to(self.root).parts
        folder = self.tree
        for part in parts[:-1]:
            folder = folder.names[part]
        return folder, parts[-1] if parts else ""

    def _at(self, path: str) -> File | Folder:
        folder, name = self._find(path)
        return folder.names[name] if name else folder

    def _opened(self, descriptor: int, path: str, flags: int) -> None:
        folder, name = self._find(path)
        if flags & os.O_CREAT and name not in folder.names:
            folder.names[name] = File()
        node = self._at(path)
        if flags & os.O_TRUNC and isinstance(node, File):
            node.content = b""
        self.open[descriptor] = node

    def _write(self, descriptor: int, data: bytes) -> None:
        node = self.open[descriptor]
        assert isinstance(node, File)
        node.content += data

    def _fsync(self, descriptor: int) -> None:
        node = self.open[descriptor]
        if isinstance(node, File):
            node.flushed = node.content
        else:
            node.flushed = dict(node.names)

    def _mkdir(self, path: str) -> None:
        folder, name = self._find(path)
        folder.names[name] = Folder()

    def _rename(self, source: str, target: str) -> None:
        (old, name), (new, new_name) = self._find(source), self._find(target)
        new.names[new_name] = old.names.pop(name)

    def _exchange(self, first: str, second: str) -> None:
        (one, name), (other, other_name) = self._find(first), self._find(second)
        one.names[name], other.names[other_name] = other.names[other_name], one.names[name]

    def _remove(self, path: str) -> None:
        folder, name = self._find(path)
        del folder.names[name]
        if self.kind == "hasty":
            folder.flushed.pop(name, None)


def _leave(folder: Folder, place: Path, journaled: bool) -> None:
    place.mkdir()
    for name, node in (folder.names if journaled else folder.flushed).items():
        if isinstance(node, Folder):
            _leave(node, place / name, journaled)
        else:
            (place / name).write_bytes(node.flushed)


class Recorder:
    """Notes every operation that changes files, with all that a `Disk` needs to do it again."""

    def __init__(self) -> None:
        self.operations: list[tuple] = []
        self._paths: dict[int, str] = {}
        for name in ("open", "write", "fsync", "mkdir", "rename", "replace", "unlink", "rmdir"):
            setattr(os, name, self._watched(name, getattr(os, name)))

    def watch_exchange(self, exchange):
        """Returns `exchange` with its successes noted."""

        def call(first: Path, second: Path) -> bool:
            done = exchange(first, second)
            if done:
                self.operations.append(("exchange", str(first), str(second)))
            return done

        return call

    def _watched(self, name: str, function):
        def call(*arguments, **options):
            result = function(*arguments, **options)
            note = getattr(self, f"_note_{name}")(result, *arguments, **options)
            if note is not None:
                self.operations.append(note)
            return result

        return call

    def _path(self, path, dir_fd: int | None) -> str:
        return os.fspath(path) if dir_fd is None else os.path.join(self._paths[dir_fd], os.fspath(path))

    def _note_open(self, descriptor: int, path, flags: int, mode: int = 0, *, dir_fd: int | None = None) -> tuple:
        self._paths[descriptor] = self._path(path, dir_fd)
        return "opened", descriptor, self._paths[descriptor], flags

    def _note_write(self, written: int, descriptor: int, data) -> tuple:
        return "write", descriptor, bytes(data)[:written]

    def _note_fsync(self, _, descriptor: int) -> tuple:
        return "fsync", descriptor

    def _note_mkdir(self, _, path, mode: int = 0, *, dir_fd: int | None = None) -> tuple:
        return "mkdir", self._path(path, dir_fd)

    def _note_rename(self, _, source, target) -> tuple:
        return "rename", os.fspath(source), os.fspath(target)

    _note_replace = _note_rename

    def _note_unlink(self, _, path, *, dir_fd: int | None = None) -> tuple:
        return "remove", self._path(path, dir_fd)

    def _note_rmdir(self, _, path, *, dir_fd: int | None = None) -> tuple:
        return "remove", self._path(path, dir_fd)
