"""The doctor: finds what is wrong, says what a resume would do, and a resume then does that."""

import json
import shutil
from pathlib import Path

import pytest

from orexis.cli import main
from orexis.errors import BAD_DATA, OK, BadDataError, UsageError
from orexis.storage import checkpoint, lock
from orexis.tools.doctor import examine
from orexis.training import setup
from orexis.training.train import train
from tests.storage.rewards import write_reward
from tests.training.tiny import TINY, remembered_engine, train_undisturbed, with_updates


@pytest.fixture(autouse=True)
def compiled_once(monkeypatch):
    monkeypatch.setattr(setup, "make_engine", remembered_engine)


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    return train_undisturbed(tmp_path_factory.mktemp("finished") / "run", with_updates(8))


@pytest.fixture
def run_dir(finished, tmp_path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(bytes(data))


def bad_ones(diagnosis) -> list[str]:
    return [finding.text for finding in diagnosis.findings if finding.verdict == "bad"]


def test_a_healthy_run(run_dir, capsys):
    before = snapshot(run_dir)
    assert main(["doctor", str(run_dir)]) == OK
    said = capsys.readouterr().out.splitlines()
    assert all(line.startswith("good ") for line in said[:-1])
    for name in ("config.json", "step_00000004", "step_00000008", "reward", "metrics.csv"):
        assert any(name in line for line in said)
    assert said[-1] == "a resume would find all 8 updates done"
    assert snapshot(run_dir) == before


FILES = (
    *("checkpoints/step_00000008/state.safetensors", "checkpoints/step_00000008/manifest.json"),
    *("checkpoints/step_00000004/state.safetensors", "checkpoints/step_00000004/manifest.json"),
    *("reward/reward.safetensors", "reward/reward.json", "config.json", "metrics.csv"),
)
DAMAGES = {
    "flip": lambda data: data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 4]) + data[len(data) // 2 + 1 :],
    "truncate": lambda data: data[:-200],
    "seed": lambda data: data.replace(b'"seed": 0', b'"seed": 1'),
    "comma": lambda data: data.replace(b",", b"x", 30),
    "remove": None,
}


@pytest.mark.parametrize(
    ("name", "how"),
    [(name, how) for name in FILES for how in ("truncate", "remove")]
    + [(name, "flip") for name in FILES[:6]]
    + [("config.json", "seed"), ("metrics.csv", "comma")],
)
def test_damage_to_any_file_that_counts_is_found(run_dir, capsys, name: str, how: str):
    path, damage = run_dir / name, DAMAGES[how]
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage(path.read_bytes()))
    before = snapshot(run_dir)
    assert main(["doctor", str(run_dir)]) == BAD_DATA
    said = capsys.readouterr().out
    assert any(line.startswith("bad") and Path(name).name in line for line in said.splitlines())
    assert snapshot(run_dir) == before


def test_what_it_foretells_comes_true(run_dir):
    flip(run_dir / "checkpoints" / "step_00000008" / "state.safetensors")
    (run_dir / ".reward.tmp-99").mkdir()
    diagnosis = examine(run_dir)
    assert diagnosis.outlook == "a resume would move step_00000008 aside and go on from update 4 of 8"
    assert any(".reward.tmp-99" in finding.text for finding in diagnosis.findings)
    assert train(run_dir, TINY, resume=True) == OK
    assert (run_dir / "checkpoints" / "step_00000008.corrupt").is_dir()
    assert "resuming bandit at update 4 of 12" in (run_dir / "log.txt").read_text()

    healthy = examine(run_dir)
    assert healthy.code == OK
    assert healthy.outlook == "a resume would find all 12 updates done"
    assert [finding.verdict for finding in healthy.findings].count("note") == 1  # the one moved aside


def test_when_none_is_good_a_resume_is_refused(run_dir):
    for step in (4, 8):
        flip(run_dir / "checkpoints" / f"step_{step:08d}" / "state.safetensors")
    assert examine(run_dir).outlook.startswith("a resume would be refused (exit 3): no good checkpoint is left in")
    with pytest.raises(BadDataError):
        train(run_dir, TINY, resume=True)
    again = examine(run_dir)  # now both are moved aside
    assert again.code == BAD_DATA
    assert "step_00000008.corrupt: moved aside before" in again.outlook


def test_another_version_is_named(run_dir):
    path = run_dir / "checkpoints" / "step_00000008" / "manifest.json"
    path.write_text(json.dumps(checkpoint.seal({**json.loads(path.read_text()), "format_version": 9})))
    diagnosis = examine(run_dir)
    assert diagnosis.code == BAD_DATA
    assert "a resume would be refused" in diagnosis.outlook
    assert "format version 9" in diagnosis.outlook


@pytest.mark.parametrize(("name", "value"), [("metrics_bytes", None), ("wall_s", -1.0), ("totals", {}), ("config", 5)])
def test_a_manifest_that_a_resume_would_refuse_is_bad(run_dir, name: str, value):
    path = run_dir / "checkpoints" / "step_00000008" / "manifest.json"
    path.write_text(json.dumps(checkpoint.seal({**json.loads(path.read_text()), name: value})))
    diagnosis = examine(run_dir)
    assert "a resume would be refused" in diagnosis.outlook
    assert any(name in text for text in bad_ones(diagnosis))
    with pytest.raises(BadDataError, match=name):
        train(run_dir, TINY, resume=True)


def test_a_run_that_saved_nothing_yet(run_dir):
    for name in ("checkpoints", "reward", "learner"):
        shutil.rmtree(run_dir / name)
    diagnosis = examine(run_dir)
    assert diagnosis.code == OK
    assert diagnosis.outlook == "a resume would start from the beginning: nothing was saved yet"


def test_a_torn_line_after_the_checkpoint_is_nothing_to_worry_about(run_dir):
    with (run_dir / "metrics.csv").open("a") as file:
        file.write("9,12")
    assert examine(run_dir).code == OK


def test_a_run_that_is_training_is_told(run_dir):
    with lock.hold(run_dir):
        diagnosis = examine(run_dir)
    assert diagnosis.code == OK
    assert "the folder is in use" in diagnosis.outlook
    assert "in use" not in examine(run_dir).outlook


def test_a_missing_reward_is_written_by_a_resume(run_dir):
    shutil.rmtree(run_dir / "reward")
    assert any("reward/ is missing" in finding.text for finding in examine(run_dir).findings)
    assert train(run_dir, with_updates(8), resume=True) == OK
    assert bad_ones(examine(run_dir)) == []
    assert (run_dir / "reward" / "reward.json").exists()


def test_a_reward(tmp_path, capsys):
    folder = write_reward(tmp_path / "reward", training={"updates": 7})
    assert main(["doctor", str(folder)]) == OK
    assert "a reward for bandit, 7 updates" in capsys.readouterr().out
    flip(folder / "reward.safetensors")
    assert main(["doctor", str(folder)]) == BAD_DATA
    assert "it cannot be used" in capsys.readouterr().out


def test_neither(tmp_path):
    with pytest.raises(UsageError, match="is neither a run folder nor a reward or policy folder"):
        examine(tmp_path)


def test_the_best_and_the_learner_are_looked_at(tmp_path):
    run_dir = train_undisturbed(tmp_path / "run", with_updates(4, validate_every=2, validation_lifetimes=2))
    good = [finding.text for finding in examine(run_dir).findings if finding.verdict == "good"]
    assert any(text.startswith(f"{run_dir / 'best'}: a reward for bandit") for text in good)
    assert any(text.startswith(f"{run_dir / 'learner'}: a learner for bandit") for text in good)
    assert examine(run_dir / "learner").outlook == "a run can begin with it"
    flip(run_dir / "learner" / "learner.safetensors")
    flip(run_dir / "best" / "reward.safetensors")
    assert len(bad_ones(examine(run_dir))) == 2
    assert examine(run_dir / "learner").code == BAD_DATA
    shutil.rmtree(run_dir / "best")
    shutil.rmtree(run_dir / "learner")
    assert bad_ones(examine(run_dir)) == ["best/ is missing; a resume takes its next validation for the best"]
    assert any(finding.text == "learner/ is missing; a resume writes it again" for finding in examine(run_dir).findings)
