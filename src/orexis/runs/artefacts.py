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
        write_durably(draft / "README.md", _card(full).encode())
        sync_folder(draft)
        swap_folder(draft, place)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)  # a full disk needs the room
        raise


def _card(record: dict[str, Any]) -> str:
    """Returns the card that a person reads first."""
    training = record.get("training", {})
    network = record["network"]
    lines = [
        f"# A learned intrinsic reward for `{record['task']}`",
        "",
        'Learned by Orexis after Zheng et al., "What Can Learned Intrinsic Rewards Capture?" (ICML 2020). Use it with',
        "",
        "```python",
        "import orexis",
        "reward = orexis.load_reward('path/to/this/folder')",
        "reward.begin(num_envs=1)          # once a lifetime",
        "intrinsic = reward.step(arrival, action, extrinsic, done)",
        "```",
        "",
        "| | |",
        "|---|---|",
        f"| task | `{record['task']}` |",
        f"| updates of the reward | {training.get('updates', '?')} |",
        f"| lifetimes in parallel | {training.get('lifetimes', '?')} |",
        f"| environment steps | {training.get('env_steps', '?')} |",
        f"| seed | {training.get('seed', '?')} |",
        f"| memory | {network['history']} |",
        f"| sees the action | {'yes' if network['sees_action'] else 'no'} |",
        f"| sha256 of the arrays | `{record['sha256']}` |",
    ]
    evaluation = record.get("evaluation")
    if evaluation:
        lines += ["", "## Evaluation on fresh agents", "", "| source | mean of an episode | 95 % interval | last ten |"]
        lines += ["|---|---|---|---|"]
        for name, numbers in evaluation["sources"].items():
            low, high = numbers["ci95"]
            lines.append(f"| {name} | {numbers['mean']:.3f} | {low:.3f} to {high:.3f} | {numbers['last_ten']:.3f} |")
        lines += ["", f"{evaluation['lifetimes']} lifetimes, seed {evaluation['seed']}."]
    return "\n".join(lines) + "\n"
