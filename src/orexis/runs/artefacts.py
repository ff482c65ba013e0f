"""Writing a reward artefact: the arrays, the record and the card, swapped into place together."""

import os
import shutil
from pathlib import Path
from typing import Any

import jax
import numpy as np

from orexis.config import HistoryNetConfig, TaskSpec, to_json
from orexis.runs.files import json_bytes, pack_arrays, swap_folder, sync_folder, write_durably
from orexis.types import PyTree
from orexis.zoo.artefact import FORMAT_VERSION, seal
from orexis.zoo.card import write_card


def write_artefact(
    place: Path, task: str, spec: TaskSpec, network: HistoryNetConfig, params: PyTree, record: dict[str, Any]
) -> None:
    """Writes the reward `params` to the folder `place`, replacing what was there in one step.

    `record` holds what else reward.json tells: config, training budget, evaluation, versions.
    """
    arrays = {
        f"{layer}.{leaf}": np.asarray(array, np.float32)
        for layer, leaves in jax.device_get(params).items()
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
