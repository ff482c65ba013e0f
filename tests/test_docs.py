"""What the documents promise is there."""

import re
import sys
import types
from pathlib import Path

import pytest

from tests.docs.snippets import python_snippets, run_python
from tests.faults.figures import Count, Link, counted, read_reports, rows, with_figures

ROOT = Path(__file__).parent.parent


def test_every_test_that_the_table_of_rules_names_exists():
    text = (ROOT / "docs" / "reference" / "tasks.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:tests/)?test_\w+\.py)::(test_\w+)`", text)
    assert len(named) > 30
    for file, test in named:
        path = ROOT / (file if file.startswith("tests/") else f"tests/tasks/{file}")
        assert f"def {test}(" in path.read_text(encoding="utf-8"), f"{file} has no {test}"


def test_every_rule_has_a_test():
    text = (ROOT / "docs" / "reference" / "tasks.md").read_text(encoding="utf-8")
    table = text[text.index("| domain | rule") :].split("\n\n")[0].splitlines()[2:]
    assert len(table) > 25
    assert all("test_" in row.split("|")[3] for row in table)


def test_every_picture_that_is_shown_exists():
    for document in (ROOT / "docs" / "reference" / "tasks.md", ROOT / "docs" / "how-to" / "add_a_task.md"):
        for target in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).is_file()


def test_everything_that_the_readme_points_to_exists():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = [target for target in re.findall(r"\]\(([^)]+)\)", text) if "://" not in target]
    assert len(targets) > 10
    for target in targets:
        assert (ROOT / target).exists(), f"README.md points to {target}, which is not there"


RUN = ("README.md", "docs/reference/python.md", "docs/reference/logs.md")


class FakeBoard:
    """What `wandb.init` returns, as far as the snippet uses it: it remembers, and takes steps in order only."""

    def __init__(self, told: dict):
        self.told, self.logged, self.summary, self.closed = told, [], {}, False

    def log(self, values: dict, step: int) -> None:
        assert not self.logged or step > self.logged[-1][0]
        self.logged.append((step, values))

    def __enter__(self) -> "FakeBoard":
        return self

    def __exit__(self, *error: object) -> None:
        self.closed = True


@pytest.mark.parametrize(
    ("document", "number"),
    [(name, number) for name in RUN for number in range(len(python_snippets(name)))],
)
def test_every_snippet_runs_as_it_stands(document: str, number: int, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    code = python_snippets(document)[number]
    if "stable_baselines3" in code:
        pytest.importorskip("stable_baselines3")
    boards: list[FakeBoard] = []
    wandb = types.SimpleNamespace(init=lambda **told: boards.append(FakeBoard(told)) or boards[-1])
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    run_python(code, f"{document}, snippet {number}")
    if "wandb" in code:
        (board,) = boards
        assert [step for step, _ in board.logged] == list(range(10, 201, 10))
        assert all(row["episode_return"] == row["episode_return"] for _, row in board.logged)
        assert "validation_return" not in board.logged[0][1]  # nothing was validated: an empty cell
        assert board.told["config"]["task"] == "bandit"
        assert board.summary["checkpoint"].endswith("step_00000200")
        assert Path(board.summary["reward"]).is_dir()
        assert board.closed


def test_there_are_snippets():
    assert len(python_snippets("README.md")) >= 1
    assert len(python_snippets("docs/reference/python.md")) >= 18
    assert sum("wandb" in code for code in python_snippets("docs/reference/logs.md")) == 1


def test_every_fault_has_a_test_that_exists_and_was_run():
    page = (ROOT / "docs" / "explanation" / "reliability.md").read_text(encoding="utf-8")
    links = rows(page)
    assert len(links) >= 37
    assert list(links) == list(range(1, len(links) + 1))
    named = {link for row in links.values() for link in row}
    for link in named:
        text = (ROOT / link.file).read_text(encoding="utf-8")
        assert link.test is None or f"def {link.test}(" in text, f"{link.file} has no {link.test}"
    figures = re.findall(r"^\| (\d+) \|.*\| (\d+) \| (\d+) \|$", page, re.MULTILINE)
    assert [int(number) for number, _, _ in figures] == [number for number, row in links.items() if named & set(row)]
    assert all(int(trials) > 0 and int(failures) == 0 for _, trials, failures in figures)


def test_trials_and_failures_are_counted_from_reports(tmp_path):
    case = '<testcase classname="tests.faults.test_a" name="test_{}">{}</testcase>'
    cases = (
        case.format("one[x]", '<properties><property name="trials" value="7"/></properties>'),
        case.format("one[y]", '<properties><property name="trials" value="5"/></properties><failure/>'),
        case.format("two", ""),
        case.format("three", "<skipped/>"),
    )
    (tmp_path / "report.xml").write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")
    counts = read_reports([tmp_path / "report.xml"])
    assert counted([Link("tests/faults/test_a.py", "test_one")], counts) == Count(12, 1)
    assert counted([Link("tests/faults/test_a.py", None)], counts) == Count(13, 1)
    assert counted([Link("tests/faults/test_a.py", "test_three")], counts) == Count(0, 0)

    page = "Last full run: never\n| 3 | x | [test_one](../tests/faults/test_a.py) | – | – |\n| 4 | y | none | 1 | 1 |\n"
    assert with_figures(page, counts, "today.").splitlines() == [
        "Last full run: today.",
        "| 3 | x | [test_one](../tests/faults/test_a.py) | 12 | 1 |",
        "| 4 | y | none | – | – |",
    ]
