"""Reward artefacts: a folder with `reward.safetensors`, `reward.json` and a card, `README.md`.

Reading one runs no code, needs no JAX and trusts nothing: sizes are bounded before anything is
read, and the arrays are used only if their sha256 is the one in `reward.json`.
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

FORMAT_VERSION = 1
MAX_BYTES = 64 * 2**20  # a reward has well under a megabyte


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
    """Returns the artefact in `folder`, verified. Raises DamagedError, or FileNotFoundError if there is none."""
    if not (folder / "reward.json").is_file():
        raise FileNotFoundError(f"no reward in {folder}: it has no reward.json")
    record = read_json(folder / "reward.json")
    version = record.get("format_version")
    if version != FORMAT_VERSION:
        raise DamagedError(f"the reward in {folder} has format version {version!r}; this Orexis reads {FORMAT_VERSION}")
    data = read_bounded(folder / "reward.safetensors")
    digest = hashlib.sha256(data).hexdigest()
    if digest != record.get("sha256"):
        raise DamagedError(f"{folder / 'reward.safetensors'} is damaged: its sha256 is not the one in reward.json")
    try:
        spec = from_json(TaskSpec, record.get("spec"), "spec")
        network = from_json(HistoryNetConfig, record.get("network"), "network")
        task = record["task"]
        tensors = load_tensors(data)
    except (ValueError, KeyError, TypeError, SafetensorError) as error:
        raise DamagedError(f"the reward in {folder} cannot be read: {error}") from error
    params: dict[str, dict[str, np.ndarray]] = {}
    for name, array in tensors.items():
        layer, _, leaf = name.partition(".")
        params.setdefault(layer, {})[leaf] = array
    _check_shapes(folder, params, spec, network)
    return Artefact(task=task, spec=spec, network=network, params=params, record=record)


def expected_shapes(spec: TaskSpec, network: HistoryNetConfig) -> dict[str, dict[str, tuple[int, ...]]]:
    """Returns the shape of every array of a reward network, by layer and name."""
    height, width, planes = spec.observation_shape
    units = network.num_units
    num_inputs = network.num_hidden + 2 + (spec.num_actions if network.sees_action else 0)
    core = (
        {"wx": (num_inputs, 4 * units), "wh": (units, 4 * units), "b": (4 * units,)}
        if network.history == "lstm"
        else {"w": (num_inputs, units), "b": (units,)}
    )
    return {
        "conv": {"w": (9 * planes, network.num_filters), "b": (network.num_filters,)},
        "hidden": {"w": (height * width * network.num_filters, network.num_hidden), "b": (network.num_hidden,)},
        "core": core,
        "head": {"w": (units, 1), "b": (1,)},
    }


def read_bounded(path: Path, limit: int = MAX_BYTES) -> bytes:
    """Returns a file's bytes. Raises DamagedError if it is missing, not a plain file, or larger than `limit`."""
    if not path.is_file():
        raise DamagedError(f"{path} is missing or not a file")
    if path.stat().st_size > limit:
        raise DamagedError(f"{path} has {path.stat().st_size} bytes, more than the {limit} that are plausible")
    return path.read_bytes()


def read_json(path: Path) -> dict[str, Any]:
    """Returns the object in a JSON file. Raises DamagedError for anything else."""
    try:
        data = json.loads(read_bounded(path, 4 * 2**20))
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{path} is not valid JSON: {error}") from error
    if not isinstance(data, dict):
        raise DamagedError(f"{path} must hold an object, not {type(data).__name__}")
    return data


def _check_shapes(folder: Path, params: dict, spec: TaskSpec, network: HistoryNetConfig) -> None:
    expected = expected_shapes(spec, network)
    found = {layer: {leaf: array.shape for leaf, array in leaves.items()} for layer, leaves in params.items()}
    if found != expected:
        raise DamagedError(f"the arrays of {folder} do not fit its spec: expected {expected}, found {found}")
    for layer, leaves in params.items():
        for leaf, array in leaves.items():
            if array.dtype != np.float32 or not math.isfinite(float(np.abs(array).sum())):
                raise DamagedError(f"array {layer}.{leaf} of {folder} must be finite float32")
