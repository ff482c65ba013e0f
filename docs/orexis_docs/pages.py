"""Writes the generated pages: what the site shows of code and results, new at every build, never committed."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from orexis_docs import api, claims, commands, settings
from orexis_docs.links import relink
from orexis_docs.places import DOCS, GENERATED, RESULTS, ROOT, ZOO, shown

FRONT = "<!-- table of claims -->"
"""Where the front page has the table."""


def write_pages() -> None:
    """Writes every generated page that has changed, and removes those that are none any more."""
    made = all_pages()
    for page in GENERATED.rglob("*.md"):
        if page not in made:
            page.unlink()
    for page, text in made.items():
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(text, encoding="utf-8")


def all_pages() -> dict[Path, str]:
    """Returns the text of every generated page."""
    pages = shown()
    made = {page: relink(source.read_text(encoding="utf-8"), source, page, pages) for source, page in pages.items()}
    made = {page: text + children(page, pages.values()) for page, text in made.items()}
    glossary = DOCS / "reference" / "glossary.md"
    made[GENERATED / "settings.md"] = settings.page(
        (ROOT / "src/orexis/config.py").read_text(encoding="utf-8"),
        glossary.read_text(encoding="utf-8"),
        "../reference/glossary.md",
    )
    made[GENERATED / "commands.md"] = commands.page()
    made[GENERATED / "api.md"] = api.page()
    made[GENERATED / "results.md"] = results_page(pages)
    made[GENERATED / "zoo.md"] = zoo_page(pages)
    return made


def children(page: Path, pages: Iterable[Path]) -> str:
    """Returns the contents of a page that stands for a folder: the pages of the other files in it."""
    inside = [other for other in pages if page.with_suffix("") in other.parents]
    if not inside:
        return ""
    return "\n".join(["", *contents(other.relative_to(page.parent).with_suffix("").as_posix() for other in inside)])


RESULTS_HEAD = """\
# Results

Each figure of the paper that was reproduced, with what the paper says about it, each sentence measured and with a
verdict: it *holds* if the 95 % interval lies on the right side of the bound, *does not* if it lies on the wrong
one, and is *undecided* otherwise. Every page names the command that made it. This page is made from `results/` when
the site is built.
"""
ZOO_HEAD = """\
# The zoo: shipped rewards and policies

What comes with Orexis, each with its card: what it was trained on, what fresh agents collect with it, what it does
badly. `orexis zoo list` names them, `orexis.load_reward(NAME)` loads a reward without JAX or network. Below: the mean
extrinsic return of an episode over whole lifetimes of fresh agents, with its 95 % interval; the card says how many.
"""
KINDS = {"reward": "a reward", "rl2": "a policy, RL²", "maml": "a policy, MAML"}
"""What is shipped, by what was learned."""


def results_page(pages: Mapping[Path, Path]) -> str:
    """Returns the page that leads to all results: figures with their verdicts, then what else was measured."""
    lines = [RESULTS_HEAD, claims.table_of_figures(RESULTS, "results/{}.md"), ""]
    for figure in claims.figures(RESULTS):
        if figure.picture.exists():
            picture = f"../../results/{figure.name}/{figure.picture.name}"
            lines += [f"[![{figure.name}]({picture})](results/{figure.name}.md)", ""]
    lines += ["## Every sentence", "", stacked(claims.table_of_claims(RESULTS, "results/{}.md")), ""]
    parents = {page.with_suffix("") for page in pages.values()}
    top = [page for source, page in pages.items() if RESULTS in source.parents and page.parent not in parents]
    entries = [page.relative_to(GENERATED).with_suffix("").as_posix() for page in top]
    return "\n".join([*lines, *contents(entries, hidden=True)])


def zoo_page(pages: Mapping[Path, Path]) -> str:
    """Returns the page that leads to the cards of what is shipped: a table, with what fresh agents collect."""
    cards = {page.stem: source.parent for source, page in pages.items() if ZOO in source.parents}
    lines = [
        ZOO_HEAD,
        "| name | what it is | task | mean of an episode | under `extrinsic-ep` |",
        "|---|---|---|---|---|",
    ]
    lines += [_zoo_row(name, folder) for name, folder in cards.items()]
    return "\n".join([*lines, "", *contents((f"{name} <zoo/{name}>" for name in cards), hidden=True)])


def _zoo_row(name: str, folder: Path) -> str:
    (file,) = [file for file in (folder / "reward.json", folder / "policy.json") if file.exists()]
    record = json.loads(file.read_text(encoding="utf-8"))
    blind = record.get("network", {}).get("sees_action") is False
    what = KINDS[record.get("learn", "reward")] + (", blind to the action" if blind else "")
    sources = record["evaluation"]["sources"]
    learned, low, high = (f"{x:.3f}" for x in (sources["learned"]["mean"], *sources["learned"]["ci95"]))
    alone = f"{sources['extrinsic-ep']['mean']:.3f}"
    return f"| [`{name}`](zoo/{name}.md) | {what} | {record['task']} | **{learned}** ({low} to {high}) | {alone} |"


def contents(entries: Iterable[str], hidden: bool = False) -> list[str]:
    """Returns the lines of Sphinx's table of contents of these pages."""
    return ["```{toctree}", ":maxdepth: 1", *([":hidden:"] if hidden else []), "", *entries, "```", ""]


def stacked(table: str) -> str:
    """Returns a table whose last cells are set below the others on a phone, as `orexis.css` says."""
    return f":::{{container}} stacked\n\n{table}\n\n:::"


def right_page(docname: str, text: str) -> str:
    """Returns the text of a page of docs/, links to what the site shows elsewhere made right and tables filled in."""
    page = DOCS / f"{docname}.md"
    if FRONT in text:
        text = text.replace(FRONT, stacked(claims.table_of_claims(RESULTS, "generated/results/{}.md", read=False)))
    return text if GENERATED in page.parents else relink(text, page, page, shown())
