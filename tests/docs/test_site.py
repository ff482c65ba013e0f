"""The generated pages say what code and results say, and links are made right and checked."""

import json
import re
from pathlib import Path

import pytest
from orexis_docs import api, check, claims, commands, settings
from orexis_docs.links import relink
from orexis_docs.pages import all_pages, right_page, write_pages
from orexis_docs.places import DOCS, GENERATED, RESULTS, ROOT, shown

import orexis
from orexis.cli import COMMANDS
from orexis.storage import manifest
from orexis.training import folder, learners
from orexis.zoo.registry import shipped_names

CONFIG = (ROOT / "src/orexis/config.py").read_text(encoding="utf-8")
GLOSSARY = next(DOCS.rglob("glossary.md")).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def pages() -> dict[Path, str]:
    return all_pages()


def test_every_card_and_every_result_is_a_page(pages):
    assert {GENERATED / "zoo" / f"{name}.md" for name in shipped_names()} <= set(pages)
    reproduced = [folder.parent.name for folder in RESULTS.glob("fig*/claims.json")]
    assert len(reproduced) >= 4
    assert {GENERATED / "results" / f"{name}.md" for name in reproduced} <= set(pages)
    assert len({page for page in shown().values()}) == len(shown())


def test_every_sentence_of_every_figure_has_its_verdict_on_the_front_page():
    front = right_page("index", (DOCS / "index.md").read_text(encoding="utf-8"))
    rows = [line.split(" | ") for line in front.splitlines() if line.startswith("| [")]
    for file in RESULTS.glob("fig*/claims.json"):
        number = file.parent.name.removeprefix("fig")
        for claim in json.loads(file.read_text(encoding="utf-8"))["claims"]:
            verdicts = [
                row[2]
                for row in rows
                if row[0].startswith(f"| [{number}](")
                and (row[1], row[3]) == (claim["task"], f"“{claim['sentence']}” |")
            ]
            assert any(claim["verdict"] in verdict for verdict in verdicts), claim["sentence"]


def test_a_verdict_of_several_rewards_says_how_many():
    one = {"verdict": "holds"}
    assert claims.verdict([one, one]) == "holds"
    assert claims.verdict([{"verdict": "undecided"}, one, one]) == "holds in 2 of 3, undecided in 1 of 3"


def test_a_figure_whose_rewards_disagree_is_counted_once_not_spelled_out(tmp_path):
    (tmp_path / "fig5").mkdir()
    told = [("a", "holds"), ("a", "undecided"), ("b", "does not"), ("b", "holds"), ("c", "holds"), ("c", "holds")]
    judged = [{"task": "t", "sentence": said, "reading": "r", "verdict": verdict} for said, verdict in told]
    (tmp_path / "fig5" / "claims.json").write_text(json.dumps({"claims": judged}))
    table = claims.table_of_figures(tmp_path, "x/{}.md").splitlines()
    assert table[2].endswith("| 1 holds, 2 depend on the training seed |")


def test_figures_are_counted_and_linked(tmp_path):
    (tmp_path / "fig12").mkdir()
    (tmp_path / "fig5").mkdir()
    sentences = [("a | b", "holds"), ("c", "holds"), ("d", "does not")]
    judged = [{"task": "t", "sentence": said, "reading": "r", "verdict": verdict} for said, verdict in sentences]
    for name, some in (("fig12", judged), ("fig5", judged[2:])):
        (tmp_path / name / "claims.json").write_text(json.dumps({"claims": some}))
    table = claims.table_of_figures(tmp_path, "x/{}.md").splitlines()
    assert table[2] == "| [figure\u00a05](x/fig5.md) | what walks to A, B and C are paid in Random ABC | 1 does not |"
    assert table[3] == "| [figure\u00a012](x/fig12.md) |  | 2 hold, 1 does not |"
    assert "| [12](x/fig12.md) | t | **holds** | “a \\| b” |" in claims.table_of_claims(tmp_path, "x/{}.md", read=False)


def test_every_option_of_every_command_is_told(pages):
    page = pages[GENERATED / "commands.md"]
    for name, command in COMMANDS.items():
        section = page.split(f"\n## orexis {name}\n")[1].split("\n## ")[0]
        for option in commands.options_of(command):
            assert f"| `{option.name}" in section, f"orexis {name}: nothing of {option.name}"
    assert "| `--updates INT` | `20000` | Updates of what is learned, in total;" in page
    assert "| `--outer.gradient-clip FLOAT` |  |" in page
    assert "| `--resume` | `False` |" in page
    assert "orexis evaluate [SOURCES ...] [OPTIONS]" in page


def test_every_option_says_what_it_does(pages):
    """Those of settings are explained on their page."""
    for name, command in COMMANDS.items():
        silent = [option.name for option in commands.options_of(command) if not option.help and not option.group]
        assert not silent, f"orexis {name} has options without a word: {', '.join(silent)}"


def test_the_zoo_is_a_table_that_tells_its_members_apart(pages):
    page = pages[GENERATED / "zoo.md"]
    rows = [line for line in page.splitlines() if line.startswith("| [`")]
    assert len(rows) == len(shipped_names())
    for name in shipped_names():
        assert f"| [`{name}`](zoo/{name}.md) | " in page
        assert f"\n{name} <zoo/{name}>\n" in page
    assert "| [`random-abc-rl2`](zoo/random-abc-rl2.md) | a policy, RL² | random-abc | **0.3" in page
    assert "a reward, blind to the action" in page


def test_a_table_of_settings_has_no_empty_column(pages):
    page = pages[GENERATED / "settings.md"]
    assert "| field | type | default | notes |" in page.split("## PolicyNetConfig")[1].split("\n## ")[0]
    assert "| field | paper | type | default | notes |" in page.split("## AgentConfig")[1].split("\n## ")[0]


def test_the_default_is_taken_from_the_end_of_the_help():
    assert commands.split_help("Of a lifetime (or two). (default: 3)") == ("Of a lifetime (or two).", "3")
    assert commands.split_help("Folder (default: None)") == ("Folder", "")
    assert commands.split_help("A name. (required)") == ("A name.", "")


def test_every_setting_is_told_with_the_papers_symbol(pages):
    page = pages[GENERATED / "settings.md"]
    for name in orexis.__all__:
        if name.endswith("Config") or name in ("Schedule", "EntropyLevel", "TaskSpec"):
            section = page.split(f"\n## {name}\n")[1].split("\n## ")[0]
            for field in getattr(orexis, name).__dataclass_fields__:
                assert f"| `{field}` |" in section, f"{name}: nothing of {field}"
    for row in (
        "| `rollout_length` | T | `int` | `4` |",
        "| `learning_rate` | α | `float` | `0.1` |",
        "| `discount` | γ̄ | `float` | `0.9` |",
        "| `discount` | γ | `float` | `0.99` |",
        "| `window` | N | `int` | `5` |",
        "| `lifetimes` | L | `int` | `64` |",
        "| `reward_learning_rate` | α′ | `Schedule` |",
        "| `history` | `'lstm' \\| 'none'` | `'lstm'` |",
    ):
        assert row in page


def test_fields_are_read_with_their_comments():
    source = '@x\nclass A:\n    """Says\n    so."""\n\n    b: int = new(3)  # why\n    c: float\n'
    source += '    # apart\n    d: str = renamed("e", "f")\n'
    (found,) = settings.read_classes(source)
    assert (found.name, found.summary) == ("A", "Says so.")
    assert [(field.name, field.default, field.comment) for field in found.fields] == [
        ("b", "3", "why"),
        ("c", "", ""),
        ("d", "'f'", ""),
    ]
    assert settings.read_symbols(GLOSSARY)["AgentConfig", "discount"] == "γ̄"
    assert [entry.name for entry in settings.read_classes(CONFIG)][-1] == "RunConfig"


def test_every_public_name_has_its_docstring_on_the_page(pages):
    page = pages[GENERATED / "api.md"]
    for name in orexis.__all__:
        assert name == "__version__" or f" orexis.{name}\n" in page or f" orexis.interop.{name}\n" in page, name


def test_lines_that_explain_parameters_become_fields():
    lines = ["Returns it.", "", "a: one", "    more.", "b, c: two", "Then: words.", "", "d: no parameter"]
    assert api.as_fields(lines, {"a", "b", "c", "Then_no"}) == [
        "Returns it.",
        "",
        ":param a: one",
        "    more.",
        ":param b: see c.",
        ":param c: two",
        "",
        "Then: words.",
        "",
        "d: no parameter",
    ]


def test_the_page_of_files_names_every_file_of_a_run_and_every_field_of_a_reward():
    page = (DOCS / "reference" / "files.md").read_text(encoding="utf-8")
    told = set(re.findall(r"[\w.]+", " ".join(re.findall(r"`([^`]+)`", page))))
    files = {folder.CONFIG, folder.METRICS, folder.LOG, folder.REWARD, folder.BEST, folder.LEARNER, folder.CHECKPOINTS}
    assert files | {"env.json", manifest.STATE, manifest.MANIFEST, learners.ARRAYS, learners.RECORD} <= told
    for record in (ROOT / "src/orexis/zoo").glob("*/reward.json"):
        assert set(json.loads(record.read_text(encoding="utf-8"))) <= told
    claim = json.loads((RESULTS / "fig5" / "claims.json").read_text(encoding="utf-8"))["claims"][0]
    assert set(claim) | set(claim["comparisons"][0]) <= told


def test_links_are_made_right_where_a_page_is_shown(tmp_path):
    source, page = tmp_path / "results/fig/README.md", tmp_path / "docs/generated/results/fig.md"
    for file in (source, tmp_path / "results/own/README.md", tmp_path / "examples/a.py"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    pages = {source: page, tmp_path / "results/own/README.md": page.parent / "own.md"}
    text = (
        "![p](fig.png) [`code`](../own/README.md#part) [folder](../own) [file](../../examples/a.py) [out](https://x.y/z.md)\n"
        "[here](#part) `[no](link.md)` [![p](fig.png)](../own)\n```sh\n[no](link.md)\n```\n"
    )
    assert relink(text, source, page, pages) == (
        "![p](../../../results/fig/fig.png) [`code`](own.md#part) [folder](own.md) [file](../../../examples/a.py) "
        "[out](https://x.y/z.md)\n"
        "[here](#part) `[no](link.md)` [![p](../../../results/fig/fig.png)](own.md)\n```sh\n[no](link.md)\n```\n"
    )


def test_links_that_lead_nowhere_are_found(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#there"></a><img src="no.png"><a href="https://x.y"></a>')
    (tmp_path / "b.html").write_text('<p id="there"></p><a href="a.html#not"></a><a href="/etc/passwd"></a>')
    assert list(check.broken_links(tmp_path)) == [
        "a.html: no.png is not there",
        "b.html: a.html#not has no such place on its page",
        "b.html: /etc/passwd is not there",
    ]
    assert check.main(str(tmp_path)) == 1
    (tmp_path / "a.html").write_text('<a href="b.html#there"></a>')
    (tmp_path / "b.html").write_text('<p id="there"></p>')
    assert check.main(str(tmp_path)) == 0


def test_pages_that_are_none_any_more_are_removed(monkeypatch, tmp_path):
    import orexis_docs.pages

    monkeypatch.setattr(orexis_docs.pages, "GENERATED", tmp_path)
    monkeypatch.setattr(orexis_docs.pages, "all_pages", lambda: {tmp_path / "a" / "new.md": "text"})
    (tmp_path / "old.md").touch()
    write_pages()
    assert [path.name for path in tmp_path.rglob("*.md")] == ["new.md"]
    before = (tmp_path / "a" / "new.md").stat().st_mtime_ns
    write_pages()
    assert (tmp_path / "a" / "new.md").stat().st_mtime_ns == before
