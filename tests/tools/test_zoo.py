"""`orexis zoo` and the shipped names as sources."""

import json
import shutil
import subprocess
import sys

import pytest

from orexis.cli import main
from orexis.errors import BAD_DATA, OK, USAGE
from orexis.evaluation.evaluate import settle
from orexis.evaluation.sources import find_artefact
from orexis.storage.artefact import read_artefact
from orexis.storage.card import write_card
from orexis.zoo.registry import SHELF
from tests.storage.rewards import write_reward

NUMBERS = {
    "n": 12,
    "episode_return": [0.0, 0.5, 1.0],
    "mean_episode_return": {"mean": 0.5, "ci95": [0.25, 0.75]},
    "last_ten_episodes": {"mean": 0.625, "ci95": [0.5, 0.75]},
}


def test_a_shipped_name_is_a_source_of_evaluation():
    assert find_artefact("random-abc").task == "random-abc"
    assert settle(["random-abc", "extrinsic-ep"], None).task_name == "random-abc"


def test_listing_and_showing_need_no_jax():
    code = """
import sys
from orexis.cli import main
assert main(["zoo", "list"]) == main(["zoo", "show", "random-abc"]) == 0
assert "jax" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert "learned as  action  updates  learned  extrinsic-ep  sha256" in done.stdout
    assert (SHELF / "random-abc" / "README.md").read_text(encoding="utf-8") in done.stdout


def test_a_shipped_reward_is_exported_as_it_is(tmp_path):
    out = tmp_path / "copy"
    assert main(["zoo", "export", "random-abc", str(out)]) == OK
    for path in (SHELF / "random-abc").iterdir():
        assert (out / path.name).read_bytes() == path.read_bytes()


def test_an_export_can_tell_an_evaluation_and_failures(tmp_path):
    mine, out = write_reward(tmp_path / "mine"), tmp_path / "given-away"
    evaluation = tmp_path / "evaluation.json"
    evaluation.write_text(json.dumps({"task": "bandit", "seed": 5, "sources": {str(mine): NUMBERS, "random": NUMBERS}}))
    line = ["zoo", "export", str(mine), str(out), "--evaluation", str(evaluation), "--failures", "It is random."]
    assert main(line) == OK
    record = read_artefact(out).record
    short = {"mean": 0.5, "ci95": [0.25, 0.75], "last_ten": 0.625}
    sources = {"learned": short, "random": short}
    assert record["evaluation"] == {"lifetimes": 12, "episodes": 3, "seed": 5, "sources": sources}
    card = (out / "README.md").read_text(encoding="utf-8")
    assert "| learned | 0.500 | 0.250 to 0.750 | 0.625 |" in card
    assert "12 lifetimes of 3 episodes, seed 5." in card
    assert "- It is random." in card
    assert "load_reward('given-away')" in card


def test_a_card_tells_how_far_other_seeds_came(tmp_path):
    mine, other = write_reward(tmp_path / "mine"), write_reward(tmp_path / "other", seed=1)
    better = {**NUMBERS, "mean_episode_return": {"mean": 0.75, "ci95": [0.5, 1.0]}}
    sources = {str(mine): NUMBERS, str(other): better, "random-abc": NUMBERS, "random": NUMBERS}
    evaluation, out = tmp_path / "evaluation.json", tmp_path / "given-away"
    evaluation.write_text(json.dumps({"task": "bandit", "seed": 5, "sources": sources}))
    assert main(["zoo", "export", str(mine), str(out), "--evaluation", str(evaluation)]) == OK
    marked = [name for name, told in read_artefact(out).record["evaluation"]["sources"].items() if len(told) > 3]
    assert marked == [str(other)]  # random-abc was learned on another task
    card = (out / "README.md").read_text(encoding="utf-8")
    assert "Trained with 2 seeds: 0.500, 0.750 an episode, a spread of 0.250." in card


def test_a_card_tells_the_recipe_and_the_agent(tmp_path):
    config = {
        "recipe": "paper",
        "meta": {"agent": {"optimizer": "adam", "learning_rate": 0.001, "gradient_clip": None}},
    }
    record = {"task": "x", "network": {}, "sha256": "0", "spec": {"episodes_per_lifetime": 60}, "config": config}
    card = write_card(record)
    assert "| recipe | paper |" in card
    assert "| episodes of a lifetime in training | 60 |" in card
    assert "| agent | optimiser adam, rate 0.001 |" in card
    assert "recipe" not in write_card({**record, "config": {}})


def test_what_cannot_be_exported(tmp_path, capsys):
    mine, other = write_reward(tmp_path / "mine"), write_reward(tmp_path / "other", seed=1)
    evaluation = tmp_path / "evaluation.json"
    evaluation.write_text(json.dumps({"task": "bandit", "seed": 5, "sources": {str(other): NUMBERS}}))
    (tmp_path / "words.json").write_text("{}")
    damaged = tmp_path / "damaged"
    shutil.copytree(mine, damaged)
    (damaged / "reward.safetensors").write_bytes(b"")
    new = str(tmp_path / "new")
    for line, code, fragment in (
        ((str(mine), str(other)), USAGE, "exists already; name a new folder"),
        ((str(mine), str(tmp_path / "nowhere" / "x")), USAGE, "its folder does not exist"),
        ((str(mine), new, "--evaluation", str(evaluation)), USAGE, "evaluates other rewards"),
        ((str(mine), new, "--evaluation", str(tmp_path / "words.json")), BAD_DATA, "is no evaluation"),
        ((str(damaged), new), BAD_DATA, "is damaged"),
    ):
        assert main(["zoo", "export", *line]) == code
        assert fragment in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("name", ["random-abc"])
def test_an_export_may_be_shown(tmp_path, capsys, name):
    assert main(["zoo", "export", name, str(tmp_path / name)]) == OK
    assert main(["zoo", "show", str(tmp_path / name)]) == OK
    assert f"load_reward('{name}')" in capsys.readouterr().out
