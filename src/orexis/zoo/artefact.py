"""Reward artefacts: a folder with `reward.safetensors`, `reward.json` and a card, `README.md`.

Reading one runs no code, needs no JAX and trusts nothing: sizes are bounded before anything is
read, the arrays are used only if their sha256 is the one in `reward.json`, and `reward.json`
only if its own is the one that it ends with.
"""

import dataclasses
import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors

from orexis.config import HistoryNetConfig, TaskSpec, from_json
from orexis.networks import egocentric

FORMAT_VERSION = 2
READABLE = (1, 2)  # 1 is 2 without the record's own sha256
MAX_BYTES = 64 * 2**20  # a reward has well under a megabyte
MAX_JSON_BYTES = 4 * 2**20
SEAL = "record_sha256"


class DamagedError(ValueError):
    """A file is damaged, hostile or of another version; the message says which file and why."""


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
        before = _identity(folder)
        try:
            return _read(folder)
        except (DamagedError, FileNotFoundError):
            if _identity(folder) == before:
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


def read_bounded(path: Path, limit: int = MAX_BYTES) -> bytes:
    """Returns a file's bytes. Raises DamagedError if it is missing, not a plain file, or larger than `limit`."""
    if not path.is_file():
        raise DamagedError(f"{path} is missing or not a file")
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise DamagedError(f"{path} cannot be read: {error.strerror}") from error
    if len(data) > limit:
        raise DamagedError(f"{path} has more than the {limit} bytes that are plausible")
    return data


def read_json(path: Path) -> dict[str, Any]:
    """Returns the object in a JSON file. Raises DamagedError for anything else."""
    try:
        data = json.loads(read_bounded(path, MAX_JSON_BYTES))
    except DamagedError:
        raise
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{path} is not valid JSON: {error}") from error
    if not isinstance(data, dict):
        raise DamagedError(f"{path} must hold an object, not {type(data).__name__}")
    return data


def unpack_arrays(data: bytes, path: Path) -> dict[str, np.ndarray]:
    """Returns the named arrays in safetensors bytes, read from `path`. Raises DamagedError for anything else."""
    try:
        return load_tensors(data)
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise DamagedError(f"{path} cannot be read: {error}") from error


def seal(record: dict[str, Any]) -> dict[str, Any]:
    """Returns `record` with the sha256 of all that it says, so that a flipped bit in it is noticed."""
    return {**record, SEAL: _digest(record)}


def check_seal(record: dict[str, Any], path: Path) -> None:
    """Raises DamagedError if a record, read from `path`, does not say what it said when it was sealed."""
    if record.get(SEAL) != _digest(record):
        raise DamagedError(f"{path} is damaged: its sha256 is not the one that it ends with")


def _digest(record: dict[str, Any]) -> str:
    said = {name: value for name, value in record.items() if name != SEAL}
    try:
        text = json.dumps(said, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    except RecursionError as error:
        raise DamagedError("a record is nested too deeply") from error
    return hashlib.sha256(text.encode()).hexdigest()


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


def _identity(folder: Path) -> tuple[int, int] | None:
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _listed(versions: tuple[int, ...]) -> str:
    return " and ".join(str(version) for version in versions)
