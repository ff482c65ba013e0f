"""Where the pages come from: files of the project that are shown on the site, each with the page that shows it."""

from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent
ROOT = DOCS.parent
GENERATED = DOCS / "generated"
"""Pages that are written when the site is built; not committed."""
RESULTS = ROOT / "results"
ZOO = ROOT / "src" / "orexis" / "zoo"


def shown() -> dict[Path, Path]:
    """Returns the page of each Markdown file outside docs/ that is a page of the site: cards, figures, sweeps …"""
    pages = {card: GENERATED / "zoo" / f"{card.parent.name}.md" for card in sorted(ZOO.glob("*/README.md"))}
    for file in sorted(RESULTS.rglob("*.md")):
        place = file.relative_to(RESULTS)
        name = place.parent if place.name == "README.md" else place.with_suffix("")
        pages[file] = GENERATED / "results" / f"{name}.md"
    return pages
