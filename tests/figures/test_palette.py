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


def test_one_learned_reward_named_twice_is_still_one():
    assert display_names(["runs/a", "runs/a"]) == ["learned reward", "learned reward"]


def test_style_is_undone_after_the_block():
    before = dict(matplotlib.rcParams)
    with paper_style():
        assert dict(matplotlib.rcParams) != before
    assert dict(matplotlib.rcParams) == before
