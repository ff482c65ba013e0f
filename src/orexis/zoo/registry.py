"""The shipped rewards and policies by name, and where any of them lies: a name, its folder or a run folder.

Needs no JAX.
"""

from pathlib import Path

from orexis.storage.artefact import Artefact, kind_in, read_artefact

SHELF = Path(__file__).parent


def shipped_names() -> list[str]:
    """Returns the names of the rewards and policies that came with this installation, sorted."""
    return sorted(folder.name for folder in SHELF.iterdir() if _is_artefact(folder))


def _is_artefact(folder: Path) -> bool:
    return (folder / f"{kind_in(folder)}.json").is_file()


def locate(name_or_path: str | Path) -> Path:
    """Returns the folder of a reward or policy: of a shipped one by its name, else itself, its `reward/` or `policy/`.

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
    if not (folder / "reward.json").exists() and not (folder / "policy.json").exists():
        for kind in ("reward", "policy"):
            if (folder / kind).is_dir():
                return folder / kind
    return folder


def open_artefact(name_or_path: str | Path) -> Artefact:
    """Returns the artefact called `name_or_path`, verified. Raises FileNotFoundError or DamagedError."""
    return read_artefact(locate(name_or_path))


def open_reward(name_or_path: str | Path) -> Artefact:
    """Returns the reward called `name_or_path`, verified. Raises what `open_artefact` does, and for a policy
    ValueError."""
    artefact = open_artefact(name_or_path)
    if artefact.kind != "reward":
        raise ValueError(f"{name_or_path} is a policy, not a reward: it acts and pays nothing")
    return artefact
