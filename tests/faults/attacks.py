"""Makes a folder of attacks: rewards and checkpoints as somebody who means harm would write them.

    python -m tests.faults.attacks FOLDER

Each is sealed as a real one is, so that nothing is refused for its sha256 alone.
"""

import hashlib
import json
import os
import pickle
import shutil
import struct
import sys
from collections.abc import Callable
from pathlib import Path

from orexis.storage.artefact import kind_in
from orexis.storage.files import sha256_of
from orexis.storage.reading import seal
from tests.storage.rewards import write_reward

PROOF = "orexis-was-here"


class Payload:
    """What runs a command when it is unpickled."""

    def __init__(self, proof: Path):
        self.proof = proof

    def __reduce__(self):
        return os.system, (f"touch {self.proof}",)


def tensors(header: dict | bytes, data: bytes = b"", length: int | None = None) -> bytes:
    """Returns a safetensors file with any header, told to be of any length."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def one(shape: list[int], begin: int, end: int, dtype: str = "F32") -> dict:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def bad_arrays(proof: Path) -> dict[str, bytes]:
    """Returns files in the place of a safetensors file, by what is wrong with them."""
    deep = b'{"a":' * 100_000 + b"1" + b"}" * 100_000
    return {
        "pickle in disguise": pickle.dumps(Payload(proof)),
        "pickle after a header": tensors({}, pickle.dumps(Payload(proof))),
        "zip with a pickle": b"PK\x03\x04" + pickle.dumps(Payload(proof)),
        "header of 2^62 bytes": tensors({}, length=2**62),
        "header of 2^64 - 1 bytes": tensors({}, length=2**64 - 1),
        "header longer than the file": tensors({}, length=1000),
        "header of no bytes": tensors(b"", length=0),
        "header that is no JSON": tensors(b"{" * 50),
        "header that is deep": tensors(deep),
        "header that is a list": tensors(b"[1, 2]"),
        "header that is no text": tensors(b"\xff\xfe\xfd\xfc"),
        "overlapping offsets": tensors({"head.w": one([4, 1], 0, 16), "head.b": one([1], 8, 12)}, bytes(16)),
        "offsets backwards": tensors({"head.w": one([4, 1], 16, 0)}, bytes(16)),
        "offsets beyond the end": tensors({"head.w": one([4, 1], 0, 2**40)}, bytes(16)),
        "offsets that overflow": tensors({"head.w": one([4, 1], 2**64 - 16, 2**64 - 1)}, bytes(16)),
        "negative offsets": tensors({"head.w": one([4, 1], -16, 0)}, bytes(16)),
        "shape bomb": tensors({"head.w": one([2**40, 2**40], 0, 16)}, bytes(16)),
        "shape bomb of nothing": tensors({"head.w": one([0, 2**62, 2**62], 0, 0)}),
        "shape of many ones": tensors({"head.w": one([1] * 100_000, 0, 4)}, bytes(4)),
        "negative shape": tensors({"head.w": one([-4, -1], 0, 16)}, bytes(16)),
        "unknown kind of number": tensors({"head.w": one([4, 1], 0, 16, "F33")}, bytes(16)),
        "kind of number that NumPy lacks": tensors({"head.w": one([4, 2], 0, 16, "BF16")}, bytes(16)),
        "name that climbs": tensors({"../../../../tmp/evil": one([4], 0, 16)}, bytes(16)),
        "name that is empty": tensors({"": one([4], 0, 16)}, bytes(16)),
        "name with a zero": tensors({"head.w\0": one([4, 1], 0, 16)}, bytes(16)),
        "the same name twice": tensors(
            b'{"head.w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},' * 2 + b'"x":1}', bytes(8)
        ),
        "data that nobody names": tensors({}, bytes(10_000)),
        "nothing at all": b"",
        "one byte": b"\x00",
    }


def bad_records(proof: Path) -> dict[str, bytes]:
    """Returns files in the place of a JSON file, by what is wrong with them."""
    return {
        "pickle in disguise": pickle.dumps(Payload(proof)),
        "deep objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        "deep lists": b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
        "a number of a million digits": b'{"format_version": ' + b"9" * 1_000_000 + b"}",
        "no object": b"[1, 2, 3]",
        "no text": b"\xff\xfe\x00\x01",
        "text of UTF-16": '{"format_version": 2}'.encode("utf-16"),
        "a lone surrogate": b'{"format_version": 2, "task": "\\ud800"}',
        "nothing at all": b"",
        "far too long": b'{"a": "' + b"x" * (5 * 2**20) + b'"}',
        "not a number": b'{"format_version": NaN}',
    }


def odd_files(path: Path, proof: Path) -> dict[str, Callable[[], object]]:
    """Returns ways to put something at `path` that is no plain file, by name."""
    return {
        "a pipe": lambda: os.mkfifo(path),
        "a folder": path.mkdir,
        "an endless device": lambda: path.symlink_to("/dev/zero"),
        "a link to itself": lambda: path.symlink_to(path.name),
        "a link to nothing": lambda: path.symlink_to(proof),
        "a terabyte of nothing": lambda: _sparse(path, 2**40),
    }


def _sparse(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.truncate(size)


def write_attacks(folder: Path, learn: str = "reward") -> list[Path]:
    """Writes one folder for each attack, of a reward or of a policy learned so, and returns them; what runs code would
    make the file `PROOF`."""
    proof, places = folder / PROOF, []
    base = write_reward(folder / "base", learn=learn)
    record_name, arrays_name = f"{kind_in(base)}.json", f"{kind_in(base)}.safetensors"

    def place(name: str) -> Path:
        places.append(folder / name.replace(" ", "-").replace("^", ""))
        return Path(shutil.copytree(base, places[-1]))

    for name, data in bad_arrays(proof).items():
        attack = place(f"arrays: {name}")
        (attack / arrays_name).write_bytes(data)
        record = json.loads((attack / record_name).read_text())
        record["sha256"] = hashlib.sha256(data).hexdigest()
        (attack / record_name).write_text(json.dumps(seal(record)))
    for name, data in bad_records(proof).items():
        (place(f"record: {name}") / record_name).write_bytes(data)
    for file_name in (record_name, arrays_name):
        for name in odd_files(Path(), proof):
            attack = place(f"{file_name}: {name}")
            (attack / file_name).unlink()
            odd_files(attack / file_name, proof)[name]()
    shutil.rmtree(base)
    assert not proof.exists()
    return places


def write_checkpoint_attacks(good: Path, folder: Path) -> list[Path]:
    """Writes a copy of the checkpoint folder `good` for each attack, its newest step attacked; returns them."""
    proof, places = folder / PROOF, []

    def place(name: str) -> Path:
        places.append(folder / name.replace(" ", "-").replace("^", ""))
        shutil.copytree(good, places[-1])
        return max(places[-1].glob("step_*"))

    for name, data in bad_arrays(proof).items():
        attack = place(f"arrays: {name}")
        (attack / "state.safetensors").write_bytes(data)
        manifest = json.loads((attack / "manifest.json").read_text())
        manifest["files"]["state.safetensors"] = {
            "size": len(data),
            "sha256": sha256_of(attack / "state.safetensors"),
        }
        (attack / "manifest.json").write_text(json.dumps(seal(manifest)))
    for name, data in bad_records(proof).items():
        (place(f"manifest: {name}") / "manifest.json").write_bytes(data)
    for file_name in ("manifest.json", "state.safetensors"):
        for name in odd_files(Path(), proof):
            attack = place(f"{file_name}: {name}")
            (attack / file_name).unlink()
            odd_files(attack / file_name, proof)[name]()
    return places


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir(parents=True)
    print(len(write_attacks(Path(sys.argv[1]))), "attacks")
