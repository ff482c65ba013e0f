"""FAULTS 5: the disk is full or a file may not grow. The good checkpoint stays, the message is clear."""

import errno
import itertools
import os
import shutil
from pathlib import Path

import pytest

from orexis.errors import FAILED, OK, CommandError, MachineError
from orexis.storage import checkpoint
from orexis.storage.artefact import read_artefact
from orexis.training import setup
from orexis.training.train import train
from tests.faults import children
from tests.faults.mounts import small_disk
from tests.training.tiny import TINY, digest_of, remembered_engine, rows_of, train_undisturbed, with_updates


@pytest.fixture(autouse=True)
def compiled_once(monkeypatch):
    monkeypatch.setattr(setup, "make_engine", remembered_engine)


@pytest.fixture(scope="module")
def straight(tmp_path_factory) -> Path:
    return train_undisturbed(tmp_path_factory.mktemp("straight") / "run")


def assert_same_run(run_dir: Path, straight: Path) -> None:
    assert digest_of(run_dir, 12) == digest_of(straight, 12)
    assert rows_of(run_dir) == rows_of(straight)


def assert_failed_well(error: CommandError, run_dir: Path, steps: list[int]) -> None:
    """Asserts that the message says what to do, and that of the save that failed nothing is left."""
    assert error.code == FAILED
    assert checkpoint.steps(run_dir / "checkpoints") == steps
    assert list((run_dir / "checkpoints").glob(".tmp-*")) == []
    assert list(run_dir.glob(".*.tmp-*")) == []
    if "--resume" in str(error):  # otherwise it could not even begin
        kept = f"the checkpoint of update {steps[-1]} is untouched" if steps else "no checkpoint was written yet"
        assert f"{kept}: make room, then go on with --resume and the same options, in {run_dir}" in str(error)


def fail_at_write(run_dir: Path, number: int) -> CommandError | None:
    """Resumes the run on a disk that is full from write `number` on; returns the error, None if there was none."""
    write, calls = os.write, itertools.count(1)

    def full(descriptor: int, data):
        if next(calls) >= number:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(descriptor, data)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", full)
        try:
            assert train(run_dir, TINY, resume=True) == OK
        except MachineError as error:
            return error
    return None


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_a_disk_that_is_full_from_any_write_on(tmp_path, straight, every: int, trials):
    assert train(tmp_path / "base", with_updates(4), resume=False) == OK
    failures = 0
    for number in itertools.count(1, every):
        run_dir = Path(shutil.copytree(tmp_path / "base", tmp_path / f"full{number}"))
        error = fail_at_write(run_dir, number)
        if error is None:
            break
        failures += 1
        trials()
        assert "No space left on device" in str(error)
        assert_failed_well(error, run_dir, checkpoint.steps(run_dir / "checkpoints"))
        assert checkpoint.steps(run_dir / "checkpoints")[-1] in (4, 8, 12)
        assert read_artefact(run_dir / "reward").record["training"]["updates"] in (4, 8, 12)
        assert train(run_dir, TINY, resume=True) == OK
        assert_same_run(run_dir, straight)
        shutil.rmtree(run_dir)
    assert failures >= 15 // every  # config, versions; two saves of five files; rows of metrics


@pytest.mark.parametrize("room", [0, 4, 8, 12, 16, 20])
def test_a_disk_that_is_really_full(tmp_path, straight, room: int):
    # A save takes some 30 kilobytes: with less room it fails, in one file or another.
    with small_disk(tmp_path / "disk", 1024) as disk:
        run_dir = disk / "run"
        assert train(run_dir, with_updates(5), resume=False) == OK
        status = os.statvfs(disk)
        (disk / "ballast").write_bytes(bytes(status.f_bavail * status.f_bsize - room * 1024))
        with pytest.raises(MachineError, match="No space left on device") as failure:
            train(run_dir, TINY, resume=True)
        assert_failed_well(failure.value, run_dir, checkpoint.steps(run_dir / "checkpoints"))
        assert checkpoint.steps(run_dir / "checkpoints")[-1] >= 5
        (disk / "ballast").unlink()
        assert train(run_dir, TINY, resume=True) == OK
        assert_same_run(run_dir, straight)


@pytest.mark.parametrize("limit", [0, 100, 2000, 4000])
def test_a_file_that_may_not_grow(tmp_path, limit: int):
    run_dir = tmp_path / "run"
    run_dir.mkdir()
    children.save_once(run_dir, 1)
    assert children.run(children.save_with_small_files, run_dir, 2, limit) == errno.EFBIG
    found = checkpoint.load_latest(run_dir / "checkpoints", children.TEMPLATE, pytest.fail)
    assert found is not None
    assert found[1]["step"] == 1
    assert [path.name for path in (run_dir / "checkpoints").iterdir()] == ["step_00000001"]
    assert read_artefact(run_dir / "reward").record["training"]["updates"] == 1


def test_the_first_save_of_all(tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(checkpoint, "write_durably", full)
    with pytest.raises(MachineError) as failure:
        train(tmp_path, TINY, resume=False)
    assert_failed_well(failure.value, tmp_path, [])
    monkeypatch.undo()
    monkeypatch.setattr(setup, "make_engine", remembered_engine)
    assert train(tmp_path, TINY, resume=True) == OK


def test_a_disk_that_reads_back_something_else(tmp_path, monkeypatch):
    monkeypatch.setattr("orexis.storage.files.sha256_of", lambda path: "0" * 64)
    with pytest.raises(MachineError, match="does not read back as it was written; is the disk failing"):
        train(tmp_path, TINY, resume=False)


def test_a_log_that_cannot_be_written_is_no_reason_to_stop(tmp_path, straight):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "log.txt").symlink_to("/dev/full")
    assert train(tmp_path / "run", TINY, resume=False) == OK
    assert_same_run(tmp_path / "run", straight)
