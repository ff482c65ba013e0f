"""docs/explanation/architecture.md tells the truth: the rooms of the layering test in its order, and what exists."""

import ast
import re
from pathlib import Path

import pytest

from tests.test_layering import LINES, SOURCE

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


def rooms(page: str) -> list[tuple[str, ...]]:
    """Returns the rooms that a page lists, line by line."""
    table = page.split("| room |")[1].split("\n\n")[0].splitlines()[2:]
    return [tuple(re.findall(r"`(\w+)`", line.split("|")[1])) for line in table]


def named(page: str) -> list[tuple[str, str]]:
    """Returns every file and every name in it that a page points to, as `file.py::name` or `file.py` (name "")."""
    return re.findall(r"`([\w/]+\.py)(?:::([\w.]+))?`", page)


def names_in(tree: ast.Module, prefix: str = "") -> set[str]:
    """Returns functions, classes, methods (`Class.method`) and constants that a module defines."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(prefix + node.name)
            if isinstance(node, ast.ClassDef):
                found |= names_in(ast.Module(node.body, []), f"{node.name}.")
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {prefix + target.id for target in targets if isinstance(target, ast.Name)}
    return found


def wrong(page: str) -> list[str]:
    """Returns what a page points to and is not there."""
    found = []
    for file, name in named(page):
        place = ROOT / file if file.startswith(("tests/", "examples/")) else SOURCE / file
        if not place.is_file():
            found.append(file)
        elif name and name not in names_in(ast.parse(place.read_text(encoding="utf-8"))):
            found.append(f"{file}::{name}")
    return found


def test_the_rooms_are_those_of_the_layering_test_in_its_order():
    page = (DOCS / "explanation" / "architecture.md").read_text(encoding="utf-8")
    assert rooms(page) == list(LINES)


@pytest.mark.parametrize("document", ["explanation/architecture.md", "reference/glossary.md"])
def test_every_file_and_function_that_is_named_exists(document: str):
    page = (DOCS / document).read_text(encoding="utf-8")
    assert len(named(page)) > 20
    assert wrong(page) == []


@pytest.mark.parametrize("document", ["explanation/architecture.md", "reference/glossary.md", "reference/python.md"])
def test_every_page_that_is_linked_exists(document: str):
    page = (DOCS / document).read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)]+)\)", page) if "://" not in link]
    assert links
    assert [link for link in links if not ((DOCS / document).parent / link.partition("#")[0]).exists()] == []


def test_every_hop_has_its_file():
    page = (DOCS / "explanation" / "architecture.md").read_text(encoding="utf-8")
    for heading in ("## One meta-update", "## One evaluation"):
        hops = [line for line in page.split(heading)[1].split("\n## ")[0].splitlines() if re.match(r"\| \d+ \|", line)]
        assert [int(line.split("|")[1]) for line in hops] == list(range(1, len(hops) + 1))
        assert len(hops) >= 9
        assert all(any(name for _, name in named(line.split("|")[3])) for line in hops)


def test_what_is_not_there_is_found():
    assert wrong("`returns.py::gae` `returns.py` `tests/test_docs.py` `training/loop.py::Run.go`") == []
    page = "`returns.py::gea` `return.py` `training/loop.py::Run.come` `training/loop.py::go`"
    assert wrong(page) == ["returns.py::gea", "return.py", "training/loop.py::Run.come", "training/loop.py::go"]
    assert rooms("| room | x |\n|---|---|\n| `a` `b` | `c` |\n| `d` | |\n\n`e`") == [("a", "b"), ("d",)]
