"""The public API: what `import orexis` offers, and training and evaluating from Python."""

import dataclasses
import inspect
import math
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import orexis
from orexis import api
from orexis.commands.evaluate import Evaluate
from orexis.commands.train import Train
from orexis.errors import PREEMPTED, UsageError
from orexis.presets import PAPER_TASKS, RECIPES, TUNED
from orexis.training import setup, signals
from tests.training.tiny import TINY_META, digest_of, remembered_engine, rows_of, train_undisturbed

SETTINGS = {"meta": TINY_META, "checkpoint_every": 4, "log_every": 3, "validate_every": None, "verbose": False}


@pytest.fixture
def compiled_once(monkeypatch):
    monkeypatch.setattr(setup, "make_engine", remembered_engine)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return train_undisturbed(tmp_path_factory.mktemp("undisturbed") / "run")


def test_importing_orexis_and_what_needs_no_jax_imports_none():
    code = """
import sys
import orexis
dir(orexis), orexis.train, orexis.evaluate, orexis.load_reward, orexis.preset, orexis.RunConfig, orexis.TaskSpec
assert not [name for name in sys.modules if name.split(".")[0] in ("jax", "jaxlib", "matplotlib")]
from orexis import *
assert Task.__module__ == "orexis.tasks.base" and "jax" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_name_is_found_listed_and_the_one_that_type_checkers_see():
    assert set(orexis.__all__) <= set(dir(orexis))
    source = inspect.getsource(orexis)
    for name in orexis.__all__:
        assert getattr(orexis, name) is not None
        if name != "__version__":
            module = f"orexis.{orexis._WHERE.get(name, 'config')}"
            told = source.split(f"    from {module} import ")[1].split("    from ")[0]
            assert name in told.replace(",", " ").split(), f"{name} is not imported from {module} for type checkers"
    with pytest.raises(AttributeError, match="no attribute 'tarin'"):
        orexis.tarin  # noqa: B018


@pytest.mark.parametrize("task", [*TUNED, "somebodys:Task"])
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_run_from_python_has_the_defaults_of_the_command_line(task: str, recipe: str):
    if recipe == "paper" and task not in PAPER_TASKS:
        with pytest.raises(ValueError, match="the paper has no settings"):
            api.make_config(task, recipe)
        return
    assert api.make_config(task, recipe) == Train.for_task(task, recipe).config()


def test_the_functions_have_the_defaults_of_the_command_line():
    for function, command in ((api.train, Train), (api.evaluate, Evaluate)):
        options = {field.name: field.default for field in dataclasses.fields(command)}
        options["seed"] = options["seed"] or 0  # None tells a --seed that was not given from one that was
        parameters = inspect.signature(function).parameters
        shared = [name for name in parameters if name in options and parameters[name].default is not inspect._empty]
        assert len(shared) >= 6
        assert {name: parameters[name].default for name in shared} == {name: options[name] for name in shared}


@pytest.mark.usefixtures("compiled_once")
def test_callbacks_hear_of_every_row_and_checkpoint_and_change_no_bit(tmp_path, undisturbed):
    rows: list[dict] = []
    saved: list[tuple] = []

    def on_checkpoint(path, update):
        assert (path / "manifest.json").is_file()
        assert (tmp_path / "run" / "reward" / "reward.json").is_file()
        saved.append((path.name, update))

    run = orexis.train(
        "bandit", 11, run_dir=tmp_path / "run", on_row=rows.append, on_checkpoint=on_checkpoint, **SETTINGS
    )
    assert run == api.TrainedRun(tmp_path / "run", 11, finished=True)
    assert (run.reward, run.best) == (tmp_path / "run" / "reward", None)
    assert saved == [("step_00000004", 4), ("step_00000008", 8), ("step_00000011", 11)]
    assert [row["update"] for row in rows] == [3, 6, 9, 11]
    written = rows_of(tmp_path / "run")
    assert written[1:4] == rows_of(undisturbed)[1:4]
    column = written[0].index("episode_return")
    assert [f"{row['episode_return']:.6g}" for row in rows] == [row[column] for row in written[1:]]
    assert any(math.isnan(row["validation_return"]) for row in rows)
    assert digest_of(tmp_path / "run", 8) == digest_of(undisturbed, 8)


@pytest.mark.usefixtures("compiled_once")
def test_should_stop_saves_and_the_run_goes_on_to_the_same_bits(tmp_path, undisturbed, capsys):
    run = orexis.train(
        "bandit", 12, run_dir=tmp_path, should_stop=lambda row: row["update"] >= 6, **(SETTINGS | {"verbose": True})
    )
    assert (run.updates, run.finished) == (6, False)
    assert "stopped at update 6 and saved" in capsys.readouterr().out
    run = orexis.train("bandit", 12, run_dir=tmp_path, resume=True, **SETTINGS)
    assert (run.updates, run.finished) == (12, True)
    assert capsys.readouterr().out == ""
    assert digest_of(tmp_path, 12) == digest_of(undisturbed, 12)
    assert rows_of(tmp_path) == rows_of(undisturbed)


@pytest.mark.usefixtures("compiled_once")
@pytest.mark.parametrize(("number", "error"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)])
def test_a_signal_saves_the_run_and_is_then_the_callers(tmp_path, number, error):
    def on_row(row):
        os.kill(os.getpid(), number)

    with pytest.raises(error) as caught:
        orexis.train("bandit", 12, run_dir=tmp_path, on_row=on_row, **SETTINGS)
    if error is SystemExit:
        assert caught.value.code == PREEMPTED
    assert digest_of(tmp_path, 3)


def test_a_signal_before_there_is_anything_to_save_does_not_end_the_process():
    before = signal.getsignal(signal.SIGINT)  # ignored, where the suite runs in the background of a shell
    for number, error in ((signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)):
        with pytest.raises(error), signals.listening(signals.raise_code):
            os.kill(os.getpid(), number)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.usefixtures("compiled_once")
def test_an_error_in_a_callback_ends_the_run_and_what_was_saved_is_good(tmp_path, undisturbed):
    def on_row(row):
        if row["update"] == 6:
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        orexis.train("bandit", 12, run_dir=tmp_path, on_row=on_row, **SETTINGS)
    orexis.train("bandit", 12, run_dir=tmp_path, resume=True, **SETTINGS)
    assert digest_of(tmp_path, 12) == digest_of(undisturbed, 12)
    assert rows_of(tmp_path) == rows_of(undisturbed)


@pytest.mark.usefixtures("compiled_once")
def test_a_run_may_be_trained_outside_the_main_thread(tmp_path):
    done = []
    work = threading.Thread(target=lambda: done.append(orexis.train("bandit", 3, run_dir=tmp_path, **SETTINGS)))
    work.start()
    work.join()
    assert done[0].finished


def test_what_cannot_be_is_refused_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for arguments, error, message in (
        ({"task": "bandits"}, ValueError, "unknown task 'bandits'"),
        ({"task": "bandit", "updates": 0}, ValueError, "updates must be positive"),
        ({"task": "bandit", "recipe": "paper"}, ValueError, "the paper has no settings for bandit"),
        ({"task": "bandit", "devices": 0}, ValueError, "devices must be at least 1"),
        ({"task": "bandit", "begin_with": "nowhere"}, UsageError, "nowhere"),
        ({"task": "bandit", "chekpoint_every": 3}, TypeError, "chekpoint_every"),
    ):
        with pytest.raises(error, match=message):
            orexis.train(**arguments)
    for sources, options, message in (
        ([], {}, "at least one source"),
        (["random", "random"], {}, "named twice"),
        ("randon", {}, "unknown source 'randon'"),
        ("random", {"lifetimes": 0}, "between 1 and"),
        ("random", {}, "say which --task"),
        ("extrinsic-ep", {"task": "bandit", "agent": "ppo"}, "agents that learn are actor-critic"),
        ("extrinsic-ep", {"task": "bandit", "agent": "random"}, "not 'random'"),
    ):
        with pytest.raises(UsageError, match=message):
            orexis.evaluate(sources, **options)
    assert list(tmp_path.iterdir()) == []


def test_where_a_run_goes_that_does_not_say_where():
    assert api.default_run_dir("a.b:C", 3).as_posix() == "runs/a-b-C-seed3"


def test_an_evaluation_is_what_the_command_writes(tmp_path, capsys, undisturbed):
    result = orexis.evaluate(
        ["random", undisturbed], lifetimes=5, seed=3, episodes=6, traced=True, cache=tmp_path, verbose=False
    )
    assert capsys.readouterr() == ("", "")
    assert [table.source for table in result.tables] == ["random", str(undisturbed)]
    assert set(result.traces) == {"random", str(undisturbed)}
    for table in result.tables:
        assert table.extrinsic.shape == (5, 6)
        part = result.summary["sources"][table.source]
        np.testing.assert_allclose(part["episode_return"], table.extrinsic.mean(axis=0), rtol=1e-6)
    assert {"task", "seed", "sources", "actions", "agent"} == set(result.summary)
    assert len(list(tmp_path.glob("*.npz"))) == 4  # a table and a trace of each
    again = orexis.evaluate("random", "bandit", 5, 3, recipe="tuned", episodes=6, fresh=True)
    assert "random" in capsys.readouterr().err
    assert again.tables[0].extrinsic.shape == (5, 6)
