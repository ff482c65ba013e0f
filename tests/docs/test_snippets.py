"""Every command and snippet of the tutorial and of the how-to pages runs, in the order in which a reader meets it."""

import shutil
import sys
from pathlib import Path

import pytest

from tests.docs.snippets import (
    ROOT,
    check_not_run,
    commands_of,
    few,
    read_blocks,
    run_command,
    run_page,
    shrink_options,
    shrink_python,
)

DOCS = ROOT / "docs"
PAGES = sorted([*(DOCS / "tutorial").glob("*.md"), *(DOCS / "how-to").glob("*.md")])
SLOW = {
    "tutorial/index.md",
    *(f"how-to/{name}.md" for name in ("add_a_task", "resume", "use_in_jax", "when_it_does_not_learn")),
}
"""Pages that train or evaluate with the command line, which compiles a whole window each time."""
WITHOUT = {"how-to/index.md"}
"""Pages that lead to others and have nothing to run."""
ELSEWHERE = {"how-to/cluster.md": "tests/slurm/test_slurm.py"}
"""Pages whose commands need more than this machine, with the tests that run them."""
EXTRAS = ("stable_baselines3", "gymnax")
"""Modules without which a page is left out."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty current folder in which modules can be imported, and from which none stay."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    shutil.copytree(ROOT / "examples", tmp_path / "examples")  # pages may use them, as in the folder of the project
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
        for name in (page.relative_to(DOCS).as_posix() for page in PAGES)
        if name not in ELSEWHERE
    ],
)
def test_every_page_runs_from_top_to_bottom(name: str, folder: Path):
    text = (DOCS / name).read_text(encoding="utf-8")
    for module in EXTRAS:
        if f"import {module}" in text or f"from {module}" in text:
            pytest.importorskip(module)
    done = run_page(text, name, folder)
    assert done or name in WITHOUT


def test_pages_that_are_left_out_or_run_elsewhere_are_there():
    assert {page.relative_to(DOCS).as_posix() for page in PAGES} >= SLOW | WITHOUT | set(ELSEWHERE)
    for page, tests in ELSEWHERE.items():
        assert page.rpartition("/")[2] in (ROOT / tests).read_text(encoding="utf-8")


def test_blocks_are_read_with_the_files_that_they_are():
    text = "<!-- file: a.py -->\n```python\nx = 1\n```\n\n```sh\nls\n```\n\n```text\nsaid\n```\n"
    assert [(block.language, block.file) for block in read_blocks(text)] == [
        ("python", "a.py"),
        ("sh", None),
        ("text", None),
    ]


def test_a_page_is_run_in_order_and_what_fails_is_found(folder):
    page = "<!-- file: a.py -->\n```python\nx = 1\n```\n\n```python\nimport a\nassert a.x == 1\n```\n"
    page += "```sh\norexis tasks\n```\n"
    assert run_page(page, "page", folder) == 3
    with pytest.raises(AssertionError):
        run_page(
            page.replace("x = 1", "x = 2").replace("a.py", "b.py").replace("import a", "import b as a"), "page", folder
        )
    with pytest.raises(AssertionError, match="exit code 2"):
        run_page("```sh\norexis dance\n```\n", "page", folder)
    with pytest.raises(AssertionError, match="what is rm"):
        run_page("```sh\nrm x\n```\n", "page", folder)
    with pytest.raises(AssertionError, match="a block in 'ruby'"):
        run_page("```ruby\nx\n```\n", "page", folder)


def test_scripts_are_run(folder):
    (folder / "script.py").write_text("import pathlib, sys\npathlib.Path('said').write_text(sys.argv[1])\n")
    run_command(["python", "script.py", "word"])
    assert (folder / "said").read_text() == "word"


def test_what_is_not_run_names_things_that_exist():
    check_not_run(["make", "test"])
    check_not_run(["pip", "install", ".[sb3]"])
    with pytest.raises(AssertionError, match="no dance"):
        check_not_run(["make", "dance"])
    with pytest.raises(AssertionError, match="no extra dance"):
        check_not_run(["pip", "install", ".[dance]"])


def test_budgets_are_made_small_and_resumed_runs_still_go_on():
    assert few(1500) < few(3000)
    assert few(1) == 1
    assert shrink_options(["train", "x", "--updates", "1500"]) == ["train", "x", "--updates", "2"]
    assert shrink_options(["evaluate", "a", "--lifetimes", "256"]) == ["evaluate", "a", "--lifetimes", "4"]
    assert shrink_python("train('x', updates=1500, lifetimes=64)") == "train('x', updates=2, lifetimes=4)"
    assert commands_of("orexis train x \\\n  --seed 1   # why\n\n# all\nls\n") == [
        ["orexis", "train", "x", "--seed", "1"],
        ["ls"],
    ]
