"""Reward artefacts: a folder with `reward.safetensors`, `reward.json` and a card, `README.md`.

Reading one runs no code, needs no JAX and trusts nothing: sizes are bounded before anything is
read, the arrays are used only if their sha256 is the one in `reward.json`, and `reward.json`
only if its own is the one that it ends with.
"""

import dataclasses
import hashlib
import math
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from orexis.config import HistoryNetConfig, TaskSpec
from orexis.config_json import from_json, to_json
from orexis.networks import egocentric
from orexis.storage.card import write_card
from orexis.storage.files import json_bytes, pack_arrays, swap_folder, sync_folder, write_durably
from orexis.storage.reading import DamagedError, check_seal, identity, read_bounded, read_json, seal, unpack_arrays

FORMAT_VERSION = 2
READABLE = (1, 2)  # 1 is 2 without the record's own sha256


@dataclasses.dataclass(frozen=True)
class Artefact:
    """A learned reward as it lies on disk."""

    task: str
    spec: TaskSpec
    network: HistoryNetConfig
    params: dict[str, dict[str, np.ndarray]]
    record: dict[str, Any]  # the rest of reward.json: config, training budget, evaluation, versions


def read_artefact(folder: Path) -> Artefact:
    """Returns the artefact in `folder`, verified. Raises DamagedError, or FileNotFoundError if there is none.

    A run that is training replaces the folder while we read: then what was read is of two
    artefacts, and is read again.
    """
    for _ in range(8):
        before = identity(folder)
        try:
            return _read(folder)
        except (DamagedError, FileNotFoundError):
            if identity(folder) == before:
                raise
    return _read(folder)


def _read(folder: Path) -> Artefact:
    if not (folder / "reward.json").is_file():
        raise FileNotFoundError(f"no reward in {folder}: it has no reward.json")
    record = read_json(folder / "reward.json")
    version = record.get("format_version")
    if version not in READABLE:
        raise DamagedError(
            f"the reward in {folder} has format version {version!r}; this Orexis reads {_listed(READABLE)}"
        )
    if version >= 2:
        check_seal(record, folder / "reward.json")
    data = read_bounded(folder / "reward.safetensors")
    if hashlib.sha256(data).hexdigest() != record.get("sha256"):
        raise DamagedError(f"{folder / 'reward.safetensors'} is damaged: its sha256 is not the one in reward.json")
    tensors = unpack_arrays(data, folder / "reward.safetensors")
    try:
        spec = from_json(TaskSpec, record.get("spec"), "spec")
        network = from_json(HistoryNetConfig, record.get("network"), "network")
        egocentric.check_view(spec, network)
        task = record.get("task")
        if not isinstance(task, str):
            raise ValueError(f"its task must be a name, not {task!r}")
    except ValueError as error:
        raise DamagedError(f"the reward in {folder} cannot be read: {error}") from error
    params: dict[str, dict[str, np.ndarray]] = {}
    for name, array in tensors.items():
        layer, _, leaf = name.partition(".")
        params.setdefault(layer, {})[leaf] = array
    _check_arrays(folder, params, expected_shapes(spec, network))
    return Artefact(task=task, spec=spec, network=network, params=params, record=record)


def write_artefact(
    place: Path,
    task: str,
    spec: TaskSpec,
    network: HistoryNetConfig,
    params: dict[str, dict[str, Any]],
    record: dict[str, Any],
) -> None:
    """Writes the reward `params` to the folder `place`, replacing what was there in one step.

    `record` holds what else reward.json tells: config, training budget, evaluation, versions.
    """
    arrays = {
        f"{layer}.{leaf}": np.asarray(array, np.float32)
        for layer, leaves in params.items()
        for leaf, array in leaves.items()
    }
    draft = place.with_name(f".{place.name}.tmp-{os.getpid()}")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    try:
        digest = write_durably(draft / "reward.safetensors", pack_arrays(arrays))
        full = {
            "format_version": FORMAT_VERSION,
            "task": task,
            "spec": to_json(spec),
            "network": to_json(network),
            "sha256": digest,
            **record,
        }
        write_durably(draft / "reward.json", json_bytes(seal(full)))
        write_durably(draft / "README.md", write_card(full).encode())
        sync_folder(draft)
        swap_folder(draft, place)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)  # a full disk needs the room
        raise


def expected_shapes(spec: TaskSpec, network: HistoryNetConfig) -> dict[str, dict[str, tuple[int, ...]]]:
    """Returns the shape of every array of a reward network, by layer and name."""
    units = network.num_units
    num_inputs = network.num_hidden + egocentric.num_told(spec, network)
    core = (
        {"wx": (num_inputs, 4 * units), "wh": (units, 4 * units), "b": (4 * units,)}
        if network.history == "lstm"
        else {"w": (num_inputs, units), "b": (units,)}
    )
    return {**_torso_shapes(spec, network), "core": core, "head": {"w": (units, 1), "b": (1,)}}


def _torso_shapes(spec: TaskSpec, network: HistoryNetConfig) -> dict[str, dict[str, tuple[int, ...]]]:
    height, width, planes = spec.observation_shape
    bias = (network.num_hidden,)
    if egocentric.replaces_planes(spec, network):
        return {"hidden": {"w": (egocentric.num_features(spec.observation_shape), network.num_hidden), "b": bias}}
    return {
        "conv": {"w": (9 * planes, network.num_filters), "b": (network.num_filters,)},
        "hidden": {"w": (height * width * network.num_filters, network.num_hidden), "b": bias},
    }


def _check_arrays(folder: Path, params: dict, expected: dict[str, dict[str, tuple[int, ...]]]) -> None:
    found = {layer: {leaf: array.shape for leaf, array in leaves.items()} for layer, leaves in params.items()}
    if found != expected:
        raise DamagedError(f"the arrays of {folder} do not fit its spec: {_mismatch(expected, found)}")
    for layer, leaves in params.items():
        for leaf, array in leaves.items():
            if array.dtype != np.float32 or not math.isfinite(float(np.abs(array, dtype=np.float64).sum())):
                raise DamagedError(f"array {layer}.{leaf} of {folder} must be finite float32")


def _mismatch(expected: dict[str, dict], found: dict[str, dict]) -> str:
    """Returns the first array that is not as expected, in words."""
    wanted, there = (
        {f"{layer}.{leaf}": shape for layer, leaves in tree.items() for leaf, shape in leaves.items()}
        for tree in (expected, found)
    )
    name = min(name for name in {*wanted, *there} if wanted.get(name) != there.get(name))
    return f"{name[:80]} should be {wanted.get(name, 'absent')} and is {there.get(name, 'absent')}"


def _listed(versions: tuple[int, ...]) -> str:
    return " and ".join(str(version) for version in versions)
