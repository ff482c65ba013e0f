"""The four domains with small networks and short lifetimes: soon compiled, soon lived through."""

import dataclasses

from orexis.config import HistoryNetConfig, MetaConfig, PolicyNetConfig, RunConfig
from orexis.presets import preset
from orexis.tasks.abc import NonstationaryABC, RandomABC
from orexis.tasks.empty_rooms import EmptyRooms
from orexis.tasks.key_box import KeyBox


@dataclasses.dataclass(frozen=True)
class ShortRooms(EmptyRooms):
    time_limit: int = 4
    episodes: int = 5


@dataclasses.dataclass(frozen=True)
class ShortABC(RandomABC):
    time_limit: int = 4
    episodes: int = 5


@dataclasses.dataclass(frozen=True)
class ShortNonstationaryABC(NonstationaryABC):
    time_limit: int = 4
    episodes: int = 5
    swap_every: int = 2


@dataclasses.dataclass(frozen=True)
class ShortKeyBox(KeyBox):
    time_limit: int = 4
    episodes: int = 5


DOMAINS = {
    "empty-rooms": ShortRooms,
    "random-abc": ShortABC,
    "nonstationary-abc": ShortNonstationaryABC,
    "key-box": ShortKeyBox,
}


def small_run(domain: str) -> RunConfig:
    """Returns a run of a domain: its own settings, but for the sizes. A window has 4 steps, a lifetime about 20."""
    return RunConfig(
        task=f"{__name__}:{DOMAINS[domain].__name__}",
        updates=12,
        checkpoint_every=2,
        log_every=3,
        meta=_small(preset(domain)),
    )


def _small(meta: MetaConfig) -> MetaConfig:
    return dataclasses.replace(
        meta,
        agent=dataclasses.replace(meta.agent, net=PolicyNetConfig(num_filters=2, num_hidden=8), rollout_length=2),
        reward=HistoryNetConfig(num_filters=2, num_hidden=8, num_units=8),
        outer=dataclasses.replace(meta.outer, window=2),
        lifetimes=2,
    )
