"""What the documents promise is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_every_test_that_the_table_of_rules_names_exists():
    text = (ROOT / "docs" / "tasks.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:tests/)?test_\w+\.py)::(test_\w+)`", text)
    assert len(named) > 30
    for file, test in named:
        path = ROOT / (file if file.startswith("tests/") else f"tests/tasks/{file}")
        assert f"def {test}(" in path.read_text(encoding="utf-8"), f"{file} has no {test}"


def test_every_rule_has_a_test():
    text = (ROOT / "docs" / "tasks.md").read_text(encoding="utf-8")
    table = text[text.index("| domain | rule") :].split("\n\n")[0].splitlines()[2:]
    assert len(table) > 25
    assert all("test_" in row.split("|")[3] for row in table)


def test_every_picture_that_is_shown_exists():
    for document in (ROOT / "docs" / "tasks.md", ROOT / "docs" / "add_a_task.md"):
        for target in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).is_file()


def test_everything_that_the_readme_points_to_exists():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = [target for target in re.findall(r"\]\(([^)]+)\)", text) if "://" not in target]
    assert len(targets) > 10
    for target in targets:
        assert (ROOT / target).exists(), f"README.md points to {target}, which is not there"


def snippets(document: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize(
    ("document", "number"),
    [(name, number) for name in ("README.md", "docs/use_a_reward.md") for number in range(len(snippets(name)))],
)
def test_every_snippet_runs_as_it_stands(document: str, number: int, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = snippets(document)[number]
    if "stable_baselines3" in code:
        pytest.importorskip("stable_baselines3")
    exec(compile(code, f"{document}, snippet {number}", "exec"), {"__name__": "snippet"})


def test_there_are_snippets():
    assert len(snippets("README.md")) >= 1
    assert len(snippets("docs/use_a_reward.md")) >= 5
