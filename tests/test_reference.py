"""Every public name is documented: a docstring of its own, and its signature, a paragraph and an example on a page."""

import dataclasses
import inspect
import re
from pathlib import Path

import pytest

import orexis

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "python.md"


def sections() -> dict[str, str]:
    """Returns the text below each name's heading."""
    parts = re.split(r"^### `(\w+)`$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    texts = [re.split(r"^## ", text, flags=re.MULTILINE)[0] for text in parts[2::2]]
    return dict(zip(parts[1::2], texts, strict=True))


def parts_of(thing: object) -> set[str]:
    """Returns what a reader must be told of: parameters of a function, fields of a config, members of a protocol."""
    if dataclasses.is_dataclass(thing):
        return {field.name for field in dataclasses.fields(thing)}
    if inspect.isclass(thing):
        return {name for name in vars(thing) if not name.startswith("_")}
    return set(inspect.signature(thing).parameters) if callable(thing) else set()


def lacks_docstring(thing: object) -> bool:
    """Returns whether nobody wrote a docstring: a string has its type's, a dataclass a generated one."""
    doc = getattr(thing, "__doc__", None)
    return not doc or doc.startswith(f"{getattr(thing, '__name__', '')}(")


@pytest.mark.parametrize("name", [name for name in orexis.__all__ if name != "__version__"])
def test_a_public_name_has_a_docstring(name: str):
    assert not lacks_docstring(getattr(orexis, name)), f"orexis.{name} has no docstring"


@pytest.mark.parametrize("name", orexis.__all__)
def test_a_public_name_has_its_place_in_the_reference(name: str):
    assert name in sections(), f"docs/reference/python.md has no section ### `{name}`"
    text, *snippets = re.split(r"```python\n(.*?)```", sections()[name], flags=re.DOTALL)
    told = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", text))))
    missing = parts_of(getattr(orexis, name)) - told
    assert not missing, f"docs/reference/python.md, {name}: says nothing of {', '.join(sorted(missing))}"
    sentences = [line for line in text.splitlines() if line and not line.startswith("`")]
    assert sentences, f"docs/reference/python.md, {name}: no paragraph"
    assert any(f"orexis.{name}" in snippet for snippet in snippets), f"docs/reference/python.md, {name}: no example"


def test_the_reference_has_no_names_that_are_not_public():
    assert set(sections()) == set(orexis.__all__)


def test_a_docstring_that_nobody_wrote_is_found():
    @dataclasses.dataclass
    class Bare:
        x: int

    assert lacks_docstring(Bare)
    assert lacks_docstring(lambda: None)
    assert not lacks_docstring(test_a_public_name_has_a_docstring.__class__)
