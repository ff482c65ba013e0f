"""The same source has the same colour and name everywhere; the style leaves nothing behind."""

import itertools

import matplotlib
import pytest
from matplotlib.colors import to_rgb

from orexis.figures.palette import LEARNED, STYLES, display_names, paper_style, style_of

COLORS = {
    "demo/run/reward": "#0072B2",  # blue
    "extrinsic-ep": "#E69F00",  # orange
    "near-optimal": "#000000",
    "count": "#009E73",  # green
    "icm": "#CC79A7",  # purple
    "teacher": "#56B4E9",  # sky
    "extrinsic-life": "#7A4A1E",  # brown
    "q-extrinsic": "#D55E00",  # vermillion
    "random": "#8A8A8A",  # grey
}


@pytest.mark.parametrize("source", COLORS)
def test_each_source_has_its_own_colour(source):
    assert style_of(source).color == COLORS[source]


def test_only_near_optimal_is_dashed():
    assert style_of("near-optimal").dashes != "-"
    assert {style_of(name).dashes for name in (*STYLES, "runs/abc") if name != "near-optimal"} == {"-"}


def test_colours_differ_in_lightness_or_hue():
    colors = [to_rgb(style.color) for style in (LEARNED, *STYLES.values())]
    for one, other in itertools.combinations(colors, 2):
        assert sum(abs(a - b) for a, b in zip(one, other, strict=True)) > 0.3


def test_a_path_is_called_a_learned_reward():
    assert display_names(["/tmp/runs/abc/reward", "random"]) == ["learned reward", "random"]


def test_several_learned_rewards_are_told_apart_by_folder():
    assert display_names(["runs/long/reward", "runs/short", "count"]) == [
        "learned reward (long)",
        "learned reward (short)",
        "count bonus",
    ]


@pytest.mark.parametrize("name", ["rnd", "extrinsic", "q-learning", ""])
def test_a_name_that_is_not_registered_has_no_colour(name):
    with pytest.raises(ValueError, match=f"'{name}' is no source that has a colour"):
        style_of(name)
    with pytest.raises(ValueError, match=f"'{name}' is no source that has a colour"):
        display_names(["runs/a", "runs/b", name])


def test_shipped_rewards_folders_and_the_learned_one_of_a_figure_are_learned_rewards(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    assert {style_of(name) for name in ("random-abc-no-action", "mine", "learned", "gone/reward")} == {LEARNED}


def test_q_learning_under_the_extrinsic_reward_is_called_what_it_is():
    assert display_names(["q-extrinsic", "extrinsic-ep"]) == ["Q-learning, extrinsic (episode)", "extrinsic (episode)"]


def test_one_learned_reward_named_twice_is_still_one():
    assert display_names(["runs/a", "runs/a"]) == ["learned reward", "learned reward"]


def test_style_is_undone_after_the_block():
    before = dict(matplotlib.rcParams)
    with paper_style():
        assert dict(matplotlib.rcParams) != before
    assert dict(matplotlib.rcParams) == before
