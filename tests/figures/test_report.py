"""The page stands alone, contains everything it was given, and lets no text become markup."""

import base64
import re
from html.parser import HTMLParser

import pytest

from orexis.figures.report import ReportTable, Section, build_report

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
EVIL = "<script>alert(1)</script> & \"quotes\" 'too' {_STYLE}"
VOID = {"meta", "img", "br"}


class Outline(HTMLParser):
    """Collects tags, attributes and text; fails on tags that are closed wrongly."""

    def __init__(self, page: str):
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.links: list[str] = []
        self.alternatives: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href", "srcset", "action")]
        self.alternatives += [value for name, value in attrs if name == "alt"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def page(evil: str = "harmless") -> str:
    summary = ReportTable(f"summary {evil}", ("source", f"mean {evil}"), ((evil, "0.385"), ("random", "−0.02")))
    facts = ReportTable("facts", ("what", "value"), (("seed", "7"),))
    sections = (
        Section("Learning curves", (f"first {evil}", "second with `code`"), PNG, f"caption {evil}"),
        Section(f"No picture {evil}", ("words",), table=ReportTable("small", ("a", "b"), (("x", "1"),))),
        Section("Elsewhere", (), link=("beside.html", f"open {evil}")),
    )
    return build_report(f"Report {evil}", (f"lead {evil}",), summary, sections, (facts,))


@pytest.mark.parametrize("evil", ["harmless", EVIL])
def test_page_is_well_formed_and_fetches_nothing(evil):
    outline = Outline(page(evil))
    assert outline.open == []
    assert outline.links == [f"data:image/png;base64,{base64.b64encode(PNG).decode()}", "beside.html"]
    assert not {"script", "link", "iframe", "object"} & set(outline.tags)
    assert not re.search(r"(?:https?:)?//\w|@import|url\(", page(evil).replace(outline.links[0], ""))


def test_page_contains_all_that_it_was_given():
    text = Outline(page()).text
    for words in ("Report", "lead", "summary", "0.385", "Learning curves", "first", "No picture", "facts", "seed", "7"):
        assert words in text
    assert "small" in text
    assert "<code>code</code>" in page()
    assert 'alt="caption harmless"' in page()


def test_text_never_becomes_markup():
    outline = Outline(page(EVIL))
    text = outline.text
    assert outline.alternatives == [f"caption {EVIL}"]
    for place in ("Report", "lead", "summary", "mean", "first", "caption", "No picture", "open"):
        assert f"{place} {EVIL}" in text


def test_page_follows_light_and_dark():
    assert "color-scheme: light dark" in page()
    assert "prefers-color-scheme: dark" in page()


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match="3 cells"):
        ReportTable("t", ("a", "b"), (("1", "2", "3"),))
