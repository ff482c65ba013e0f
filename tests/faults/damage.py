"""Damage to run folders, of every kind that has been met, drawn at random from a seed."""

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path


def flip(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes()) or bytearray(b"x")
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(bytes(data))


def cut(path: Path, rng: random.Random) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: rng.randrange(len(data) + 1)])


def extend(path: Path, rng: random.Random) -> None:
    path.write_bytes(path.read_bytes() + rng.randbytes(rng.randrange(1, 300)))


def remove(path: Path, rng: random.Random) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def make_file(path: Path, rng: random.Random) -> None:
    remove(path, rng)
    path.write_bytes(rng.choice([b"", b"{}", b"[1, 2]", b"null", rng.randbytes(50)]))


def make_folder(path: Path, rng: random.Random) -> None:
    remove(path, rng)
    path.mkdir()
    if rng.random() < 0.5:
        (path / "something").write_text("else")


def make_pipe(path: Path, rng: random.Random) -> None:
    remove(path, rng)
    os.mkfifo(path)


def link_to_nowhere(path: Path, rng: random.Random) -> None:
    remove(path, rng)
    path.symlink_to(path.parent / "nowhere")


def link_elsewhere(path: Path, rng: random.Random) -> None:
    elsewhere = path.parent / f".elsewhere-{path.name}"
    path.rename(elsewhere)
    path.symlink_to(elsewhere.name)


def edit(path: Path, rng: random.Random) -> None:
    """Changes a number, a text or a name in a file of JSON, and does not seal it again."""
    try:
        record = json.loads(path.read_bytes())
        name = rng.choice(sorted(record))
    except (ValueError, TypeError, IndexError):
        return
    value = record.pop(name)
    if rng.random() < 0.8:
        record[name] = value + rng.choice([1, -1000]) if isinstance(value, int) else rng.choice([None, "x", 5, {}])
    path.write_text(json.dumps(record))


ANYWHERE = (remove, make_file, make_folder, make_pipe, link_to_nowhere, link_elsewhere)
OF_FILES = (flip, cut, extend, edit)


def damage(run_dir: Path, other: Path, rng: random.Random) -> list[str]:
    """Damages a run folder in one to three places and returns what was done; `other` is another run's folder."""
    done = []
    for _ in range(rng.randint(1, 3)):
        places = sorted(path for path in run_dir.rglob("*") if not path.is_symlink())
        own = [path for path in places if path.parent == run_dir]
        place = rng.choice([*places, *own])  # these more often
        name = place.relative_to(run_dir)
        is_file = place.is_file()
        kinds: list[Callable[[Path, random.Random], None]] = [*ANYWHERE, *OF_FILES * 2] if is_file else [*ANYWHERE]
        if is_file and (other / name).is_file() and rng.random() < 0.2:
            shutil.copy(other / name, place)
            done.append(f"{name}: of another run")
            continue
        kind = rng.choice(kinds)
        kind(place, rng)
        done.append(f"{name}: {kind.__name__}")
    return done
