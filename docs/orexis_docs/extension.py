"""The Sphinx extension: generated pages before anything is read, links made right as pages are."""

from typing import Any

from orexis_docs.api import process_docstring
from orexis_docs.pages import right_page, write_pages


def setup(app: Any) -> dict[str, bool]:
    """Registers the hooks; Sphinx calls it."""
    app.connect("builder-inited", lambda app: write_pages())
    app.connect("source-read", read_source)
    app.connect("autodoc-process-docstring", process_docstring)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def read_source(app: Any, docname: str, source: list[str]) -> None:
    """Sphinx's hook: changes the text of a page before it is parsed."""
    source[0] = right_page(docname, source[0])
