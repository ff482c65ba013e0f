"""`orexis view` from end to end: which sources, which curves, and a page that stays below its size."""

import json
import math

import pytest

from orexis.errors import OK, BadDataError, UsageError
from orexis.tasks.abc import RandomABC
from orexis.tools import view as module
from orexis.tools.view import find_curves, view
from orexis.training.columns import COLUMNS
from orexis.training.folder import CONFIG
from orexis.training.folder import METRICS as METRICS_FILE
from tests.storage.rewards import write_reward


def write_run(folder, rows: int = 3):
    """Writes what a run that has not saved its reward has: a metrics.csv, here without a config."""
    folder.mkdir(parents=True)
    lines = [",".join(column.name for column in COLUMNS)]
    lines += [",".join([str(10 * (row + 1)), *("0.5" for _ in COLUMNS[1:])]) for row in range(rows)]
    (folder / METRICS_FILE).write_text("\n".join(lines) + "\n")
    return folder


def told(path) -> dict:
    text = path.read_text(encoding="utf-8")
    return json.loads(text.split('id="data">')[1].split("</script>")[0])


def test_a_run_without_a_reward_is_shown_by_its_curves(tmp_path):
    run, out, said = write_run(tmp_path / "run"), tmp_path / "view.html", []
    assert view([str(run)], out, log=said.append) == OK
    data = told(out)
    assert data["lifetimes"] is None
    assert data["training"]["runs"][0]["columns"]["update"] == [10, 20, 30]
    assert "curves alone" in said[0]
    assert str(out) in said[-1]


def test_curves_are_those_of_run_folders_alone(tmp_path):
    run, reward = write_run(tmp_path / "run"), write_reward(tmp_path / "reward")
    assert [curves.name for curves in find_curves([str(run), str(reward), "random-abc", "count"])] == [str(run)]


def test_a_damaged_run_is_one_sentence(tmp_path):
    run = write_run(tmp_path / "run")
    (run / METRICS_FILE).write_text("update\nten\n")
    with pytest.raises(BadDataError, match=r"metrics\.csv cannot be read"):
        view([str(run)], tmp_path / "view.html")
    (run / METRICS_FILE).write_text("update\n10\n")
    (run / CONFIG).write_text("{")
    with pytest.raises(BadDataError, match="config"):
        view([str(run)], tmp_path / "view.html")
    assert not (tmp_path / "view.html").exists()


def test_rewards_of_two_tasks_are_refused(tmp_path):
    first, second = write_reward(tmp_path / "a"), write_reward(tmp_path / "b", task="delayed")
    with pytest.raises(UsageError, match="say which --task"):
        view([str(first), str(second)], tmp_path / "view.html")


@pytest.mark.slow
def test_a_lifetime_is_lived_under_the_reward_and_beside_it_and_fits(tmp_path, monkeypatch):
    reward = write_reward(tmp_path / "reward", task="random-abc", spec=RandomABC().spec)
    out = tmp_path / "view.html"
    assert view([str(reward)], out, seed=1, lifetime=2, episodes=12, log=lambda message: None) == OK
    data = told(out)
    lifetimes = data["lifetimes"]
    assert data["title"] == "One lifetime in Random ABC"
    assert (lifetimes["seed"], lifetimes["lifetime"], lifetimes["num_episodes"]) == (1, 2, 12)
    assert [source["name"] for source in lifetimes["sources"]] == [str(reward), "extrinsic-ep"]
    assert [source["is_extrinsic"] for source in lifetimes["sources"]] == [False, True]
    assert lifetimes["most_entropy"] == pytest.approx(math.log(4))
    assert len(lifetimes["shown"]) == 12

    monkeypatch.setattr(module, "MAX_BYTES", out.stat().st_size - 1)
    monkeypatch.setattr(module, "SHOWN", 12)
    assert view([str(reward)], out, seed=1, lifetime=2, episodes=12, log=lambda message: None) == OK
    assert len(told(out)["lifetimes"]["shown"]) == 6
    assert out.stat().st_size <= module.MAX_BYTES
