import numpy as np
from matplotlib.patches import Circle, FancyBboxPatch, Rectangle

from orexis.figures.layouts import layouts_figure
from orexis.tools.pictures import layout_panels, write_pictures

SIGNS = np.array([["@", "#", "."], ["A", "K", "*"]])


def test_every_sign_is_drawn_in_its_cell():
    axes = layouts_figure({"Room": (SIGNS, "a remark")}).axes[0]
    assert axes.get_title() == "Room"
    assert {text.get_text() for text in axes.texts} == {"a remark", "A"}
    agent, bow = (patch for patch in axes.patches if isinstance(patch, Circle))
    assert agent.center == (0.5, 0.5)
    assert bow.center[1] == 1.5
    walls = [
        patch.get_xy()
        for patch in axes.patches
        if isinstance(patch, Rectangle) and patch.get_facecolor()[:3] < (0.5,) * 3 and patch.get_fill()
    ]
    assert walls == [(1, 0)]
    assert sum(isinstance(patch, FancyBboxPatch) for patch in axes.patches) == 1


def test_the_pictures_of_the_project_show_the_three_layouts():
    panels = layout_panels()
    assert {title: signs.shape for title, (signs, _) in panels.items()} == {
        "Empty Rooms": (11, 11),
        "ABC World": (5, 5),
        "Key-Box": (9, 9),
    }
    assert [(signs == "@").sum() for signs, _ in panels.values()] == [1, 1, 1]
    assert "*" in panels["Empty Rooms"][0]


def test_pictures_are_written_together_and_one_by_one(tmp_path):
    paths = write_pictures(tmp_path / "images")
    assert [path.name for path in paths] == ["layouts.png", "empty_rooms.png", "abc_world.png", "key_box.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)
