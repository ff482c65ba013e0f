"""Pictures of a state for people: text, or pixels made of one tile for each cell."""

import functools
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from orexis.types import PyTree

TILE = 32  # pixels
FLOOR, GRID, WALL, INK = "#FFFFFF", "#E4E4E4", "#4A4A4A", "#222222"
COLORS = {
    "@": "#0072B2",
    "&": "#0072B2",
    "*": "#F0E442",
    "A": "#56B4E9",
    "B": "#D55E00",
    "C": "#F0E442",
    "K": "#E69F00",
}
"""Of the signs that tasks use, after Okabe and Ito; any other sign is grey."""

_SHARPNESS = 4  # tiles are drawn this much larger, then scaled down


def sketch(task: Any, params: PyTree, state: PyTree, reveal: bool = True) -> np.ndarray:
    """Returns str[H, W], a sign for each cell: the task's own sketch, or one made of the observation's planes.

    For a task without a sketch, a cell shows the number of its highest plane above one half. `@` is the spec's
    agent_plane, above all others; where the spec names none it is the first plane, below them.
    """
    if hasattr(task, "sketch"):
        return task.sketch(params, state, reveal)
    planes = np.asarray(task.observe(params, state)) > 0.5
    agent = task.spec.agent_plane
    names = np.array([".", *"0123456789", *"abcdefghijklmnopqrstuvwxyz"])
    highest = (planes * np.arange(1, planes.shape[-1] + 1)).max(axis=-1)
    signs = names[np.minimum(highest, len(names) - 1)]
    return np.where((signs == "0") if agent is None else planes[..., agent], "@", signs)


def as_text(signs: np.ndarray) -> str:
    """Returns the picture as lines of text."""
    return "\n".join(" ".join(row) for row in signs)


def as_pixels(signs: np.ndarray) -> np.ndarray:
    """Returns the picture as u8[H·TILE, W·TILE, 3]."""
    rows = [np.concatenate([_tile(str(sign)) for sign in row], axis=1) for row in signs]
    return np.concatenate(rows, axis=0)


@functools.cache
def _tile(sign: str) -> np.ndarray:
    """Returns u8[TILE, TILE, 3], the picture of one sign."""
    size = TILE * _SHARPNESS
    image = Image.new("RGB", (size, size), WALL if sign == "#" else FLOOR)
    draw = ImageDraw.Draw(image)
    color = COLORS.get(sign, "#BBBBBB")
    if sign != "#":
        draw.rectangle((0, 0, size - 1, size - 1), outline=GRID, width=_SHARPNESS)
    if sign in "@&":
        draw.ellipse(_box(0.18), fill=color)
        if sign == "&":
            _draw_key(draw, "#FFFFFF", 1.0)
    elif sign == "K":
        _draw_key(draw, color, 1.5)
    elif sign == "*":
        draw.rectangle(_box(0.1), fill=color)
    elif sign not in "#.":
        draw.rounded_rectangle(_box(0.1), radius=0.12 * size, fill=color)
        font = ImageFont.load_default(size=round(0.55 * size))
        draw.text((size / 2, size / 2), sign, fill=INK, font=font, anchor="mm")
    return np.asarray(image.resize((TILE, TILE), Image.Resampling.LANCZOS))


def _box(margin: float) -> tuple[float, float, float, float]:
    size = TILE * _SHARPNESS
    return (margin * size, margin * size, (1 - margin) * size, (1 - margin) * size)


def _draw_key(draw: ImageDraw.ImageDraw, color: str, scale: float) -> None:
    """Draws a key that lies on its side in the middle of the tile: bow, shaft and two teeth."""
    half, unit = TILE * _SHARPNESS / 2, scale * TILE * _SHARPNESS
    width = round(0.075 * unit)
    draw.ellipse((half - 0.26 * unit, half - 0.13 * unit, half, half + 0.13 * unit), outline=color, width=width)
    draw.line((half - 0.03 * unit, half, half + 0.27 * unit, half), fill=color, width=width)
    for tooth in (0.14, 0.24):
        draw.line((half + tooth * unit, half, half + tooth * unit, half + 0.13 * unit), fill=color, width=width)
