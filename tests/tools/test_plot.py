"""`orexis plot`: pictures of any run's curves, the same bytes for the same rows."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from orexis.cli import main
from orexis.errors import BAD_DATA, OK, USAGE
from orexis.tools import plot as plot_module
from orexis.tools.plot import short_names
from orexis.training.columns import HEADINGS


def write_run(folder: Path, rows: str = "10,0.1,1.3,\n20,0.2,1.1,0.3\n", names="episode_return,policy_entropy") -> Path:
    folder.mkdir(parents=True)
    (folder / "metrics.csv").write_text(f"update,{names},validation_return\n{rows}")
    return folder


def test_runs_become_a_png_and_an_svg_of_the_same_bytes_each_time(tmp_path, capsys):
    runs = [str(write_run(tmp_path / name / "run")) for name in ("first", "second")]
    assert main(["plot", *runs, "--out", str(tmp_path / "a")]) == OK
    assert main(["plot", *runs, "--out", str(tmp_path / "b.svg")]) == OK
    assert capsys.readouterr().out.split() == [str(tmp_path / name) for name in ("a.png", "a.svg", "b.png", "b.svg")]
    for suffix in (".png", ".svg"):
        assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    svg = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    for text in ("first/run", "second/run", "extrinsic return of an episode", "validation return", "size of intrinsic"):
        assert f"<!-- {text}" in svg


def test_columns_may_be_chosen(tmp_path):
    run = str(write_run(tmp_path / "run"))
    assert main(["plot", run, "--out", str(tmp_path / "c"), "--columns", "policy_entropy"]) == OK
    svg = (tmp_path / "c.svg").read_text(encoding="utf-8")
    assert "<!-- entropy of the policies" in svg
    assert "<!-- extrinsic return" not in svg
    assert "<!-- run -->" not in svg  # one run needs no legend


def test_all_columns_are_those_that_are_curves(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(plot_module, "plot", lambda *arguments: drawn.append(arguments) or [])
    run = write_run(tmp_path / "run")
    assert main(["plot", str(run), "--columns", "all", "--out", str(tmp_path / "d")]) == OK
    assert drawn == [((run,), tuple(HEADINGS), tmp_path / "d")]


@pytest.mark.parametrize(
    ("rows", "arguments", "code", "said"),
    [
        ("10,0.1,1.3,\n", ["--columns", "wealth"], USAGE, "--columns wealth: columns are reward_per_step, episode_ret"),
        ("10,0.1,1.3,\n", ["--out", "no/where"], USAGE, "its folder does not exist"),
        ("", [], USAGE, "run has no rows in metrics.csv yet"),
        ("10,0.1,1.", [], USAGE, "run has no rows in metrics.csv yet"),
        ("10,many,1.3,\n", [], BAD_DATA, "cannot be read: could not convert string to float: 'many'; orexis doctor"),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(tmp_path, capsys, rows, arguments, code, said):
    run = write_run(tmp_path / "run", rows)
    assert main(["plot", str(run), "--out", str(tmp_path / "x"), *arguments]) == code
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not (tmp_path / "x.png").exists()


def test_names_are_as_short_as_tells_runs_apart():
    paths = [Path("/a/b/run"), Path("/a/c/run"), Path("/d/c/run")]
    assert short_names(paths[:1]) == ["run"]
    assert short_names(paths[:2]) == ["b/run", "c/run"]
    assert short_names(paths) == ["a/b/run", "a/c/run", "d/c/run"]
