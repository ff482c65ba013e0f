"""What a run tells besides metrics.csv: events for TensorBoard, and lines for people."""

import importlib.util
import math
import os
import signal
import struct
from pathlib import Path

import pytest

from orexis.api import train as train_by_api
from orexis.cli import main
from orexis.errors import OK, PREEMPTED, USAGE, UsageError
from orexis.training import setup
from orexis.training.columns import HEADINGS, read_metrics
from orexis.training.train import train
from tests.training.test_train import interfere, train_and_crash
from tests.training.tiny import TINY, remembered_engine, with_updates

needs_tensorboard = pytest.mark.skipif(
    importlib.util.find_spec("tensorboardX") is None, reason="the extra tensorboard is not installed"
)


@pytest.fixture(autouse=True)
def compiled_once(monkeypatch):
    monkeypatch.setattr(setup, "make_engine", remembered_engine)


def read_events(run_dir: Path) -> list:
    """Returns the events of the one file that there is, every record whole and its checksums right."""
    from tensorboardX.proto.event_pb2 import Event
    from tensorboardX.record_writer import masked_crc32c

    (path,) = (run_dir / "tensorboard").iterdir()
    data, events = path.read_bytes(), []
    while data:
        head, checksum = data[:8], struct.unpack("<I", data[8:12])[0]
        assert checksum == masked_crc32c(head)
        (length,) = struct.unpack("<Q", head)
        record, rest = data[12 : 12 + length], data[12 + length :]
        assert struct.unpack("<I", rest[:4])[0] == masked_crc32c(record)
        events.append(Event.FromString(record))
        data = rest[4:]
    return events


def scalars(run_dir: Path) -> list[tuple[int, dict[str, float]]]:
    """Returns the update and the values by tag of each event that has some."""
    return [
        (event.step, {value.tag: value.simple_value for value in event.summary.value})
        for event in read_events(run_dir)
        if event.HasField("summary")
    ]


@pytest.fixture(scope="module")
def straight(tmp_path_factory) -> Path:
    """A run of twelve updates that nothing disturbed, with its events."""
    if importlib.util.find_spec("tensorboardX") is None:
        pytest.skip("the extra tensorboard is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(setup, "make_engine", remembered_engine)
        run_dir = tmp_path_factory.mktemp("straight") / "run"
        assert train(run_dir, TINY, resume=False, log="tensorboard") == OK
    return run_dir


def test_events_are_the_rows_of_the_file(straight):
    columns = read_metrics(straight / "metrics.csv")
    events = scalars(straight)
    assert [update for update, _ in events] == columns["update"].tolist() == [3, 6, 9, 12]
    for place, (_, values) in enumerate(events):
        known = {name: columns[name][place] for name in HEADINGS if not math.isnan(columns[name][place])}
        assert {tag.split("/")[1]: value for tag, value in values.items()} == pytest.approx(known, rel=1e-6)
    tags = set(events[-1][1])
    assert "training/episode_return" in tags
    first, start, *rows = read_events(straight)
    assert first.file_version == "brain.Event:2"
    assert start.session_log.status == start.session_log.START
    times = [event.wall_time for event in rows]
    assert times[-1] - times[0] == pytest.approx(columns["wall_s"][-1] - columns["wall_s"][0], abs=1e-3)
    described = {value.tag: value.metadata for value in rows[0].summary.value}
    assert "mean over agents of all ages" in described["training/episode_return"].summary_description
    assert described["training/entropy_cost"].summary_description == "where its schedule stands"


@pytest.mark.parametrize("at_update", [2, 5, 10, 12])
def test_after_a_crash_and_a_resume_the_events_are_those_of_a_run_without(tmp_path, straight, at_update: int):
    train_and_crash(tmp_path, at_update, log="tensorboard")
    (path,) = (tmp_path / "tensorboard").iterdir()
    path.write_bytes(path.read_bytes() + b"torn")
    assert train(tmp_path, TINY, resume=True, log="tensorboard") == OK
    assert scalars(tmp_path) == scalars(straight)


def test_a_row_that_was_begun_when_a_signal_came_is_no_event_later(tmp_path, straight):
    with pytest.MonkeyPatch.context() as patch:
        interfere(patch, 4, lambda: os.kill(os.getpid(), signal.SIGTERM))
        patch.setattr(type(remembered_engine(TINY)), "at_once", 1)
        assert train(tmp_path, TINY, resume=False, log="tensorboard") == PREEMPTED
    assert [update for update, _ in scalars(tmp_path)] == [3, 4]
    assert train(tmp_path, TINY, resume=True, log="tensorboard") == OK
    assert scalars(tmp_path) == scalars(straight)


def test_a_run_may_get_its_events_later(tmp_path, straight):
    assert train(tmp_path, TINY, resume=False) == OK
    assert not (tmp_path / "tensorboard").exists()
    assert train(tmp_path, TINY, resume=True, log="tensorboard") == OK  # there is nothing else to do
    assert scalars(tmp_path) == scalars(straight)


@needs_tensorboard
def test_events_and_callbacks_go_together_in_python(tmp_path):
    rows = []
    settings = {"meta": TINY.meta, "log_every": 3, "validate_every": None, "episodes": None, "verbose": False}
    train_by_api("bandit", 6, run_dir=tmp_path, log="tensorboard", on_row=rows.append, **settings)
    assert [row["update"] for row in rows] == [update for update, _ in scalars(tmp_path)] == [3, 6]


def test_without_tensorboardx_it_is_refused_with_what_to_install(tmp_path, monkeypatch, capsys):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "tensorboardX" else found(name))
    assert main(["train", "bandit", "--log", "tensorboard", "--run-dir", str(tmp_path / "run")]) == USAGE
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "needs tensorboardX, which is not installed: pip install tensorboardX" in said
    with pytest.raises(UsageError, match="pip install"):
        train_by_api("bandit", run_dir=tmp_path / "run", log="tensorboard")
    assert not (tmp_path / "run").exists()


def test_a_run_says_what_is_learned_what_was_reached_and_what_comes_next(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert train(Path("a run"), with_updates(40, log_every=10), resume=False) == OK
    said = capsys.readouterr().out
    assert "4 agents at a time start knowing nothing and live 20 episodes each" in said
    assert "after every 2 of their own steps of learning" in said
    assert "from 1.1 down to 0" in said  # log 3: the bandit has three arms
    columns = read_metrics(tmp_path / "a run" / "metrics.csv")
    first, last = columns["episode_return"][[0, -1]]  # of four rows, a tenth is one
    assert f"an episode returned {last:.3g} at the end of training, {first:.3g} at its beginning" in said
    assert "best validation" not in said
    assert ("has not risen" in said) == (last <= first)
    assert "`orexis evaluate 'a run/reward' extrinsic-ep`" in said
    assert "the same command with `--updates 80 --resume` goes on" in said
    assert said in "".join(line[20:] for line in (tmp_path / "a run" / "log.txt").read_text().splitlines(keepends=True))
    assert train(Path("a run"), with_updates(60, log_every=10), resume=True) == OK
    said = capsys.readouterr().out
    assert "resuming bandit at update 40 of 60" in said
    assert "what is learned" not in said  # once is enough


def test_the_best_validation_is_told_and_evaluated(tmp_path, monkeypatch, capsys):
    config = with_updates(6, validate_every=3, validation_lifetimes=8)
    assert train(tmp_path, config, resume=False) == OK
    said = capsys.readouterr().out
    assert "validated at update 3: fresh agents collect " in said
    assert "± its standard error over their lifetimes" in said
    assert "the best validation was " in said
    assert f"orexis evaluate {tmp_path / 'best'} extrinsic-ep" in said


def test_where_the_end_was_not_validated_the_last_reward_is_evaluated_not_the_best(tmp_path, capsys):
    config = with_updates(8, validate_every=3, validation_lifetimes=8)
    assert train(tmp_path, config, resume=False) == OK
    assert f"orexis evaluate {tmp_path / 'reward'} extrinsic-ep" in capsys.readouterr().out


def test_metrics_that_somebody_edits_meanwhile_do_not_spoil_the_end(tmp_path, monkeypatch, capsys):
    path = tmp_path / "metrics.csv"
    interfere(monkeypatch, 11, lambda: path.write_bytes(path.read_bytes().replace(b"\n3,", b"\nx,")))
    assert train(tmp_path, TINY, resume=False) == OK
    assert "\nx," in path.read_text()
    said = capsys.readouterr().out
    assert "reached: " not in said
    assert "next: " in said
