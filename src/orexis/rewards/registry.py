"""The reward sources by name: what each is called, how it is made, drawn and swept.

A new baseline takes a file of its own and one entry here: the command line, the evaluation, the sweep, the figures
and the table in docs/reference/evaluation.md read this. JAX is imported only when a source is made.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from orexis import colors
from orexis.config import CuriosityConfig, HistoryNetConfig, OuterConfig, TaskSpec
from orexis.config_json import require

if TYPE_CHECKING:
    from orexis.rewards.base import RewardSource
    from orexis.tasks.base import Task

LEARNED = "learned"
"""The entry of every learned reward, whatever folder it lies in."""

SCALES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)


@dataclasses.dataclass(frozen=True)
class RewardInputs:
    """All that a reward source may be made from."""

    task: "Task"
    spec: TaskSpec  # the task's; of a learned reward with the number of actions that it knows
    scale: float = 0.0  # of the source's own term, if it has one
    curiosity: CuriosityConfig = CuriosityConfig()
    lifetime_discount: float = OuterConfig.discount  # gamma
    network: HistoryNetConfig | None = None  # of a learned reward


@dataclasses.dataclass(frozen=True)
class RewardEntry:
    """One reward source."""

    name: str  # as typed
    label: str  # as a reader of a figure sees it
    color: str  # "#RRGGBB", its own in every figure
    summary: str  # what an agent is paid, one line of docs/reference/evaluation.md
    factory: Callable[[RewardInputs], "RewardSource"]  # raises ValueError where the task cannot have it
    scale: float | None = None  # of its own term where no sweep chose one; None: it has no such term
    grid: Mapping[str, tuple[float, ...]] = dataclasses.field(default_factory=dict)
    """What `orexis sweep` varies: fields of `AgentConfig`, or `NAME_scale`."""


def _extrinsic_ep(inputs: RewardInputs) -> "RewardSource":
    from orexis.rewards.extrinsic import Extrinsic

    del inputs
    return Extrinsic()


def _extrinsic_life(inputs: RewardInputs) -> "RewardSource":
    from orexis.rewards.base import Returns
    from orexis.rewards.extrinsic import Extrinsic

    return Extrinsic(Returns(discount=inputs.lifetime_discount, through_episodes=True))


def _count(inputs: RewardInputs) -> "RewardSource":
    from orexis.rewards.count import Count

    return Count(inputs.task, inputs.scale)


def _icm(inputs: RewardInputs) -> "RewardSource":
    from orexis.rewards.icm import Icm

    return Icm(inputs.spec, inputs.curiosity, inputs.scale)


def _teacher(inputs: RewardInputs) -> "RewardSource":
    from orexis.rewards.teachers import make_teacher

    return make_teacher(inputs.task, inputs.scale)


def _learned(inputs: RewardInputs) -> "RewardSource":
    from orexis.rewards.learned import LearnedReward

    if inputs.network is None:
        raise ValueError("a learned reward needs its network")
    return LearnedReward(inputs.spec, inputs.network)


_ENTRIES = (
    RewardEntry(
        name="extrinsic-ep",
        label="extrinsic (episode)",
        color=colors.ORANGE,
        summary="the task's reward; returns are cut at episode ends (discount 0.9)",
        factory=_extrinsic_ep,
        grid={"learning_rate": (0.01, 0.03, 0.1, 0.3), "entropy_cost": (0.01, 0.05)},
    ),
    RewardEntry(
        name="extrinsic-life",
        label="extrinsic (lifetime)",
        color=colors.BROWN,
        summary="the task's reward; returns run through episode ends with the lifetime's discount, 0.99",
        factory=_extrinsic_life,
    ),
    RewardEntry(
        name="count",
        label="count bonus",
        color=colors.GREEN,
        summary="the task's reward + scale/√n(s): n counts the arrivals of this lifetime in s",
        factory=_count,
        scale=0.1,
        grid={"count_scale": SCALES},
    ),
    RewardEntry(
        name="icm",
        label="ICM",
        color=colors.PURPLE,
        summary="the task's reward + scale · ½‖f̂ − f‖²: the error of a forward model in features that an inverse "
        "model learns",
        factory=_icm,
        scale=0.1,
        grid={"icm_scale": SCALES},
    ),
    RewardEntry(
        name="teacher",
        label="teacher",
        color=colors.SKY,
        summary="±scale by whether a step comes nearer to what should be visited now, alone: what *this agent* can "
        "get from a good reward, see below",
        factory=_teacher,
        scale=0.1,
        grid={"teacher_scale": (0.03, 0.05, 0.1, 0.2, 0.3, 0.5)},
    ),
    RewardEntry(
        name=LEARNED,
        label="learned reward",
        color=colors.BLUE,
        summary="the learned reward, alone",
        factory=_learned,
    ),
)

REWARDS: dict[str, RewardEntry] = {entry.name: entry for entry in _ENTRIES}
"""Every reward source by the name one types; a learned one is typed as its folder or its shipped name."""


def check_scales(scales: Mapping[str, float]) -> None:
    """Raises ValueError if `scales` names a reward source that is not there or has no scale."""
    scaled = [name for name, entry in REWARDS.items() if entry.scale is not None]
    for name in scales:
        require(name in scaled, f"{name!r} has no scale; reward sources that have are {', '.join(scaled)}")
