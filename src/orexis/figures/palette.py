"""What colour and which name a source has, the same in every figure, and the style of the figures.

The colours are those of Okabe and Ito, which people with any common colour blindness can tell
apart; brown and grey, which their set lacks, differ from the rest by lightness.
"""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any

import matplotlib

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILLION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
BROWN, GREY, PALE = "#7A4A1E", "#8A8A8A", "#DDDDDD"


@dataclasses.dataclass(frozen=True)
class SourceStyle:
    """How one source looks."""

    name: str  # what a reader sees
    color: str
    dashes: str | tuple[float, tuple[float, ...]] = "-"  # Matplotlib's linestyle


LEARNED = SourceStyle("learned reward", BLUE)

STYLES: dict[str, SourceStyle] = {
    "extrinsic-ep": SourceStyle("extrinsic (episode)", ORANGE),
    "extrinsic-life": SourceStyle("extrinsic (lifetime)", BROWN),
    "near-optimal": SourceStyle("near-optimal", BLACK, (0, (4, 1.6))),
    "count": SourceStyle("count bonus", GREEN),
    "icm": SourceStyle("ICM", PURPLE),
    "teacher": SourceStyle("teacher", SKY),
    "random": SourceStyle("random", GREY),
}
"""The sources that have a name of their own; everything else is a folder with a learned reward."""

ENDING_COLORS: dict[str, str] = {"A": SKY, "B": VERMILLION, "C": YELLOW, "nowhere": PALE}
"""Of the ways in which an episode of ABC World can end."""

_RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 7.5,
    "axes.titlesize": 8.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 7.5,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.6,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "lines.linewidth": 1.4,
    "lines.solid_capstyle": "round",
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "text.usetex": False,
}


def style_of(source: str) -> SourceStyle:
    """Returns how the source called `source` (as typed) looks; a path is a learned reward."""
    return STYLES.get(source, LEARNED)


def display_names(sources: Sequence[str]) -> list[str]:
    """Returns what to call each source in one figure: learned rewards by their folder if there are several."""
    num_learned = len(set(sources) - set(STYLES))
    return [
        f"{LEARNED.name} ({_folder(source)})" if num_learned > 1 and source not in STYLES else style_of(source).name
        for source in sources
    ]


@contextlib.contextmanager
def paper_style() -> Iterator[None]:
    """Gives what is made inside the block the house style; Matplotlib's settings are as before afterwards."""
    with matplotlib.rc_context(_RC):
        yield


def _folder(source: str) -> str:
    """Returns the telling part of a path: the run's name where it ends in `reward`."""
    path = PurePath(source)
    return path.parent.name if path.name == "reward" and path.parent.name else path.name
