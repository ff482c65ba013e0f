"""One self-contained HTML page: text, tables and pictures in a single file that opens anywhere, offline.

Nothing is fetched and nothing runs: styles are inline, pictures are data URIs, there is no script,
and a content security policy tells the browser to keep it so.
"""

import base64
import dataclasses
import html
import re
from collections.abc import Sequence

PIXELS_PER_INCH = 220  # of the pictures, so that they are shown at a readable size
_ZOOM = 1.6  # a picture made for a column of print is shown this much larger


@dataclasses.dataclass(frozen=True)
class ReportTable:
    """A table; every cell is text."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    num_names: int = 1  # columns on the left that hold names; the others hold numbers and are set to the right

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.header):
                raise ValueError(f"row {row} has {len(row)} cells, the header of {self.caption!r} {len(self.header)}")


@dataclasses.dataclass(frozen=True)
class Section:
    """A heading, what there is to say, a table and a picture if there are any."""

    heading: str
    paragraphs: tuple[str, ...]  # plain text; `words in backticks` are shown as code
    png: bytes | None = None
    caption: str = ""  # says what the picture shows, also to those who cannot see it
    table: ReportTable | None = None
    link: tuple[str, str] | None = None  # a file beside the page, and what to say of it


def build_report(
    title: str, lead: Sequence[str], summary: ReportTable, sections: Sequence[Section], tables: Sequence[ReportTable]
) -> str:
    """Returns the page: title, lead paragraphs, the summary table, the sections, the tables. All text is escaped."""
    body = [
        f"<h1>{_text(title)}</h1>",
        *(f'<p class="lead">{_text(paragraph)}</p>' for paragraph in lead),
        _table(summary),
        *(_section(section) for section in sections),
        "<h2>Tables</h2>" if tables else "",
        *(_table(table) for table in tables),
    ]
    content = "\n".join(part for part in body if part)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{html.escape(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
{content}
</main>
</body>
</html>
"""


def _section(section: Section) -> str:
    parts = [f"<h2>{_text(section.heading)}</h2>", *(f"<p>{_text(paragraph)}</p>" for paragraph in section.paragraphs)]
    if section.table is not None:
        parts.append(_table(section.table))
    if section.png is not None:
        parts.append(_figure(section.png, section.caption))
    if section.link is not None:
        file, words = section.link
        parts.append(f'<p><a href="{html.escape(file)}">{_text(words)}</a></p>')
    return f"<section>\n{chr(10).join(parts)}\n</section>"


def _figure(png: bytes, caption: str) -> str:
    width = round(int.from_bytes(png[16:20], "big") * 96 / PIXELS_PER_INCH * _ZOOM)  # pixels across, from the header
    source = f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"
    image = f'<img src="{source}" alt="{html.escape(caption)}" style="width:{width}px">'
    return f"<figure>{image}<figcaption>{_text(caption)}</figcaption></figure>"


def _table(table: ReportTable) -> str:
    sides = ["name" if column < table.num_names else "number" for column in range(len(table.header))]
    header = "".join(
        f'<th scope="col" class="{side}">{_text(cell)}</th>' for side, cell in zip(sides, table.header, strict=True)
    )
    rows = "\n".join(
        "<tr>"
        + "".join(f'<td class="{side}">{_text(cell)}</td>' for side, cell in zip(sides, row, strict=True))
        + "</tr>"
        for row in table.rows
    )
    caption = f"<caption>{_text(table.caption)}</caption>"
    head = f"<thead><tr>{header}</tr></thead>"
    return f'<div class="scroll"><table>{caption}{head}<tbody>\n{rows}\n</tbody></table></div>'


def _text(text: str) -> str:
    """Returns text safe for HTML, `words in backticks` as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2329; --soft: #5b6570; --paper: #ffffff; --line: #dfe3e8; --card: #f6f7f9;
  --accent: #0072b2; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ec; --soft: #9aa5b1; --paper: #14181d; --line: #2d343c; --card: #1c2228; --accent: #63b9ee; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); line-height: 1.55;
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
a { color: var(--accent); }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 1rem; letter-spacing: -0.01em; text-wrap: balance; }
h2 { font-size: 1.25rem; margin: 2.6rem 0 0.6rem; padding-top: 1.2rem; border-top: 1px solid var(--line); }
p { margin: 0.6rem 0; max-width: 46rem; }
p.lead { font-size: 1.06rem; }
figure { margin: 1.1rem 0; }
figure img { display: block; max-width: 100%; height: auto; background: #ffffff; padding: 0.9rem;
  border: 1px solid var(--line); border-radius: 10px; }
figcaption, caption { color: var(--soft); font-size: 0.88rem; text-align: left; }
figcaption { margin-top: 0.5rem; max-width: 46rem; }
caption { padding-bottom: 0.45rem; }
.scroll { overflow-x: auto; margin: 1.2rem 0; }
table { border-collapse: collapse; font-size: 0.94rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.34rem 1.3rem 0.34rem 0; white-space: nowrap; border-bottom: 1px solid var(--line); }
.name { text-align: left; }
.number { text-align: right; }
thead th { color: var(--soft); font-weight: 600; border-bottom: 2px solid var(--line); }
code { font: 0.9em ui-monospace, "SF Mono", Menlo, Consolas, monospace; background: var(--card);
  padding: 0.1em 0.35em; border-radius: 4px; overflow-wrap: anywhere; }
@media print { main { max-width: none; padding: 0; } section { break-inside: avoid; } }
"""
