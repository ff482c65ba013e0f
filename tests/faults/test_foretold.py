"""What the doctor foretells of a damaged run folder is what a resume does: both ask the same function."""

import dataclasses
import os
import random
import re
import shutil
from pathlib import Path

import pytest

from orexis.errors import BAD_DATA, OK, USAGE, BadDataError, CommandError, UsageError
from orexis.tools.doctor import examine
from orexis.training import setup
from orexis.training.loop import Run
from orexis.training.train import train
from tests.faults.damage import damage
from tests.training.tiny import TINY, remembered_engine, rows_of, train_undisturbed, with_updates

FOLDERS = 200


@dataclasses.dataclass(frozen=True)
class Fate:
    """What a resume does with a run folder, or is said to do."""

    refused: int | None = None  # with which exit code
    step: int | None = None  # the update that it goes on from
    aside: tuple[str, ...] = ()  # checkpoints that it moves aside
    new_metrics: bool = False  # whether it keeps metrics.csv under another name and begins a new one


@pytest.fixture(autouse=True)
def without_training(monkeypatch):
    """A resume stops where it would compile, after it has decided everything that files decide."""

    def stop(run: Run, state, report) -> int:
        run._open_metrics(report).close()
        return OK

    monkeypatch.setattr(setup, "make_engine", remembered_engine)
    monkeypatch.setattr(Run, "_train", stop)


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> list[Path]:
    """A run that is done, one that is stopped at update 8 of 12, and a longer one of other rows."""
    place = tmp_path_factory.mktemp("runs")
    done = train_undisturbed(place / "done", with_updates(8))
    stopped = Path(shutil.copytree(done, place / "stopped"))
    config = stopped / "config.json"
    config.write_text(config.read_text().replace('"updates": 8', '"updates": 12'))
    return [done, stopped, train_undisturbed(place / "other", with_updates(16, log_every=2))]


def foretold(run_dir: Path) -> Fate:
    """Returns the fate that the doctor foretells, by what it says."""
    try:
        diagnosis = examine(run_dir)
    except UsageError:  # nothing of a run is left
        return Fate(step=0)
    said = diagnosis.outlook
    new_metrics = any("a resume keeps it under another name" in finding.text for finding in diagnosis.findings)
    refused = re.match(r"a resume would be refused \(exit (\d+)\): ", said)
    if refused:
        assert diagnosis.code == BAD_DATA, said
        return Fate(refused=int(refused[1]))
    if said.startswith("a resume would start from the beginning"):
        return Fate(step=0)
    found = re.fullmatch(r"a resume would (?:move (.*) aside and )?(?:go on from update|find all) (\d+) .*", said)
    assert found, said
    return Fate(None, int(found[2]), tuple(sorted((found[1] or "").split(" and "))) if found[1] else (), new_metrics)


def fate_of(run_dir: Path, config) -> tuple[Fate, str]:
    """Returns what a resume did, and the sentence of its refusal."""
    steps: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "_load", _noting(Run._load, steps))
        try:
            assert train(run_dir, config, resume=True) == OK
        except CommandError as error:
            return Fate(refused=error.code), str(error)
    moved = sorted(path.name.removesuffix(".corrupt") for path in run_dir.glob("checkpoints/*.corrupt"))
    return Fate(None, steps[0], tuple(moved), any(run_dir.glob("metrics-until-*"))), ""


def _noting(load, steps: list[int]):
    def note(run: Run, warn):
        state = load(run, warn)
        steps.append(run.progress.step)
        return state

    return note


def snapshot(folder: Path) -> dict[str, bytes | str]:
    return {
        str(path): os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else "folder"
        for path in folder.rglob("*")
    }


def test_doctor_and_resume_agree_on_randomly_damaged_folders(runs, tmp_path, trials):
    fates = []
    for seed in range(FOLDERS):
        trials()
        rng = random.Random(seed)
        number = rng.randrange(2)
        run_dir = Path(shutil.copytree(runs[number], tmp_path / str(seed)))
        done = damage(run_dir, runs[2], rng)
        before = snapshot(run_dir)
        said = foretold(run_dir)
        assert snapshot(run_dir) == before, done
        fate, sentence = fate_of(run_dir, with_updates((8, 12)[number]))
        assert fate == said, (seed, done, sentence)
        if fate.refused is not None:
            assert fate.refused in (USAGE, BAD_DATA), (seed, done, sentence)
            assert sentence, done
            assert not list(run_dir.glob(".*.tmp-*")), done  # no draft is left
        fates.append(fate)
    kinds = {(fate.refused, fate.step, len(fate.aside), fate.new_metrics) for fate in fates}
    assert len(kinds) >= 7, kinds


@pytest.fixture
def run_dir(runs, tmp_path) -> Path:
    return Path(shutil.copytree(runs[1], tmp_path / "run"))


def refused(run_dir: Path, kind: type[CommandError]) -> str:
    """Returns the sentence with which a resume is refused, which the doctor foretells."""
    said = examine(run_dir)
    with pytest.raises(kind) as caught:
        train(run_dir, TINY, resume=True)
    assert said.outlook == f"a resume would be refused (exit {caught.value.code}): {caught.value}"
    assert said.code == BAD_DATA
    assert not list(run_dir.glob(".*.tmp-*"))
    return str(caught.value)


def test_a_run_whose_checkpoints_were_removed_does_not_start_anew_over_its_reward(run_dir):
    for place in (run_dir / "checkpoints").iterdir():
        shutil.rmtree(place)
    before = snapshot(run_dir)
    assert "has lost its checkpoints and still has reward/ and learner/" in refused(run_dir, BadDataError)
    for name in ("metrics.csv", "reward/reward.safetensors"):
        assert snapshot(run_dir)[str(run_dir / name)] == before[str(run_dir / name)]
    shutil.rmtree(run_dir / "checkpoints")
    assert "put checkpoints/ back, or choose another --run-dir" in refused(run_dir, BadDataError)
    with pytest.raises(UsageError, match="holds a run already"):
        train(run_dir, TINY, resume=False)


def test_metrics_of_another_run_are_kept_aside(run_dir, runs):
    mine, other = (run_dir / "metrics.csv").read_bytes(), (runs[2] / "metrics.csv").read_bytes()
    assert len(other) > len(mine)
    (run_dir / "metrics.csv").write_bytes(other)
    assert foretold(run_dir) == Fate(step=8, new_metrics=True)
    assert train(run_dir, TINY, resume=True) == OK
    assert [path.read_bytes() for path in run_dir.glob("metrics-until-*.csv")] == [other]
    assert rows_of(run_dir) == rows_of(runs[2])[:1]  # the header alone: rows that are not this run's are gone
    assert "is not the one that the checkpoint was saved with: it is kept as" in (run_dir / "log.txt").read_text()


def test_another_seed_in_the_config_is_refused(run_dir):
    path = run_dir / "config.json"
    path.write_text(path.read_text().replace('"seed": 0', '"seed": 1'))
    assert "with another config: seed: 1 → 0" in refused(run_dir, UsageError)


def test_a_config_that_is_lost_is_written_again(run_dir):
    (run_dir / "config.json").unlink()
    assert foretold(run_dir) == Fate(step=8)
    with pytest.raises(UsageError, match="seed: 0 → 3"):
        train(run_dir, dataclasses.replace(TINY, seed=3), resume=True)
    assert not (run_dir / "config.json").exists()  # or else the right command would be refused now
    assert train(run_dir, TINY, resume=True) == OK
    assert examine(run_dir).code == OK


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("checkpoints", "checkpoints is not a folder; move it away"),
        ("reward", "reward is not a folder; move it away"),
        ("learner", "learner is not a folder; move it away"),
    ],
)
def test_a_file_where_a_folder_belongs(run_dir, name: str, sentence: str):
    shutil.rmtree(run_dir / name)
    (run_dir / name).write_text("a file")
    assert sentence in refused(run_dir, UsageError)


@pytest.mark.parametrize("name", [".lock", "config.json", "env.json", "metrics.csv", "log.txt"])
def test_a_folder_where_a_file_belongs(run_dir, name: str):
    (run_dir / name).unlink()
    (run_dir / name).mkdir()
    assert f"{name} is not a file; move it away" in refused(run_dir, UsageError)


def test_a_pipe_for_a_lock_is_not_waited_for(run_dir):
    (run_dir / ".lock").unlink()
    os.mkfifo(run_dir / ".lock")
    assert ".lock is not a file; move it away" in refused(run_dir, UsageError)


@pytest.mark.parametrize("name", ["reward", "learner"])
def test_a_link_where_a_folder_is_replaced_whole(run_dir, name: str):
    (run_dir / name).rename(run_dir.parent / "elsewhere")
    (run_dir / name).symlink_to(run_dir.parent / "elsewhere")
    assert f"{name} is a link to a folder elsewhere; put the folder itself there" in refused(run_dir, UsageError)


def test_checkpoints_may_lie_on_another_disk(run_dir):
    (run_dir / "checkpoints").rename(run_dir.parent / "elsewhere")
    (run_dir / "checkpoints").symlink_to(run_dir.parent / "elsewhere")
    assert foretold(run_dir) == Fate(step=8)
    assert train(run_dir, TINY, resume=True) == OK
