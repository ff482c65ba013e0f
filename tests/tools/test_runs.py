"""`orexis runs`: each state a run can be in, told without JAX; seeds summed up."""

import dataclasses
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from orexis.cli import main
from orexis.config import RunConfig
from orexis.config_json import to_json
from orexis.errors import OK
from orexis.storage import checkpoint, lock
from orexis.tools.runs import as_lines, find_runs, look_at, summarise
from orexis.training.folder import CONFIG, FORMAT_VERSION

CONFIG_OF = RunConfig(task="bandit", seed=3, updates=40)
VALIDATION = {"score": 0.25, "update": 20, "owed": False, "collapsed": None}


def write_run(folder: Path, step: int = 40, config: RunConfig = CONFIG_OF, rows: int = 4, **told) -> Path:
    """Writes what `orexis runs` reads of a run that was saved after `step` updates."""
    folder.mkdir(parents=True)
    (folder / CONFIG).write_text(json.dumps({"format_version": FORMAT_VERSION, **to_json(config)}))
    lines = ["update,episode_return", *(f"{10 * i + 10},{'' if i == 0 else i / 10}" for i in range(rows))]
    (folder / "metrics.csv").write_text("\n".join(lines) + "\n")
    size = (folder / "metrics.csv").stat().st_size
    extra = {"metrics_bytes": size, "validation": VALIDATION, **told}
    checkpoint.save(folder / "checkpoints", step, {"w": np.arange(5.0)}, extra)
    return folder


def test_a_finished_run_is_told_with_its_numbers(tmp_path):
    run = look_at(write_run(tmp_path / "run"))
    assert (run.task, run.seed, run.updates, run.of, run.state, run.damage) == ("bandit", 3, 40, 40, "finished", "")
    assert run.last_return == pytest.approx((0.1 + 0.2 + 0.3) / 3)  # an empty cell does not count
    assert (run.best_validation, run.best_update) == (0.25, 20)


def test_the_last_return_is_of_the_last_ten_rows_however_long_the_file(tmp_path):
    run = look_at(write_run(tmp_path / "run", rows=9000))
    assert (tmp_path / "run" / "metrics.csv").stat().st_size > 2 * 2**14
    assert run.last_return == pytest.approx(np.mean(np.arange(8990, 9000) / 10))


@pytest.mark.parametrize(
    ("step", "change", "validation", "state"),
    [
        (40, {}, {"owed": True}, "stopped"),  # the last validation is still to come
        (20, {}, {}, "stopped"),
        (20, {"stop_on_collapse": True}, {"collapsed": 20}, "finished"),
        (20, {}, {"collapsed": 20}, "stopped"),  # it would go on
        (60, {}, {}, "finished"),
    ],
)
def test_whether_a_run_is_finished_is_what_a_resume_would_find(tmp_path, step, change, validation, state):
    config = dataclasses.replace(CONFIG_OF, **change)
    run = look_at(write_run(tmp_path / "run", step, config, validation={**VALIDATION, **validation}))
    assert (run.updates, run.state) == (step, state)


def test_a_run_that_trains_is_running_whatever_else(tmp_path):
    folder = write_run(tmp_path / "run", 20)
    with lock.hold(folder):
        run = look_at(folder)
        assert (run.state, run.updates) == ("running", 40)  # of its last row
        (folder / "metrics.csv").write_text("update,episode_return\n10,0.1\n20,0.")  # torn: it is being written
        assert look_at(folder).updates == 20
        assert look_at(folder).damage == ""
    assert look_at(write_run(tmp_path / "other", 20)).updates == 20


def test_a_run_that_has_saved_nothing_is_stopped(tmp_path):
    folder = write_run(tmp_path / "run")
    shutil.rmtree(folder / "checkpoints")
    (folder / "metrics.csv").unlink()
    run = look_at(folder)
    assert (run.updates, run.state, run.last_return, run.best_validation) == (0, "stopped", None, None)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def flip(path: Path) -> None:
    path.write_text(path.read_text().replace('"metrics_bytes": ', '"metrics_bytes": 1'))


STEP = "checkpoints/step_00000040"
DAMAGES = {
    "config truncated": (lambda run: truncate(run / CONFIG), "is not valid JSON"),
    "config of another version": (lambda run: (run / CONFIG).write_text('{"format_version": 9}'), "format version 9"),
    "config lost": (lambda run: (run / CONFIG).unlink(), "config.json is missing"),
    "state truncated": (lambda run: truncate(run / STEP / "state.safetensors"), "is damaged: it has"),
    "state lost": (lambda run: (run / STEP / "state.safetensors").unlink(), "is missing or not a file"),
    "manifest lost": (lambda run: (run / STEP / "manifest.json").unlink(), "manifest.json is missing"),
    "manifest changed": (lambda run: flip(run / STEP / "manifest.json"), "its sha256 is not the one"),
    "metrics truncated": (lambda run: truncate(run / "metrics.csv"), "rows are lost"),
    "metrics lost": (lambda run: (run / "metrics.csv").unlink(), "rows are lost"),
    "metrics no numbers": (
        lambda run: (run / "metrics.csv").write_text("update,episode_return\n" + "ten,of them all many\n" * 9),
        "has a row that is none",
    ),
    "moved aside": (lambda run: (run / STEP).rename(run / f"{STEP}.corrupt"), "no checkpoint but those that were"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_run_says_what_is_wrong(tmp_path, name):
    folder = write_run(tmp_path / "run")
    damage, said = DAMAGES[name]
    damage(folder)
    run = look_at(folder)
    assert run.state == "damaged"
    assert said in run.damage
    assert any(said in line and line.startswith("damaged: ") for line in as_lines([run]))


def test_a_run_whose_newest_checkpoint_is_damaged_tells_the_one_before(tmp_path):
    folder = write_run(tmp_path / "run", 20)
    checkpoint.save(folder / "checkpoints", 40, {"w": np.arange(5.0)}, {"metrics_bytes": 1})
    truncate(folder / STEP / "state.safetensors")
    run = look_at(folder)
    assert (run.state, run.updates, run.best_validation) == ("damaged", 20, 0.25)


@pytest.mark.parametrize("told", [{"validation": 3}, {"validation": {"score": "high", "update": [1]}}, {}])
def test_a_manifest_that_tells_other_things_is_no_reason_to_fail(tmp_path, told):
    run = look_at(write_run(tmp_path / "run", **told, metrics_bytes="many"))
    assert run.state == "finished"
    assert run.best_validation == (0.25 if not told else None)


def test_runs_are_found_below_a_folder_and_not_inside_each_other(tmp_path):
    for name in ("b/one", "b/two", "a", "x/y/z/deep", "x/y/z/1/too_deep", ".hidden/run", "b/one/inside"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / name / "metrics.csv").write_text("update\n")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert [str(path.relative_to(tmp_path)) for path in find_runs(tmp_path)] == ["a", "b/one", "b/two", "x/y/z/deep"]
    assert find_runs(tmp_path / "b" / "one") == [tmp_path / "b" / "one"]


def test_seeds_of_the_same_settings_are_summed_up_with_intervals(tmp_path):
    runs = [
        look_at(
            write_run(
                tmp_path / f"seed{seed}",
                config=dataclasses.replace(CONFIG_OF, seed=seed, checkpoint_every=seed + 1),
                validation={**VALIDATION, "score": score},
            )
        )
        for seed, score in enumerate([0.2, 0.3, 0.7])
    ]
    other = look_at(write_run(tmp_path / "other", config=dataclasses.replace(CONFIG_OF, seed=8, episodes=7)))
    stopped = look_at(write_run(tmp_path / "stopped", 20, config=dataclasses.replace(CONFIG_OF, seed=9)))
    (told,) = summarise([*runs, other, stopped])
    assert told["seeds"] == [0, 1, 2]
    # mean 0.4, s = sqrt((0.04 + 0.01 + 0.09) / 2) = 0.264575; t of two degrees of freedom 4.302653
    half = 4.302653 * 0.264575 / 3**0.5
    assert told["best_validation"]["mean"] == pytest.approx(0.4)
    np.testing.assert_allclose(told["best_validation"]["ci95"], [0.4 - half, 0.4 + half], rtol=1e-5)
    assert told["last_return"]["ci95"] == pytest.approx([0.2, 0.2])
    assert "bandit, 40 updates, seeds 0 1 2: mean and 95 % interval over seeds" in as_lines(runs)
    assert summarise([runs[0], runs[0]]) == []  # the same seed twice is no spread


def test_the_command_prints_a_table_or_json(tmp_path, capsys):
    write_run(tmp_path / "run")
    assert main(["runs", str(tmp_path)]) == OK
    heading, line = capsys.readouterr().out.splitlines()
    assert heading.split() == ["run", "task", "seed", "updates", "return", "best", "validation", "state"]
    assert line.split()[1:] == ["bandit", "3", "40/40", "0.2", "0.25", "at", "20", "finished"]
    assert main(["runs", str(tmp_path), "--json"]) == OK
    told = json.loads(capsys.readouterr().out)
    assert told["runs"][0]["run"] == str(tmp_path / "run")
    assert told["runs"][0]["state"] == "finished"
    assert told["summary"] == []
    (tmp_path / "empty").mkdir()
    assert main(["runs", str(tmp_path / "empty")]) == OK
    assert "no runs in" in capsys.readouterr().out


def test_runs_are_listed_without_jax(tmp_path):
    for number in range(100):
        write_run(tmp_path / f"run{number}")
    code = f"""
import sys
from orexis.cli import main
assert main(["runs", {str(tmp_path)!r}]) == 0
assert not {{"jax", "matplotlib", "scipy"}} & set(sys.modules), "each of them takes long to import"
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert process.returncode == 0, process.stderr
    assert process.stdout.count("finished") == 100
