"""Links that are right where a file lies, made right where the site shows it."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

TOKEN = re.compile(
    r"^(?P<fence>```+|~~~+).*?^(?P=fence)[ \t]*$"  # a block of code
    r"|\[!\[(?P<alt>[^\]]*)\]\((?P<picture>[^)\s]+)\)\]\((?P<around>[^)\s]+)\)"  # a picture that is a link
    r"|(?P<text>!?\[[^\[\]]*\])\((?P<target>[^)\s]+)\)"  # a link or a picture
    r"|`[^`\n]*`",  # code in a line
    re.MULTILINE | re.DOTALL,
)


def relink(text: str, source: Path, page: Path, pages: Mapping[Path, Path]) -> str:
    """Returns the text of `source` with its links as they must be on `page`; what is code stays as it is.

    A file that the site shows is linked by its page, a folder by that of its README.md, and any other file by itself.
    `pages` is the page of each file that lies elsewhere than the site.
    """

    def right(target: str) -> str:
        if "://" in target or target.startswith(("#", "mailto:")):
            return target
        path, _, anchor = target.partition("#")
        place = Path(os.path.normpath(source.parent / path))
        place = pages.get(place / "README.md" if place.is_dir() else place, place)
        return Path(os.path.relpath(place, page.parent)).as_posix() + (f"#{anchor}" if anchor else "")

    def replace(match: re.Match[str]) -> str:
        if match["target"]:
            return f"{match['text']}({right(match['target'])})"
        if match["picture"]:
            return f"[![{match['alt']}]({right(match['picture'])})]({right(match['around'])})"
        return match[0]

    return TOKEN.sub(replace, text)
