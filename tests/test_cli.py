"""The command line: every bad line gets its exit code, one sentence and no traceback, at once and without JAX.

All rows of `USAGE` and `BAD_DATA_WITHOUT_JAX` run in one process of their own, which tells of each its
exit code, what it said, and whether JAX had been imported by then.
"""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from orexis.cli import main
from orexis.config import RunConfig
from orexis.config_json import to_json
from orexis.errors import BAD_DATA, FAILED, OK, USAGE
from orexis.presets import preset
from tests.storage.rewards import write_reward
from tests.training.tiny import OPTIONS, TINY

USAGE_ROWS: list[tuple[str, str]] = [
    ("dance", "unknown command 'dance'; commands are demo, tasks"),
    ("--dance", "unknown command '--dance'"),
    ("train", "required"),
    ("train dance", "unknown task 'dance'; tasks are empty-rooms, random-abc"),
    ("train ''", "unknown task ''"),
    ("train Größe", "unknown task 'Größe'"),
    ("train ../../etc/passwd", "unknown task '../../etc/passwd'"),
    ("train os:", "unknown task 'os:'"),
    ("train bandit delayed", "delayed"),
    ("train bandit --dance 3", "--dance"),
    ("train bandit --updates -3", "updates must be positive, not -3"),
    ("train bandit --updates 0", "updates must be positive, not 0"),
    ("train bandit --updates 1.5", "1.5"),
    ("train bandit --updates many", "many"),
    ("train bandit --updates", "--updates"),
    ("train bandit --updates 99999999999999999999", "updates must be at most 2147483647"),
    ("train bandit --lifetimes 0", "lifetimes must be positive, not 0"),
    ("train bandit --lifetimes 99999999999999999999", "lifetimes must be at most 2147483647"),
    ("train bandit --checkpoint-every 0", "checkpoint_every must be positive, not 0"),
    ("train bandit --seed -1", "seed must be between 0 and 2^32 - 1, not -1"),
    ("train bandit --seed 4294967296", "seed must be between 0 and 2^32 - 1"),
    ("train bandit --devices 0", "--devices must be at least 1, not 0"),
    ("train bandit --history gru", "gru"),
    ("train bandit --objective money", "money"),
    ("train bandit --agent.learning-rate -1", "learning_rate must be positive, not -1"),
    ("train bandit --agent.learning-rate nan", "learning_rate must be positive, not nan"),
    ("train bandit --agent.learning-rate 1e999", "learning_rate must be finite, not inf"),
    ("train bandit --agent.discount 1.5", "discount must be in [0, 1], not 1.5"),
    ("train bandit --agent.rollout-length 99999999999999999999", "rollout_length must be at most"),
    ("train bandit --run-dir a_file", "--run-dir a_file is a file; name a folder"),
    ("train bandit --run-dir a_file/run", "cannot write to a_file/run: Not a directory"),
    (f"train bandit --run-dir {'x' * 300}", "File name too long"),
    ("train bandit --run-dir used", "used holds a run already; add --resume"),
    ("train bandit --run-dir größe-日本", "größe-日本 holds a run already"),
    ("train bandit --run-dir used --resume --seed 7", "cannot resume used with another config: seed: 0 → 7"),
    (
        "train delayed --run-dir used --resume --lifetimes 8 --outer.discount 0.5 --updates 5",
        "another config: task: bandit → delayed; meta.outer.discount: 0.99 → 0.5; meta.lifetimes: 16 → 8",
    ),
    ("train bandit --episodes 0", "episodes must be positive, not 0"),
    ("train bandit --learn rl2 --maml.first-order", "--maml.* are options of --learn maml; leave them out with"),
    ("sweep count --task bandit --begin-with used", "--begin-with belongs to a sweep that trains"),
    ("sweep agent --task empty-rooms --recipe paper", "--recipe belongs to the sweep of a source"),
    ("sweep count --task bandit --recipe paper", "--recipe paper: the paper has no settings for bandit"),
    ("sweep rl2 --task bandit --begin-with nowhere", "--begin-with nowhere is neither the folder of a run"),
    ("train bandit --validate-every -5", "validate_every must be positive, not -5"),
    ("train bandit --validation-lifetimes 0", "validation_lifetimes must be positive, not 0"),
    (
        "train bandit --begin-with nowhere",
        "--begin-with nowhere is neither the folder of a run, a learner, a reward or a policy",
    ),
    (
        "train bandit --begin-with a_file",
        "--begin-with a_file is neither the folder of a run, a learner, a reward or a policy",
    ),
    ("evaluate", "name at least one source"),
    ("evaluate nothing-of-the-kind", "unknown source 'nothing-of-the-kind': neither a folder nor one of extrinsic-ep"),
    ("evaluate a_file", "a_file is a file; name a run folder, a reward folder or a policy folder"),
    ("evaluate random random --task bandit", "a source is named twice"),
    ("evaluate random --task dance", "unknown task 'dance'"),
    ("evaluate random --task bandit --lifetimes 0", "--lifetimes must be between 1 and"),
    ("evaluate random --task bandit --lifetimes 99999999999999999999", "--lifetimes must be between 1 and"),
    ("evaluate random --task bandit --seed -1", "--seed must be between 0 and 2^32 - 1, not -1"),
    ("evaluate random --task bandit --json used", "cannot write used: it is a folder"),
    ("evaluate random --task bandit --json nowhere/x.json", "its folder does not exist"),
    ("evaluate random --task bandit --csv a_file/x.csv", "its folder does not exist"),
    ("evaluate random --task bandit --actions sideways", "sideways"),
    ("view", "name at least one run or reward"),
    ("view nothing-of-the-kind", "unknown source 'nothing-of-the-kind': neither a folder nor one of extrinsic-ep"),
    ("view random-abc random-abc", "a source is named twice"),
    ("view random-abc --task dance", "unknown task 'dance'"),
    ("view random-abc --seed -1", "--seed must be between 0 and 2^32 - 1, not -1"),
    ("view random-abc --lifetime -1", "--lifetime must be between 0 and 1048575, not -1"),
    ("view random-abc --episodes 0", "--episodes must be at least 1, not 0"),
    ("view random-abc --out nowhere/x.html", "its folder does not exist"),
    ("demo --updates 0", "--updates must be at least 1, not 0"),
    ("demo --seed 4294967296", "--seed must be between 0 and 2^32 - 1"),
    ("demo --out a_file", "--out a_file is a file; name a folder"),
    ("tasks --dance", "--dance"),
    ("doctor", "required"),
    ("doctor nowhere", "nowhere is neither a run folder nor a reward or policy folder"),
    ("runs nowhere", "nowhere is no folder; name one that holds runs, or a run"),
    ("runs a_file", "a_file is no folder"),
    ("runs", "runs is no folder"),
    ("plot", "name at least one run folder"),
    ("plot used", "used has no metrics.csv: it is no run folder, or its run has not begun to train"),
    ("plot used used", "a run is named twice"),
    ("plot nowhere", "nowhere has no metrics.csv"),
    ("zoo", "required"),
    ("zoo eat", "eat"),
    ("zoo show", "say which reward: orexis zoo show NAME"),
    ("zoo show nothing-of-the-kind", "unknown source 'nothing-of-the-kind'"),
    ("zoo export random-abc", "say where to: orexis zoo export NAME FOLDER"),
    ("zoo export random-abc used", "used exists already; name a new folder"),
    ("doctor a_file", "a_file is neither a run folder nor a reward or policy folder"),
]

BAD_DATA_WITHOUT_JAX: list[tuple[str, str]] = [
    ("train bandit --run-dir other-version --resume", "has format version 99; this Orexis reads 1"),
    (
        "train bandit --run-dir other-fields --resume",
        "config has unknown fields: colour; was it written by another version?",
    ),
    ("train bandit --run-dir fewer-fields --resume", "config lacks fields: seed; was it written by another version?"),
    ("train bandit --run-dir truncated --resume", "is not valid JSON"),
    ("train bandit --run-dir not-an-object --resume", "must hold an object, not list"),
]


def words(line: str) -> list[str]:
    return ["" if word == "''" else word for word in line.split()]


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with a file, used run folders, and run folders whose config cannot be read."""
    place = tmp_path_factory.mktemp("cli")
    (place / "a_file").write_text("not a folder")
    config = {"format_version": 1, **to_json(RunConfig(task="bandit", meta=preset("bandit")))}
    fewer = {name: value for name, value in config.items() if name != "seed"}
    contents = {
        "used": json.dumps(config),
        "größe-日本": json.dumps(config),
        "other-version": json.dumps({**config, "format_version": 99}),
        "other-fields": json.dumps({**config, "colour": "red"}),
        "fewer-fields": json.dumps(fewer),
        "truncated": json.dumps(config)[:100],
        "not-an-object": "[1, 2]",
    }
    for name, text in contents.items():
        (place / name / "checkpoints").mkdir(parents=True)
        (place / name / "config.json").write_text(text)
    return place


ANSWER = """
import contextlib, io, json, sys
from orexis.cli import main
answers = []
for line in json.load(sys.stdin):
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        try:
            code = main(line)
        except SystemExit as stop:
            code = stop.code
    answers.append([code, said.getvalue(), "jax" in sys.modules])
json.dump(answers, sys.stdout)
"""


@pytest.fixture(scope="module")
def answers(place):
    """What each line of both tables was answered, by the line."""
    lines = [line for line, _ in (*USAGE_ROWS, *BAD_DATA_WITHOUT_JAX)]
    process = subprocess.run(
        [sys.executable, "-c", ANSWER],
        input=json.dumps([words(line) for line in lines]),
        capture_output=True,
        text=True,
        cwd=place,
        timeout=300,
        check=True,
    )
    return dict(zip(lines, json.loads(process.stdout), strict=True))


@pytest.mark.parametrize(
    ("line", "fragment", "code"),
    [(*row, USAGE) for row in USAGE_ROWS] + [(*row, BAD_DATA) for row in BAD_DATA_WITHOUT_JAX],
    ids=lambda value: value[:60] if isinstance(value, str) else str(value),
)
def test_a_bad_line_gets_its_code_and_one_sentence_at_once(answers, line: str, fragment: str, code: int):
    found, said, has_jax = answers[line]
    assert found == code, said
    assert fragment in said
    assert said.startswith("orexis: ")
    assert said.count("\n") == 1
    assert "Traceback" not in said
    assert not has_jax, "JAX takes a second to import: a bad line must be refused before"


def test_nothing_was_written_by_a_bad_line(answers, place):
    found = {path.name for path in place.iterdir()}
    assert found == {
        *("a_file", "used", "größe-日本", "other-version", "other-fields"),
        *("fewer-fields", "truncated", "not-an-object"),
    }
    assert all(len(list((place / name).iterdir())) == 2 for name in found - {"a_file"})


@pytest.mark.smoke
@pytest.mark.parametrize("line", [["--help"], [], ["--version"], ["train", "--help"], ["train", "bandit", "--help"]])
def test_help_needs_no_jax(line):
    code = f"""
import sys
from orexis.cli import main
try:
    code = main({line!r})
except SystemExit as stop:
    code = stop.code
assert not code, code
assert "jax" not in sys.modules
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert process.returncode == 0, process.stderr
    assert ("orexis 0." if line == ["--version"] else "usage") in process.stdout.lower()


def run_main(capsys, *line: str) -> tuple[int, str]:
    code = main(list(line))
    said = capsys.readouterr().err
    assert "Traceback" not in said
    return code, said


@pytest.mark.parametrize("damage", ["truncated", "flipped", "other version", "missing arrays", "hostile task"])
def test_a_reward_that_cannot_be_used_is_bad_data(capsys, tmp_path, damage: str):
    folder = write_reward(tmp_path / "reward", task="bandit" if damage != "hostile task" else "os:system")
    arrays, record = folder / "reward.safetensors", folder / "reward.json"
    if damage == "truncated":
        arrays.write_bytes(arrays.read_bytes()[:100])
    elif damage == "flipped":
        record.write_text(record.read_text().replace('"num_units": 4', '"num_units": 5'))
    elif damage == "other version":
        record.write_text(record.read_text().replace('"format_version": 2', '"format_version": 77'))
    elif damage == "missing arrays":
        arrays.unlink()
    code, said = run_main(capsys, "evaluate", str(folder))
    if damage == "hostile task":  # a name found in a file is not imported
        assert code == USAGE
        assert "if you trust it, add --task os:system" in said
    else:
        assert code == BAD_DATA
        assert {"other version": "format version 77", "missing arrays": "missing"}.get(damage, "is damaged") in said
        assert "train or fetch it again" in said
    assert said.count("\n") == 1


def test_a_run_without_a_reward_yet_is_told_from_a_damaged_one(capsys, tmp_path):
    code, said = run_main(capsys, "evaluate", str(tmp_path))
    assert code == USAGE
    assert "has the run saved a checkpoint yet?" in said


def test_a_reward_for_other_observations_is_refused(capsys, tmp_path):
    folder = write_reward(tmp_path / "reward")
    code, said = run_main(capsys, "evaluate", str(folder), "--task", "bandit")
    assert code == USAGE
    assert "was learned on observations of shape (3, 4, 2), the task has (1, 2, 1)" in said


def test_say_which_task(capsys):
    code, said = run_main(capsys, "evaluate", "random")
    assert code == USAGE
    assert "say which --task" in said


@pytest.mark.parametrize(
    ("module", "complaint"),
    [
        ("no_such_module:Task", "cannot import module 'no_such_module'"),
        ("json:Task", "module 'json' has no class 'Task'"),
        ("json:JSONDecoder", "task.spec must be"),
    ],
)
def test_a_task_of_ones_own_that_is_none(capsys, tmp_path, module: str, complaint: str):
    code, said = run_main(capsys, "train", module, "--run-dir", str(tmp_path / "run"))
    assert code == USAGE
    assert complaint in said
    assert said.count("\n") == 1


def test_an_unexpected_error_is_one_sentence_and_a_traceback_only_when_asked_for(capsys, monkeypatch):
    def broken():
        raise ZeroDivisionError("first line\nsecond line")

    monkeypatch.setattr("orexis.tools.listing.print_tasks", broken)
    code, said = run_main(capsys, "tasks")
    assert code == FAILED
    assert said == "orexis: ZeroDivisionError: first line (run again with --debug for the traceback)\n"
    with pytest.raises(ZeroDivisionError):
        main(["tasks", "--debug"])


def test_debug_shows_where_a_refusal_comes_from(capsys):
    assert main(["train", "dance", "--debug"]) == USAGE
    said = capsys.readouterr().err
    assert "Traceback" in said
    assert said.endswith("or module:Class for your own\n")


def test_the_console_command_ends_with_the_code_and_survives_names_that_are_no_text(tmp_path):
    name = os.fsdecode(b"gr\xfc\xdfe")  # Latin-1: not a letter of UTF-8
    (tmp_path / name / "checkpoints").mkdir(parents=True)
    line = [sys.executable, "-m", "orexis", "train", "bandit", "--run-dir", name]
    process = subprocess.run(line, capture_output=True, cwd=tmp_path, timeout=120, check=False)
    assert process.returncode == USAGE
    assert b"holds a run already" in process.stderr
    assert b"Traceback" not in process.stderr


def test_the_short_options_spell_the_tiny_run_of_these_tests():
    from orexis.cli import _parse

    line = ["train", "bandit", *OPTIONS, "--updates", "12", "--checkpoint-every", "4", "--validate-every", "0"]
    config = _parse(line).config()
    outer = dataclasses.replace(config.meta.outer, entropy_cost=TINY.meta.outer.entropy_cost)
    meta = dataclasses.replace(config.meta, outer=outer)
    assert dataclasses.replace(config, log_every=3, meta=meta) == TINY
    assert _parse([*line, "--deterministic"]).config() == dataclasses.replace(config, deterministic=True)


def test_tasks_are_listed(capsys):
    assert main(["tasks"]) == OK
    assert "random-abc" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "field", "value"),
    [
        (["--outer.advantage-trace", "0.7"], "outer.gae_lambda", 0.7),
        (["--outer.advantage-trace=0.7"], "outer.gae_lambda", 0.7),
        (["--outer.entropy-cost.start", "0.3"], "outer.entropy_cost.init_value", 0.3),
        (["--outer.entropy-cost.end", "0.3"], "outer.entropy_cost.end_value", 0.3),
        (["--outer.reward-learning-rate.updates", "7"], "outer.reward_learning_rate.transition_steps", 7),
        (["--outer.reward-learning-rate.begin", "7"], "outer.reward_learning_rate.transition_begin", 7),
    ],
)
def test_options_of_earlier_versions_are_still_taken(old: list[str], field: str, value: float):
    from orexis.cli import _parse

    meta = _parse(["train", "random-abc", *old]).config().meta
    for name in field.split("."):
        meta = getattr(meta, name)
    assert meta == value
