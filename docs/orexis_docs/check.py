"""Checks a built site: every link inside it leads to a file, and every anchor to a place on its page.

python -m orexis_docs.check FOLDER
"""

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page of HTML links to, and the places in it that can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value or "")


def broken_links(site: Path) -> Iterator[str]:
    """Yields a sentence for every link inside the site that leads nowhere, or out of it to this machine."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        for link in dict.fromkeys(page.links):
            parts = urlsplit(link)
            if parts.scheme in ("http", "https", "mailto", "data", "javascript"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if parts.scheme or not target.is_relative_to(site.resolve()) or not target.exists():
                yield f"{path.relative_to(site)}: {link} is not there"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{path.relative_to(site)}: {link} has no such place on its page"


def main(folder: str) -> int:
    """Prints what is broken; returns the exit code."""
    site = Path(folder).resolve()
    broken = list(broken_links(site))
    print("\n".join(broken) or f"all links inside {folder} lead somewhere")
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
