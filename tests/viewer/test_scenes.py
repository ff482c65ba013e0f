"""Scenes without the agent: what lies under it is known from the moments before and after."""

import dataclasses

import numpy as np

from orexis.viewer.scenes import NOWHERE, Scenes


@dataclasses.dataclass(frozen=True)
class Drawn:
    """A task whose states are drawings."""

    def sketch(self, params, state, reveal=False):
        return np.array([list(row) for row in (state.replace("?", "*" if reveal else ".")).split()])


def film(*drawings: str) -> tuple[Scenes, list[str], list[int], str]:
    scenes = Scenes()
    frames = scenes.film(Drawn(), (), drawings)
    return scenes, [scenes.pairs[number][0] for number in frames.scene], frames.cell, frames.sign


def test_a_scene_is_told_once_however_the_agent_walks():
    scenes, shown, cells, sign = film("@.A #..", "..A #@.", ".@A #..")
    assert scenes.pairs == [("..A#..", "..A#..")]
    assert shown == 3 * ["..A#.."]
    assert cells == [0, 4, 1]
    assert sign == "@@@"


def test_an_object_under_the_agent_is_there_still():
    _, shown, cells, _ = film("@.A ...", ".@A ...", "..@ ...")
    assert shown == 3 * ["..A..."]
    assert cells[-1] == 2


def test_a_key_that_was_picked_up_is_gone():
    _, shown, _, sign = film("@K. ...", ".&. ...", "..& ...")
    assert shown == [".K....", "......", "......"]
    assert sign == "@&&"


def test_what_nobody_ever_saw_is_nothing():
    _, shown, _, _ = film("@.. ...", "@.. ...")
    assert shown == 2 * ["......"]


def test_what_is_hidden_is_in_the_other_half_of_the_pair():
    scenes, *_ = film("@.? ...", ".@? ...")
    assert scenes.pairs == [("......", "..*...")]


def test_where_there_is_no_agent_or_several_it_is_nowhere():
    _, shown, cells, sign = film("... ...", "@.@ ...")
    assert shown == ["......", "@.@..."]
    assert cells == [NOWHERE, NOWHERE]
    assert sign == ".."
