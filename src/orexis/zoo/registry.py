"""The shipped rewards by name, and where any reward lies: a name, a reward folder or a run folder. Needs no JAX."""

from pathlib import Path

from orexis.storage.artefact import Artefact, read_artefact

SHELF = Path(__file__).parent


def shipped_names() -> list[str]:
    """Returns the names of the rewards that came with this installation, sorted."""
    return sorted(folder.name for folder in SHELF.iterdir() if (folder / "reward.json").is_file())


def locate(name_or_path: str | Path) -> Path:
    """Returns the folder of a reward: of a shipped one by its name, else the folder itself or its `reward/`.

    A shipped name wins over a folder of the same name; write ./NAME for the folder. Raises
    FileNotFoundError if it is neither.
    """
    if isinstance(name_or_path, str) and name_or_path in shipped_names():
        return SHELF / name_or_path
    folder = Path(name_or_path)
    if not folder.is_dir():
        raise FileNotFoundError(
            f"no reward called {str(name_or_path)!r}: neither a folder nor a shipped one ({', '.join(shipped_names())})"
        )
    is_run = not (folder / "reward.json").exists() and (folder / "reward").is_dir()
    return folder / "reward" if is_run else folder


def open_reward(name_or_path: str | Path) -> Artefact:
    """Returns the artefact called `name_or_path`, verified. Raises FileNotFoundError or DamagedError."""
    return read_artefact(locate(name_or_path))
