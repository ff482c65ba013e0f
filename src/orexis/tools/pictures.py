"""Draws the project's pictures of the tasks: `python -m orexis.tools.pictures docs/images`."""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from orexis.figures.layouts import layouts_figure
from orexis.figures.palette import paper_style
from orexis.tasks.abc import RandomABC
from orexis.tasks.empty_rooms import EmptyRooms, RoomsParams, RoomsState
from orexis.tasks.key_box import KeyBox, KeyBoxParams, KeyBoxState

PIXELS_PER_INCH = 200


def layout_panels() -> dict[str, tuple[np.ndarray, str]]:
    """Returns a sketch of each layout with a line about it, by its title."""
    rooms, abc, boxes = EmptyRooms(), RandomABC(), KeyBox()
    key, first = jax.random.key(0), jnp.zeros((), jnp.int32)
    start = RoomsState(position=jnp.array(rooms.map.start))
    params = abc.sample(key)
    scattered = KeyBoxState(
        position=jnp.array([6, 2]),
        key=jnp.array([1, 3]),
        boxes=jnp.array([[3, 6], [6, 7], [2, 0]]),
        has_key=jnp.array(False),
        opened=jnp.array(-1),
    )
    return {
        "Empty Rooms": (
            rooms.sketch(RoomsParams(goal=jnp.array([8, 9])), start, reveal=True),
            "a hidden goal, the same for a lifetime",
        ),
        "ABC World": (
            abc.sketch(params, abc.reset(key, params, first)),
            "three objects of unknown worth",
        ),
        "Key-Box": (
            boxes.sketch(KeyBoxParams(rewards=jnp.zeros(3)), scattered),
            "the key opens boxes; all move each episode",
        ),
    }


def write_pictures(folder: Path) -> list[Path]:
    """Writes the layouts, together and one by one, as PNG files; returns where."""
    folder.mkdir(parents=True, exist_ok=True)
    panels = layout_panels()
    groups = {"layouts": panels}
    groups |= {title.lower().replace(" ", "_").replace("-", "_"): {title: panel} for title, panel in panels.items()}
    written = []
    for name, group in groups.items():
        path = folder / f"{name}.png"
        with paper_style():
            layouts_figure(group).savefig(path, dpi=PIXELS_PER_INCH, metadata={"Software": None})
        written.append(path)
    return written


if __name__ == "__main__":
    for path in write_pictures(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images")):
        print(path)
