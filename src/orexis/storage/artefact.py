"""Artefacts, learned rewards and learned policies: a folder of arrays, a record and a card, `README.md`.

    a reward   reward.safetensors   reward.json
    a policy   policy.safetensors   policy.json     its record says `kind: policy`, and how it was learned: rl2 or maml

Reading one runs no code, needs no JAX and trusts nothing: sizes are bounded before anything is
read, the arrays are used only if their sha256 is the one in the record, and the record
only if its own is the one that it ends with.
"""

import dataclasses
import hashlib
import math
import os
import shutil
from pathlib import Path
from typing import Any, Literal

import numpy as np

from orexis.config import HistoryNetConfig, Learn, PolicyNetConfig, TaskSpec
from orexis.config_json import from_json, to_json
from orexis.networks import clock, egocentric
from orexis.storage.card import write_card
from orexis.storage.files import json_bytes, pack_arrays, swap_folder, sync_folder, write_durably
from orexis.storage.reading import DamagedError, check_seal, identity, read_bounded, read_json, seal, unpack_arrays

FORMAT_VERSION = 2
READABLE = (1, 2)  # 1 is 2 without the record's own sha256


Kind = Literal["reward", "policy"]
Network = HistoryNetConfig | PolicyNetConfig
Shapes = dict[str, dict[str, tuple[int, ...]]]

NETWORKS: dict[Learn, type[Network]] = {"reward": HistoryNetConfig, "rl2": HistoryNetConfig, "maml": PolicyNetConfig}


@dataclasses.dataclass(frozen=True)
class Artefact:
    """What was learned, as it lies on disk."""

    task: str
    spec: TaskSpec
    network: Any  # HistoryNetConfig, of an initialisation (maml) PolicyNetConfig
    params: dict[str, dict[str, np.ndarray]]
    record: dict[str, Any]  # the rest of the record: config, training budget, evaluation, versions
    learn: Learn = "reward"

    @property
    def kind(self) -> Kind:
        return kind_of(self.learn)


def kind_of(learn: Learn) -> Kind:
    """Returns which kind of artefact holds what was learned so: the name of its folder in a run, and of its files."""
    return "reward" if learn == "reward" else "policy"


def kind_in(folder: Path) -> Kind:
    """Returns which kind of artefact a folder holds, by its record's name; a reward if it holds none."""
    return "policy" if (folder / "policy.json").is_file() and not (folder / "reward.json").exists() else "reward"


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
    kind = kind_in(folder)
    path, arrays = folder / f"{kind}.json", folder / f"{kind}.safetensors"
    if not path.is_file():
        raise FileNotFoundError(f"no reward in {folder}: it has no reward.json, nor a policy.json")
    record = read_json(path)
    version = record.get("format_version")
    if version not in READABLE:
        raise DamagedError(
            f"the {kind} in {folder} has format version {version!r}; this Orexis reads {_listed(READABLE)}"
        )
    if version >= 2 or kind == "policy":
        check_seal(record, path)
    data = read_bounded(arrays)
    if hashlib.sha256(data).hexdigest() != record.get("sha256"):
        raise DamagedError(f"{arrays} is damaged: its sha256 is not the one in {path.name}")
    tensors = unpack_arrays(data, arrays)
    try:
        learn = _read_learn(record, kind)
        spec = from_json(TaskSpec, record.get("spec"), "spec")
        network = from_json(NETWORKS[learn], record.get("network"), "network")
        if isinstance(network, HistoryNetConfig):
            egocentric.check_view(spec, network)
            if kind == "policy":
                clock.check_policy(network)
        task = record.get("task")
        if not isinstance(task, str):
            raise ValueError(f"its task must be a name, not {task!r}")
    except ValueError as error:
        raise DamagedError(f"the {kind} in {folder} cannot be read: {error}") from error
    params: dict[str, dict[str, np.ndarray]] = {}
    for name, array in tensors.items():
        layer, _, leaf = name.partition(".")
        params.setdefault(layer, {})[leaf] = array
    _check_arrays(folder, params, expected_shapes(spec, network, learn))
    return Artefact(task=task, spec=spec, network=network, params=params, record=record, learn=learn)


def _read_learn(record: dict[str, Any], kind: Kind) -> Learn:
    """Returns how what `record` describes was learned. Raises ValueError if that is not of the `kind` it lies as."""
    told, learn = record.get("kind", "reward"), record.get("learn", "reward")
    if told != kind or learn not in list(NETWORKS) or kind_of(learn) != kind:
        raise ValueError(f"it says that it is a {told!r} learned as {learn!r}, and lies there as a {kind}")
    return learn


def write_artefact(
    place: Path,
    task: str,
    spec: TaskSpec,
    network: Network,
    params: dict[str, dict[str, Any]],
    record: dict[str, Any],
    learn: Learn = "reward",
) -> None:
    """Writes the reward or policy `params` to the folder `place`, replacing what was there in one step.

    `record` holds what else is told of it: config, training budget, evaluation, versions.
    """
    kind = kind_of(learn)
    arrays = {
        f"{layer}.{leaf}": np.asarray(array, np.float32)
        for layer, leaves in params.items()
        for leaf, array in leaves.items()
    }
    draft = place.with_name(f".{place.name}.tmp-{os.getpid()}")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    try:
        digest = write_durably(draft / f"{kind}.safetensors", pack_arrays(arrays))
        full = {
            "format_version": FORMAT_VERSION,
            **({} if kind == "reward" else {"kind": kind, "learn": learn}),
            "task": task,
            "spec": to_json(spec),
            "network": to_json(network),
            "sha256": digest,
            **record,
        }
        write_durably(draft / f"{kind}.json", json_bytes(seal(full)))
        write_durably(draft / "README.md", write_card(full).encode())
        sync_folder(draft)
        swap_folder(draft, place)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)  # a full disk needs the room
        raise


def expected_shapes(spec: TaskSpec, network: Network, learn: Learn = "reward") -> Shapes:
    """Returns the shape of every array of a reward or policy network, by layer and name."""
    if isinstance(network, PolicyNetConfig):
        heads = {"policy": spec.num_actions, "value": 1}
        return {
            **_planes_shapes(spec, network),
            **{head: {"w": (network.num_hidden, size), "b": (size,)} for head, size in heads.items()},
        }
    units, outputs = network.num_units, 1 if learn == "reward" else spec.num_actions
    num_inputs = network.num_hidden + egocentric.num_told(spec, network)
    core: dict[str, tuple[int, ...]] = (
        {"wx": (num_inputs, 4 * units), "wh": (units, 4 * units), "b": (4 * units,)}
        if network.history == "lstm"
        else {"w": (num_inputs, units), "b": (units,)}
    )
    return {**_torso_shapes(spec, network), "core": core, "head": {"w": (units, outputs), "b": (outputs,)}}


def _torso_shapes(spec: TaskSpec, network: HistoryNetConfig) -> Shapes:
    if not egocentric.replaces_planes(spec, network):
        return _planes_shapes(spec, network)
    return {"hidden": {"w": (egocentric.num_seen(spec, network), network.num_hidden), "b": (network.num_hidden,)}}


def _planes_shapes(spec: TaskSpec, network: Network) -> Shapes:
    height, width, planes = spec.observation_shape
    return {
        "conv": {"w": (9 * planes, network.num_filters), "b": (network.num_filters,)},
        "hidden": {"w": (height * width * network.num_filters, network.num_hidden), "b": (network.num_hidden,)},
    }


def _check_arrays(folder: Path, params: dict, expected: Shapes) -> None:
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
