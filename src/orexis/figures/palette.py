"""What colour and which name a source has, the same in every figure, and the style of the figures.

Both come from the registries of rewards and agents; the colours are those of `orexis.colors`.
"""

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, TypeAlias

import matplotlib

from orexis.agents.registry import AGENTS, POLICIES
from orexis.colors import PALE, SKY, VERMILLION, YELLOW
from orexis.evaluation.sources import SOURCES, Pair, is_learned
from orexis.rewards.registry import LEARNED as LEARNED_REWARD
from orexis.rewards.registry import REWARDS

Dashes: TypeAlias = str | tuple[float, tuple[float, ...]]
"""Matplotlib's linestyle."""


@dataclasses.dataclass(frozen=True)
class SourceStyle:
    """How one source looks."""

    name: str  # what a reader sees
    color: str
    dashes: Dashes = "-"


def _style(pair: Pair) -> SourceStyle:
    """Returns how a pair looks: like its reward, or like its agent where that is not the one that learns elsewhere."""
    reward = REWARDS[pair.reward]
    if pair.agent is None:
        return SourceStyle(reward.label, reward.color)
    agent = AGENTS[pair.agent]
    name = f"{agent.label}, {reward.label}" if agent.learns else agent.label
    return SourceStyle(name, agent.color, agent.dashes)


LEARNED = _style(Pair(LEARNED_REWARD))

STYLES: dict[str, SourceStyle] = {
    **{name: _style(pair) for name, pair in SOURCES.items()},
    **{name: SourceStyle(entry.label, entry.color) for name, entry in POLICIES.items()},
}
"""The sources that have a name of their own, and policies as figures call them; all else must be a learned reward."""

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
    """Returns how the source called `source` (as typed) looks; a path is a learned reward.

    Raises ValueError for a name that is neither registered nor a learned reward's.
    """
    if source in STYLES:
        return STYLES[source]
    if not is_learned(source):
        raise ValueError(f"{source!r} is no source that has a colour: it is not registered, and no learned reward")
    return LEARNED


def display_names(sources: Sequence[str]) -> list[str]:
    """Returns what to call each source in one figure: learned rewards by their folder if there are several."""
    names = {source: style_of(source).name for source in sources}
    learned = [source for source in names if source not in STYLES]
    if len(learned) > 1:
        names |= {source: f"{LEARNED.name} ({_folder(source)})" for source in learned}
    return [names[source] for source in sources]


def looks_of(sources: Sequence[str], special: Mapping[str, SourceStyle] = {}) -> list[SourceStyle]:
    """Returns how each source looks in one figure, with what to call it; `special` ones look as they say."""
    common = [source for source in sources if source not in special]
    looks = {
        source: dataclasses.replace(style_of(source), name=name)
        for source, name in zip(common, display_names(common), strict=True)
    }
    return [special[source] if source in special else looks[source] for source in sources]


@contextlib.contextmanager
def paper_style() -> Iterator[None]:
    """Gives what is made inside the block the house style; Matplotlib's settings are as before afterwards."""
    with matplotlib.rc_context(_RC):
        yield


def _folder(source: str) -> str:
    """Returns the telling part of a path: the run's name where it ends in `reward`."""
    path = PurePath(source)
    return path.parent.name if path.name == "reward" and path.parent.name else path.name
