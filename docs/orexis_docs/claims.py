"""The figures with their verdicts, from `results/fig*/claims.json`."""

import dataclasses
import json
from collections import Counter
from pathlib import Path
from typing import Any

from orexis.reproduce.registry import FIGURES

VERDICTS = ("holds", "does not", "undecided")
"""What may become of a sentence of the paper, best first; anything else was not measured."""
UNMEASURED = "not measured"
MIXED = "depends on the training seed"


@dataclasses.dataclass(frozen=True)
class Figure:
    """What one figure has come to."""

    name: str
    folder: Path
    claims: tuple[dict[str, Any], ...]

    @property
    def number(self) -> str:
        return self.name.removeprefix("fig")

    @property
    def summary(self) -> str:
        """What it shows, as `orexis reproduce --help` says."""
        return FIGURES[self.name].summary if self.name in FIGURES else ""

    @property
    def picture(self) -> Path:
        return self.folder / f"{self.name}.png"


def figures(results: Path) -> list[Figure]:
    """Returns every figure that was reproduced, by its number."""
    read = [
        Figure(file.parent.name, file.parent, tuple(json.loads(file.read_text(encoding="utf-8"))["claims"]))
        for file in results.glob("fig*/claims.json")
    ]
    return sorted(read, key=lambda figure: int(figure.number))


def verdict(claims: list[dict[str, Any]]) -> str:
    """Returns what became of one sentence: its verdict, or how many of several training seeds agree on which."""
    counts = Counter(claim["verdict"] if claim["verdict"] in VERDICTS else UNMEASURED for claim in claims)
    if len(counts) == 1:
        return next(iter(counts))
    ordered = sorted(counts, key=[*VERDICTS, UNMEASURED].index)
    return ", ".join(f"{name} in {counts[name]} of {len(claims)}" for name in ordered)


def by_sentence(figure: Figure) -> dict[tuple[str, str, str], list[dict[str, Any]]]:
    """Returns the claims of a figure by task, sentence and reading; several where several rewards were judged."""
    found: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for claim in figure.claims:
        found.setdefault((claim["task"], claim["sentence"], claim["reading"]), []).append(claim)
    return found


def table_of_claims(results: Path, link: str, read: bool = True) -> str:
    """Returns the table of every sentence of the paper that was measured, as Markdown.

    link: to the page of a figure, with a place for its name.
    read: also say how each sentence was read.
    """
    lines = ["| figure | task | verdict | the paper says |", "|---|---|---|---|"]
    for figure in figures(results):
        where = f"[{figure.number}]({link.format(figure.name)})"
        for (task, sentence, reading), claims in by_sentence(figure).items():
            said = f"“{_cell(sentence)}”" + (f"<br>*measured as:* {_cell(reading)}" if read else "")
            lines.append(f"| {where} | {task} | **{verdict(claims)}** | {said} |")
    return "\n".join(lines)


def table_of_figures(results: Path, link: str) -> str:
    """Returns one line for each figure, how many of the paper's sentences hold, as Markdown."""
    lines = ["| figure | what it shows | sentences of the paper |", "|---|---|---|"]
    for figure in figures(results):
        counts = Counter(_verdict_in_short(claims) for claims in by_sentence(figure).values())
        ordered = sorted(counts, key=[*VERDICTS, MIXED, UNMEASURED].index)
        told = ", ".join(f"{counts[name]} {_plural(name, counts[name])}" for name in ordered)
        lines.append(f"| [figure\u00a0{figure.number}]({link.format(figure.name)}) | {figure.summary} | {told} |")
    return "\n".join(lines)


def _verdict_in_short(claims: list[dict[str, Any]]) -> str:
    """Returns the verdict of one sentence, or that it depends on the training seed."""
    said = verdict(claims)
    return said if said in (*VERDICTS, UNMEASURED) else MIXED


def _plural(name: str, count: int) -> str:
    words = {"holds": "hold", "does not": "do not", MIXED: "depend on the training seed"}
    return words.get(name, name) if count > 1 else name


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
