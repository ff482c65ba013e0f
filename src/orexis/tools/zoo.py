"""`orexis zoo`: the rewards and policies that came with this installation, and copies of them to give away."""

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from orexis.errors import BadDataError, UsageError
from orexis.evaluation.sources import find_artefact
from orexis.storage.artefact import Artefact, read_artefact
from orexis.storage.card import write_card
from orexis.storage.files import json_bytes, swap_folder, sync_folder, write_durably
from orexis.storage.reading import SEAL, DamagedError, read_bounded, read_json, seal
from orexis.storage.stages import updates_in_words
from orexis.zoo.registry import locate, open_artefact, shipped_names


def print_shipped() -> None:
    """Prints a row for each shipped reward; "learned" and "extrinsic-ep" are the mean returns of an episode."""
    shown = Table(box=None, caption="mean returns of an episode; orexis zoo show NAME tells the intervals")
    for heading in ("name", "task", "learned as", "action", "updates", "learned", "extrinsic-ep", "sha256"):
        shown.add_column(heading, no_wrap=True)
    for name in shipped_names():
        artefact = find_artefact(name)
        record = artefact.record
        sources = record["evaluation"]["sources"]
        shown.add_row(
            name,
            artefact.task,
            artefact.learn,
            {True: "yes", False: "no", None: ""}[getattr(artefact.network, "sees_action", None)],
            updates_in_words(record),
            *(_mean(sources.get(source)) for source in ("learned", "extrinsic-ep")),
            record["sha256"][:8],
        )
    Console(width=200).print(shown)  # as long as it must be; nothing is cut


def print_card(name: str) -> None:
    """Prints the card of a reward, after verifying it."""
    print(_card_of(find_artefact(name).record, name), end="")


def export(name: str, out: Path, evaluation: Path | None = None, failures: Sequence[str] = ()) -> None:
    """Copies a reward to the new folder `out`, verified.

    evaluation: a JSON of `orexis evaluate` in which this reward is a source; it and `failures`, sentences
    about what the reward is known to do badly, join the record and the card. Raises CommandError.
    """
    if out.exists():
        raise UsageError(f"{out} exists already; name a new folder")
    if not out.absolute().parent.is_dir():
        raise UsageError(f"cannot write {out}: its folder does not exist")
    artefact = find_artefact(name)
    _card_of(artefact.record, name)
    kind = artefact.kind
    folder = locate(name)
    arrays = read_bounded(folder / f"{kind}.safetensors")
    record = read_json(folder / f"{kind}.json")
    record.pop(SEAL, None)
    if evaluation is not None:
        record["evaluation"] = _read_evaluation(evaluation, artefact)
    if failures:
        record["known_failures"] = list(failures)
    if evaluation is not None or failures:
        record["name"] = out.name
    draft = out.with_name(f".{out.name}.tmp-{os.getpid()}")
    draft.mkdir()
    try:
        write_durably(draft / f"{kind}.safetensors", arrays)
        write_durably(draft / f"{kind}.json", json_bytes(seal(record)))
        write_durably(draft / "README.md", write_card(record).encode())
        sync_folder(draft)
        read_artefact(draft)
        swap_folder(draft, out)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _card_of(record: dict[str, Any], name: str) -> str:
    try:
        return write_card(record)
    except DamagedError as error:
        raise BadDataError(f"the record of {name} cannot be shown: {error}; train or fetch it again") from error


def _read_evaluation(path: Path, artefact: Artefact) -> dict[str, Any]:
    """Returns the short form of an evaluation, `artefact` called "learned"; other trainings of the same are marked."""
    digest = artefact.record["sha256"]
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        sources = {
            "learned" if _digest(name) == digest else name: {
                "mean": numbers["mean_episode_return"]["mean"],
                "ci95": numbers["mean_episode_return"]["ci95"],
                "last_ten": numbers["last_ten_episodes"]["mean"],
                **({"same_training": True} if _is_another_seed(name, artefact) else {}),
            }
            for name, numbers in data["sources"].items()
        }
        found = {
            "lifetimes": max(numbers["n"] for numbers in data["sources"].values()),
            "episodes": max(len(numbers["episode_return"]) for numbers in data["sources"].values()),
            "seed": data["seed"],
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadDataError(f"{path} is no evaluation: {error}; write one with orexis evaluate --json") from error
    if "learned" not in sources:
        raise UsageError(f"{path} evaluates other rewards; run orexis evaluate with this one and --json")
    return {**found, "sources": sources}


def _is_another_seed(name: str, artefact: Artefact) -> bool:
    """Returns whether a source's name stands for what `artefact` is, trained with another seed."""
    try:
        other = open_artefact(name)
    except (FileNotFoundError, DamagedError):
        return False
    same = (other.kind, other.task, other.network) == (artefact.kind, artefact.task, artefact.network)
    return same and other.record["sha256"] != artefact.record["sha256"]


def _digest(name: str) -> str | None:
    """Returns the sha256 of the reward that a source's name stands for, None if it stands for none."""
    try:
        return open_artefact(name).record["sha256"]
    except (FileNotFoundError, DamagedError):
        return None


def _mean(numbers: dict[str, Any] | None) -> str:
    return "" if numbers is None else f"{numbers['mean']:.3f}"
