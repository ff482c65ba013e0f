"""The picture of walks: a panel for each history, a number and a colour for each walk."""

import pytest
from matplotlib.patches import FancyArrowPatch

from orexis.evaluation.walks import Room, WalkSums, WalkTable
from orexis.figures.walks import panel_title, walks_figure, walks_in_words


def table_of(top, bottom) -> WalkTable:
    """Returns a table with the given sums of A, B, C for episodes 1, 2, 3 of the top and the bottom row."""
    orders = (((), ("A",), ("A", "C")), ((), ("C",), ("C", "A")))
    rows = tuple(
        tuple(WalkSums(visited, dict(zip("ABC", sums, strict=True))) for visited, sums in zip(order, row, strict=True))
        for order, row in zip(orders, (top, bottom), strict=True)
    )
    objects = {"A": (0, 0), "B": (0, 4), "C": (4, 0)}
    return WalkTable(Room((5, 5), (2, 2), objects, {"A": 0.2, "B": -0.5, "C": 0.1}), rows)


AS_IN_THE_PAPER = table_of(
    [(0.5, -0.4, 0.3), (0.1, -0.6, 0.7), (0.9, -0.8, 0.2)], [(0.5, -0.4, 0.3), (0.6, -0.6, 0.15), (0.8, -0.8, 0.25)]
)


def test_each_panel_names_its_history_and_writes_its_sums():
    figure = walks_figure(AS_IN_THE_PAPER)
    panels = [panel for row in AS_IN_THE_PAPER.rows for panel in row]
    for axes, panel in zip(figure.axes, panels, strict=False):  # the colour bar comes last
        assert axes.get_title(loc="left") == panel_title(panel)
        words = [text.get_text() for text in axes.texts]
        for name, paid in panel.sums.items():
            assert name in words
            assert f"{paid:+.2f}".replace("-", "−") in words
        assert {"+0.2", "−0.5", "+0.1"} <= set(words)  # the extrinsic rewards
    assert [panel_title(panel) for panel in panels][:3] == [
        "episode 1",
        "episode 2, after A",
        "episode 3, after A and C",
    ]


def test_arrows_point_at_their_objects_and_are_coloured_by_sign():
    axes = walks_figure(AS_IN_THE_PAPER).axes[0]
    arrows = [patch for patch in axes.patches if isinstance(patch, FancyArrowPatch)]
    assert len(arrows) == 3
    to_a, to_b, _ = arrows
    red, _, blue, _ = to_a.get_facecolor()
    assert red > blue  # orange: paid
    red, _, blue, _ = to_b.get_facecolor()
    assert red < blue  # purple: charged


def test_the_best_walk_of_each_panel_is_bold():
    for axes, favourite in zip(walks_figure(AS_IN_THE_PAPER).axes, ("+0.50", "+0.70", "+0.90"), strict=False):
        bold = [text.get_text() for text in axes.texts if text.get_fontweight() == "bold"]
        assert [text for text in bold if text not in "ABC"] == [favourite]


def test_no_text_of_a_panel_overlaps_another():
    figure = walks_figure(AS_IN_THE_PAPER)
    figure.canvas.draw()
    for axes in figure.axes[:6]:
        boxes = [text.get_window_extent() for text in axes.texts]
        for index, box in enumerate(boxes):
            assert not any(box.overlaps(other) for other in boxes[:index])


def test_words_count_how_often_the_paper_is_met():
    said = walks_in_words(AS_IN_THE_PAPER)
    assert "agrees in 5 of 5 cases" in said
    assert "B is paid least in 5 of 5" in said
    always_c = table_of([(0.0, 0.1, 0.2)] * 3, [(0.0, 0.1, 0.2)] * 3)
    assert "agrees in 1 of 5 cases" in walks_in_words(always_c)  # only after A
    assert "B is paid least in 0 of 5" in walks_in_words(always_c)


def test_a_reward_that_pays_next_to_nothing_looks_pale():
    figure = walks_figure(table_of([(0.0, -0.001, 0.001)] * 3, [(0.0, 0.0, 0.0)] * 3))
    figure.canvas.draw()
    arrows = [patch for axes in figure.axes for patch in axes.patches if isinstance(patch, FancyArrowPatch)]
    assert min(min(arrow.get_facecolor()) for arrow in arrows) > 0.9
    assert "−0.00" not in [text.get_text() for axes in figure.axes for text in axes.texts]


@pytest.mark.parametrize(("visited", "episode"), [((), 1), (("A",), 2), (("C", "A"), 3)])
def test_the_episode_follows_those_before(visited, episode):
    assert WalkSums(visited, {"A": 0.0}).episode == episode
