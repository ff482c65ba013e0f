"""Every loader, fed with what hypothesis comes up with: bytes, near misses, and records of odd values well sealed.

Whatever comes, a loader returns what it promises or raises the error that it promises, and nothing else.
"""

import contextlib
import functools
import hashlib
import json
import math
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orexis.cli import main
from orexis.config import MetaConfig, RunConfig
from orexis.config_json import from_json, to_json
from orexis.errors import BAD_DATA, OK, BadDataError
from orexis.storage import checkpoint
from orexis.storage.artefact import read_artefact
from orexis.storage.files import json_bytes
from orexis.storage.reading import DamagedError, read_json, seal, unpack_arrays
from orexis.tools.doctor import examine
from orexis.training.columns import NAMES
from orexis.training.folder import read_config
from orexis.training.loop import Progress
from orexis.training.writers import MetricsFile, Totals
from tests.faults import children
from tests.storage.rewards import write_reward
from tests.training.tiny import TINY

FEW, MANY = 60, 400
EXAMPLES: Counter[str] = Counter()


def fuzz(**strategies) -> Callable[[Callable], Callable]:
    """Makes two tests of one: itself with `FEW` examples and, for the slow suite, NAME_many_times with `MANY`."""

    def decorate(test: Callable) -> Callable:
        many = f"{test.__name__}_many_times"
        globals()[many] = pytest.mark.slow(fuzzed(test, many, MANY, strategies))
        return fuzzed(test, test.__name__, FEW, strategies)

    return decorate


def fuzzed(test: Callable, name: str, num_examples: int, strategies: dict) -> Callable:
    """Returns `test` as hypothesis calls it, with the same examples every time, and counted."""

    @functools.wraps(test)
    def counted(*arguments, **options):
        EXAMPLES[name] += 1
        return test(*arguments, **options)

    counted.__name__ = name
    return settings(
        max_examples=num_examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )(given(**strategies)(counted))


@pytest.fixture(autouse=True)
def report_trials(request, record_property):
    yield
    record_property("trials", EXAMPLES[request.node.name])


json_values = st.recursive(
    st.sampled_from([None, True, -1, -1.0, math.inf, math.nan]) | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def mutated(draw, original: bytes) -> bytes:
    """Returns `original` with bytes changed, cut out or put in."""
    data = bytearray(original)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        length = draw(st.integers(0, 12))
        data[start : start + length] = draw(st.binary(max_size=12))
    return bytes(data)


def changed(record: dict, draw) -> dict:
    """Returns a copy of a nested record with one value, somewhere in it, replaced by something else or taken out."""
    copy = json.loads(json.dumps(record))
    inner = copy
    while True:
        name = draw(st.sampled_from(sorted(inner)))
        if isinstance(inner[name], dict) and inner[name] and draw(st.booleans()):
            inner = inner[name]
            continue
        if draw(st.booleans()):
            inner[name] = draw(json_values)
        else:
            del inner[name]
        return copy


@pytest.fixture(scope="module")
def reward(tmp_path_factory) -> Path:
    return write_reward(tmp_path_factory.mktemp("reward") / "reward", training={"updates": 3})


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory) -> Path:
    run_dir = tmp_path_factory.mktemp("run")
    for step in (1, 2):
        children.save_once(run_dir, step)
    return run_dir


def read_or_refuse(folder: Path) -> None:
    """Reads a reward; anything but a reward of finite float32 or the promised errors is an error."""
    try:
        artefact = read_artefact(folder)
    except DamagedError:
        return
    assert isinstance(artefact.task, str)
    assert all(np.isfinite(x).all() for leaves in artefact.params.values() for x in leaves.values())


@fuzz(data=st.data())
def test_rewards(tmp_path_factory, reward, data):
    folder = tmp_path_factory.mktemp("fuzz") / "reward"
    shutil.copytree(reward, folder)
    record = json.loads((reward / "reward.json").read_text())
    arrays = (reward / "reward.safetensors").read_bytes()
    kind = data.draw(st.sampled_from(["record", "record bytes", "arrays", "arrays bytes"]))
    if kind == "record":
        (folder / "reward.json").write_text(json.dumps(seal(changed(record, data.draw))))
    elif kind == "record bytes":
        (folder / "reward.json").write_bytes(data.draw(st.binary(max_size=200) | mutated(json.dumps(record).encode())))
    else:
        arrays = data.draw(mutated(arrays) if kind == "arrays" else st.binary(max_size=200))
        (folder / "reward.safetensors").write_bytes(arrays)
        record["sha256"] = hashlib.sha256(arrays).hexdigest()
        (folder / "reward.json").write_text(json.dumps(seal(record)))
    read_or_refuse(folder)
    shutil.rmtree(folder)


@fuzz(data=st.data())
def test_checkpoints(tmp_path_factory, run_dir, data):
    folder = tmp_path_factory.mktemp("fuzz") / "checkpoints"
    shutil.copytree(run_dir / "checkpoints", folder)
    place = folder / "step_00000002"
    manifest = json.loads((place / "manifest.json").read_text())
    kind = data.draw(st.sampled_from(["manifest", "manifest bytes", "arrays"]))
    if kind == "manifest":
        (place / "manifest.json").write_text(json.dumps(seal(changed(manifest, data.draw))))
    elif kind == "manifest bytes":
        changed_bytes = st.binary(max_size=200) | mutated((place / "manifest.json").read_bytes())
        (place / "manifest.json").write_bytes(data.draw(changed_bytes))
    else:
        arrays = data.draw(mutated((place / "state.safetensors").read_bytes()))
        (place / "state.safetensors").write_bytes(arrays)
        manifest["files"]["state.safetensors"] = {"size": len(arrays), "sha256": hashlib.sha256(arrays).hexdigest()}
        (place / "manifest.json").write_text(json.dumps(seal(manifest)))
    try:
        found = checkpoint.load_latest(folder, children.TEMPLATE, lambda message: None)
    except BadDataError:
        found = None
    if found is not None:
        assert found[1]["step"] in (1, 2)
        assert found[0]["w"].shape == (50, 20)
    shutil.rmtree(folder)


@fuzz(data=st.data())
def test_configs(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("fuzz")
    record = {"format_version": 1, **to_json(TINY)}
    text = data.draw(st.binary(max_size=100) | mutated(json.dumps(record).encode()) | st.none())
    text = json.dumps(changed(record, data.draw)).encode() if text is None else text
    (folder / "config.json").write_bytes(text)
    try:
        config = read_config(folder)
    except BadDataError:
        return
    assert from_json(RunConfig, to_json(config)) == config


@fuzz(value=json_values)
def test_any_value_in_the_place_of_a_config(value):
    for kind in (RunConfig, MetaConfig):
        with pytest.raises(ValueError, match="config"):
            from_json(kind, value)


@fuzz(data=st.data())
def test_progress(data):
    manifest = {"step": 4, **Progress(Totals(4), step=4).to_manifest()}
    try:
        progress = Progress.from_manifest(changed(manifest, data.draw), 4)
    except BadDataError:
        return
    json_bytes(progress.to_manifest())  # what was read can be saved again
    assert progress.totals.row().keys() <= set(NAMES)


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory) -> Path:
    """A run folder at its fourth update, made without training."""
    run_dir = tmp_path_factory.mktemp("whole")
    (run_dir / "config.json").write_bytes(json_bytes({"format_version": 1, **to_json(TINY)}))
    metrics = MetricsFile(run_dir / "metrics.csv", 0, None, pytest.fail)
    metrics.append({name: 3 for name in NAMES})
    progress = Progress(Totals(4), step=4, metrics_bytes=metrics.offset())
    metrics.close()
    about = {"config": to_json(TINY), **progress.to_manifest()}
    checkpoint.save(run_dir / "checkpoints", 4, children.make_state(4), about)
    write_reward(run_dir / "reward", training={"updates": 4})
    assert examine(run_dir).code == OK
    return run_dir


@fuzz(data=st.data())
def test_the_doctor(tmp_path_factory, whole_run, data):
    run_dir = tmp_path_factory.mktemp("fuzz") / "run"
    shutil.copytree(whole_run, run_dir)
    files = sorted(path for path in run_dir.rglob("*") if path.is_file())
    path = data.draw(st.sampled_from(files))
    if path.suffix == ".json" and data.draw(st.booleans()):
        record = changed(json.loads(path.read_text()), data.draw)
        path.write_text(json.dumps(record if path.name == "config.json" else seal(record)))
    else:
        path.write_bytes(data.draw(mutated(path.read_bytes())))
    diagnosis = examine(run_dir)
    assert diagnosis.code in (OK, BAD_DATA)
    assert diagnosis.outlook.startswith("a resume would ")
    shutil.rmtree(run_dir)


@fuzz(content=st.binary(max_size=300), offset=st.integers(0, 400))
def test_metrics(tmp_path_factory, content: bytes, offset: int):
    path = tmp_path_factory.mktemp("fuzz") / "metrics.csv"
    path.write_bytes(content)
    file = MetricsFile(path, offset, None, lambda message: None)
    file.append({name: 1.5 for name in NAMES})
    file.close()
    lines = path.read_text().splitlines()
    assert lines[0] == ",".join(NAMES)
    assert lines[-1] == ",".join(["1.5"] * len(NAMES))


@fuzz(data=st.binary(max_size=300))
def test_bytes(tmp_path_factory, data: bytes):
    path = tmp_path_factory.mktemp("fuzz") / "file"
    path.write_bytes(data)
    for load in (read_json, lambda path: unpack_arrays(path.read_bytes(), path)):
        with contextlib.suppress(DamagedError):
            assert isinstance(load(path), dict)


options = [
    "--updates",
    "--seed",
    "--lifetimes",
    "--json",
    "--task",
    "--resume",
    "--agent.optimizer",
    "--help",
    "--debug",
]
words = st.sampled_from(["train", "evaluate", "doctor", "bandit", "random", *options]) | st.text(max_size=10)


@fuzz(line=st.lists(words, max_size=5))
def test_command_lines(line: list[str], capsys, monkeypatch, tmp_path_factory):
    # Nothing is trained, evaluated or shown: only what is refused before that is of interest.
    monkeypatch.chdir(tmp_path_factory.mktemp("fuzz"))
    for name in (
        "training.train.train",
        "evaluation.evaluate.evaluate",
        "tools.demo.demo",
        "tools.play.play",
        "bench.compare.bench",
    ):
        monkeypatch.setattr(f"orexis.{name}", lambda *arguments: 0, raising=False)
    if "evaluate" in line[:1] or "bench" in line[:1]:
        line = [*line, "--dance"]
    try:
        code = main(line)
    except SystemExit as stop:
        code = stop.code or 0
    assert code in (0, 2), (line, capsys.readouterr())
