"""One entry is all that a new figure takes, and `all` runs every figure."""

import dataclasses
import subprocess
import sys
from typing import get_args, get_type_hints

import pytest

from orexis import cli
from orexis.commands.reproduce import Reproduce
from orexis.errors import INTERRUPTED, OK
from orexis.presets import PAPER_TASKS
from orexis.reproduce.base import BUDGETS
from orexis.reproduce.registry import FIGURES, PaperFigure


@pytest.fixture
def asked(monkeypatch):
    """Two figures in place of ours; returns what they are asked."""
    requests = []
    monkeypatch.setattr("orexis.platform.prepare_jax", lambda num_devices=None: None)
    kept = dict(FIGURES)
    FIGURES.clear()
    for name, tasks in (("fig3", PAPER_TASKS), ("fig7", ("random-abc",))):

        def run(request, name=name):
            requests.append((name, request))
            return OK

        FIGURES[name] = PaperFigure(name, "", run, tasks)
    yield requests
    FIGURES.clear()
    FIGURES.update(kept)  # in their order, whatever a test put there


def test_all_runs_every_figure_each_with_its_own_tasks_and_command(asked, tmp_path):
    line = ["--out", str(tmp_path), "--tasks", "key-box", "random-abc"]
    line += ["--rewards", "key-box=random-abc", "random-abc=random-abc"]
    assert cli.main(["reproduce", "all", *line, "--no-train"]) == OK
    assert [name for name, _ in asked] == ["fig3", "fig7"]
    assert [request.tasks for _, request in asked] == [("key-box", "random-abc"), ("random-abc",)]
    for name, request in asked:
        assert request.command[:3] == ("orexis", "reproduce", name)
        assert request.rewards == dict.fromkeys(request.tasks, "random-abc")
        named = [word for word in request.command if "=" in word]
        assert named == [f"{task}=random-abc" for task in request.tasks]
        assert not request.train


def test_further_rewards_go_to_the_figures_that_judge_several(asked, tmp_path):
    FIGURES["fig7"] = dataclasses.replace(FIGURES["fig7"], several=True)
    named = [f"random-abc={name}" for name in ("random-abc", "random-abc-no-action")]
    assert cli.main(["reproduce", "all", "--out", str(tmp_path), "--rewards", *named]) == OK
    (_, one), (_, several) = asked
    assert one.rewards == several.rewards == {"random-abc": "random-abc"}
    assert one.others == {"random-abc": ()}
    assert several.others == {"random-abc": ("random-abc-no-action",)}
    assert [word for word in one.command if "=" in word] == named[:1]
    assert [word for word in several.command if "=" in word] == named


def test_one_figure_is_run_alone(asked, tmp_path):
    assert cli.main(["reproduce", "fig3", "--out", str(tmp_path)]) == OK
    assert [name for name, _ in asked] == ["fig3"]


def test_a_figure_without_any_of_the_tasks_is_left_out(asked, tmp_path):
    assert cli.main(["reproduce", "all", "--out", str(tmp_path), "--tasks", "key-box"]) == OK
    assert [name for name, _ in asked] == ["fig3"]


def test_a_figure_that_did_not_end_well_stops_the_rest(asked, tmp_path):
    FIGURES["fig3"] = dataclasses.replace(FIGURES["fig3"], run=lambda request: INTERRUPTED)
    assert cli.main(["reproduce", "all", "--out", str(tmp_path)]) == INTERRUPTED
    assert "fig7" not in [name for name, _ in asked]


def test_the_command_line_knows_the_figures_and_the_budgets(capsys):
    with pytest.raises(SystemExit):
        cli.main(["reproduce", "--help"])
    assert f"{{{','.join([*FIGURES, 'all'])}}}" in capsys.readouterr().out
    assert get_args(get_type_hints(Reproduce)["budget"]) == tuple(BUDGETS)


def test_names_are_known_without_jax_or_matplotlib():
    code = "import sys, orexis.cli; print('jax' in sys.modules, 'matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_entries_are_filed_under_their_own_names():
    assert all(name == entry.name for name, entry in FIGURES.items())
    assert all(set(entry.tasks) <= set(PAPER_TASKS) for entry in FIGURES.values())
