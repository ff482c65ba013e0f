"""The page itself: one HTML file with its script, its style and its data, which asks for nothing and runs nothing else.

The script is the files of `SCRIPTS` in one function, the data are one JSON island. A content security policy names the
hashes of script and style: nothing else runs, whatever the data say, and nothing is fetched from anywhere.
"""

import base64
import hashlib
import html
import json
from importlib import resources
from typing import Any

from orexis import __version__

SCRIPTS = ("model.js", "marks.js", "world.js", "strips.js", "curves.js", "app.js")


def read_script() -> str:
    """Returns the page's script: its files, one after the other, in a function of their own."""
    parts = [_read(name) for name in SCRIPTS]
    return '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"


def build_page(title: str, subtitle: str, lifetimes: dict[str, Any] | None, training: dict[str, Any]) -> str:
    """Returns the page as text. lifetimes: see `viewer.lifetimes`, None for none; training: see `viewer.curves`."""
    script, style = "\n" + read_script(), "\n" + _read("page.css")
    data = {"title": title, "subtitle": subtitle, "lifetimes": lifetimes, "training": training}
    policy = (
        f"default-src 'none'; script-src {_hash_of(script)}; style-src {_hash_of(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    pieces = {
        "policy": policy,
        "version": html.escape(__version__),
        "title": html.escape(f"{title} · Orexis"),
        "style": style,
        "data": island(data),
        "script": script,
    }
    page = _read("page.html")
    before, rest = "", page
    for name, piece in pieces.items():  # in the order of the template; what was put in is not looked at again
        head, rest = rest.split("{" + name + "}", 1)
        before += head + piece
    return before + rest


def island(data: Any) -> str:
    """Returns `data` as JSON that cannot leave its element: no `<`, `>` or `&` in it. Raises ValueError for NaN."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hash_of(text: str) -> str:
    """Returns a source expression of a content security policy that allows this very text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}'"


def _read(name: str) -> str:
    return (resources.files("orexis.viewer") / "assets" / name).read_text(encoding="utf-8")
