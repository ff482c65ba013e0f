"""What a clumsy user does: empty names, typing errors, one file for two, modules that end the process, huge windows."""

import dataclasses
import json
from pathlib import Path

import pytest

import orexis
from orexis.api import default_run_dir
from orexis.cli import main
from orexis.errors import BAD_DATA, FAILED, OK, USAGE, CommandError, printable
from orexis.storage.card import write_card
from orexis.storage.files import json_bytes
from orexis.storage.reading import SEAL, seal
from orexis.training import setup
from orexis.training.loop import Run
from orexis.training.setup import LONG_WINDOW, warn_of_compiling
from orexis.training.train import train
from tests.storage.rewards import write_reward
from tests.training.tiny import TINY, TINY_META, remembered_engine


def run_main(capsys, *line: str) -> tuple[int, str]:
    code = main(list(line))
    said = capsys.readouterr().err
    assert "Traceback" not in said
    return code, said


@pytest.mark.parametrize("line", [["--run-dir", ""], ["--run-dir="], ["--resume", "--run-dir", ""]])
def test_an_empty_run_folder_is_not_the_current_one(capsys, tmp_path, monkeypatch, line: list[str]):
    monkeypatch.chdir(tmp_path)
    assert run_main(capsys, "train", "bandit", *line) == (USAGE, "orexis: --run-dir is empty; name a folder\n")
    with pytest.raises(ValueError, match="run_dir is empty"):
        orexis.train("bandit", run_dir="")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("resume", [True, False])
def test_a_resume_that_finds_nothing_says_so_and_begins(tmp_path, monkeypatch, resume: bool):
    monkeypatch.setattr(setup, "make_engine", remembered_engine)
    monkeypatch.setattr(Run, "_train", lambda run, state, report: OK)
    assert train(tmp_path / "typo", TINY, resume=resume) == OK  # a scheduler's first start is a resume too
    said = (tmp_path / "typo" / "log.txt").read_text()
    assert ("there is nothing to resume in" in said) == resume
    assert "starting bandit at update 0" in said


MODULES = {
    "leaves": ("import sys\nsys.exit(0)", "SystemExit: 0"),
    "raises": ("raise RuntimeError('no network\\nsecond line')", "RuntimeError: no network"),
    "misspelled": ("def f(:\n", "SyntaxError: "),
    "needs_more": ("import nothing_of_the_kind", "No module named 'nothing_of_the_kind'"),
    "made_badly": ("class Task:\n    def __init__(self):\n        raise SystemExit(0)", "SystemExit: 0"),
}


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("command", ["train", "evaluate"])
def test_a_module_that_does_not_let_itself_be_imported_is_named(capsys, tmp_path, monkeypatch, name: str, command: str):
    source, complaint = MODULES[name]
    (tmp_path / f"{name}_{command}.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    task = f"{name}_{command}:Task"
    line = ["train", task, "--run-dir", "run"] if command == "train" else ["evaluate", "random", "--task", task]
    code, said = run_main(capsys, *line)
    assert code == USAGE
    assert complaint in said
    assert task in said
    assert said.count("\n") == 1


def test_one_file_for_two_results_is_refused(capsys, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "x.json")
    for one, other in (("x.json", "x.json"), ("x.json", "./x.json"), ("x.json", "link")):
        line = ["evaluate", "random", "--task", "bandit", "--json", str(tmp_path / one), "--csv", f"{tmp_path}/{other}"]
        code, said = run_main(capsys, *line)
        assert code == USAGE
        assert "two results cannot be written to one file" in said


@pytest.mark.parametrize("option", ["--csv", "--json", "--trace"])
def test_a_device_that_is_full_is_said_in_a_sentence(capsys, option: str):
    if not Path("/dev/full").is_char_device():
        pytest.skip("this system has no /dev/full")
    code, said = run_main(capsys, "evaluate", "random", "--task", "bandit", "--lifetimes", "2", option, "/dev/full")
    assert code == FAILED
    assert said.endswith("orexis: cannot write /dev/full: No space left on device; name another file\n")
    assert Path("/dev/full").is_char_device()  # and not replaced by a file


def test_a_window_that_compiles_for_hours_is_warned_of_before(tmp_path, monkeypatch):
    def windowed(window: int):
        return dataclasses.replace(
            TINY, meta=dataclasses.replace(TINY_META, outer=dataclasses.replace(TINY_META.outer, window=window))
        )

    assert warn_of_compiling(windowed(LONG_WINDOW)) == []
    monkeypatch.setattr(setup, "make_engine", lambda config: remembered_engine(TINY))
    monkeypatch.setattr(Run, "_train", lambda run, state, report: OK)  # which compiles
    assert train(tmp_path / "run", windowed(1000), resume=False) == OK
    said = (tmp_path / "run" / "log.txt").read_text()
    assert "the 1000 updates of a window are compiled one after the other, which takes 100 times as long" in said
    assert "try a smaller --outer.window" in said


def test_a_result_that_cannot_be_written_is_no_bug(capsys, tmp_path, monkeypatch):
    if not Path("/dev/full").is_char_device():
        pytest.skip("this system has no /dev/full")
    code, said = run_main(capsys, "play", "random-abc", "--random", "--episodes", "1", "--gif", "/dev/full")
    assert code == FAILED
    assert said.startswith("orexis: No space left on device; mend that or name another place")

    def refuse(*_):
        raise PermissionError(13, "Permission denied", "x\x1b[2J")

    monkeypatch.setattr("orexis.tools.zoo.write_durably", refuse)
    code, said = run_main(capsys, "zoo", "export", "random-abc", str(tmp_path / "copy"))
    assert code == FAILED
    assert said.startswith(r"orexis: x\x1b[2J: Permission denied; mend that or name another place")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("learn", ["reward", "rl2", "maml"])
def test_each_thing_that_is_learned_has_a_run_folder_of_its_own(tmp_path, monkeypatch, learn: str):
    places = []
    monkeypatch.setattr("orexis.training.train.train", lambda run_dir, *_: places.append(run_dir) or OK)
    assert main(["train", "random-abc", "--learn", learn, "--seed", "3"]) == OK
    middle = "" if learn == "reward" else f"-{learn}"
    assert places == [Path(f"runs/random-abc{middle}-seed3")]


def test_what_was_learned_is_taken_for_nothing_else(capsys, tmp_path):
    for source in ("random-abc-rl2", "random-abc-maml"):
        code, said = run_main(capsys, "evaluate", source, "--agent", "q-learning", "--lifetimes", "2")
        assert code == USAGE
        assert f"the policy {source} is an agent itself and does not become a q-learning one" in said
    for figure in ("fig3", "fig8"):
        line = ["--budget", "smoke", "--tasks", "random-abc", "--rewards", "random-abc=random-abc-rl2"]
        code, said = run_main(capsys, "reproduce", figure, *line, "--out", str(tmp_path))
        assert code == USAGE
        assert "random-abc-rl2 is a policy, not a reward" in said


def test_the_page_of_a_new_task_says_how_to_evaluate_it(capsys, tmp_path):
    page = (Path(__file__).parent.parent.parent / "docs" / "how-to" / "add_a_task.md").read_text(encoding="utf-8")
    folder, task = default_run_dir("my_module:MyTask", 0), "my_module:MyTask"
    assert f"orexis evaluate {folder} extrinsic-ep --task {task}`" in page
    code, said = run_main(capsys, "evaluate", str(write_reward(tmp_path / "reward", task=task)))
    assert code == USAGE
    assert f"add --task {task}" in said


NUMBERS = {"mean": 0.5, "ci95": [0.25, 0.75], "last_ten": 0.5}
WRONG = [
    {"training": 5},
    {"training": ["updates"]},
    {"evaluation": [1]},
    {"evaluation": {"sources": 5, "lifetimes": 3, "seed": 0}},
    {"evaluation": {"sources": {"learned": {}}, "lifetimes": 3, "seed": 0}},
    {"evaluation": {"sources": {"learned": {**NUMBERS, "mean": "much"}}, "lifetimes": 3, "seed": 0}},
    {"evaluation": {"sources": {"learned": {**NUMBERS, "ci95": 5}}, "lifetimes": 3, "seed": 0}},
    {"evaluation": {"sources": {"learned": NUMBERS}}},
    {"known_failures": "many"},
    {"known_failures": [1]},
    {"known_failures": {"a": "b"}},
    {"config": "mine"},
    {"config": {"meta": [1]}},
]


@pytest.mark.parametrize("wrong", WRONG, ids=json.dumps)
def test_a_record_of_wrong_types_is_bad_data_to_zoo_and_doctor(capsys, tmp_path, wrong: dict):
    folder = write_reward(tmp_path / "reward")
    path = folder / "reward.json"
    record = json.loads(path.read_text())
    record.pop(SEAL)
    path.write_bytes(json_bytes(seal({**record, **wrong})))
    code, said = run_main(capsys, "zoo", "show", str(folder))
    assert code == BAD_DATA
    assert "cannot be shown: " in said
    assert next(iter(wrong)) in said
    assert main(["doctor", str(folder)]) == BAD_DATA
    assert main(["zoo", "export", str(folder), str(tmp_path / "copy")]) == BAD_DATA


HOSTILE = "\x1b]0;title\x07\x1b[31mred\x9b2J\u202eevil\r"


def test_control_characters_of_a_file_never_reach_the_terminal(capsys, tmp_path):
    folder = write_reward(
        tmp_path / "reward", task=f"my:{HOSTILE}", training={"updates": HOSTILE}, known_failures=[HOSTILE]
    )
    for line in (["zoo", "show", str(folder)], ["doctor", str(folder)], ["evaluate", str(folder)]):
        main(line)
        printed = capsys.readouterr()
        said = printed.out + printed.err
        assert not set(said) & set("\x1b\x07\x9b\u202e\r"), line
        assert r"\x1b]0;title\x07\x1b[31mred\x9b2J\u202eevil\x0d" in said, line
    assert "\x1b" not in (folder / "README.md").read_text()


def test_what_is_harmless_stays_as_it_is():
    assert printable("größe 日本 – 👍🏽", lines=True) == "größe 日本 – 👍🏽"
    assert printable("a\nb\t", lines=True) == "a\nb\t"
    assert printable("a\nb") == r"a\x0ab"
    assert str(CommandError("a\x1bb", 3)) == r"a\x1bb"
    assert write_card({"task": "x", "network": {"history": "none", "sees_action": True}, "sha256": "0"}).startswith(
        "# A"
    )
