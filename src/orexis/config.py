"""Every setting of a run, as frozen dataclasses that refuse bad values when they are made.

The paper's symbol or table row stands beside each field; what the paper leaves open says so.
`presets.py` holds the values for each domain.
"""

import dataclasses
from typing import Literal


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def _positive(config: object, *names: str) -> None:
    for name in names:
        value = getattr(config, name)
        _require(value > 0, f"{name} must be positive, not {value}")


def _not_negative(config: object, *names: str) -> None:
    for name in names:
        value = getattr(config, name)
        _require(value >= 0, f"{name} must not be negative, not {value}")


def _one_of(config: object, name: str, *choices: str) -> None:
    value = getattr(config, name)
    _require(value in choices, f"{name} must be one of {', '.join(choices)}, not {value!r}")


@dataclasses.dataclass(frozen=True)
class PolicyNetConfig:
    """theta's network."""

    num_filters: int = 16
    num_hidden: int = 64
    conv_gain: float = 3.0  # open; tuned for extrinsic-ep, see docs/implementation_notes.md
    hidden_gain: float = 2.0  # open; tuned likewise
    head_gain: float = 0.1  # open; small heads: a near-uniform first policy

    def __post_init__(self) -> None:
        _positive(self, "num_filters", "num_hidden", "conv_gain", "hidden_gain")
        _not_negative(self, "head_gain")


@dataclasses.dataclass(frozen=True)
class HistoryNetConfig:
    """eta's network; phi's is the same but always remembers."""

    history: Literal["lstm", "none"] = "lstm"  # 'none': the feed-forward ablation of figure 7
    sees_action: bool = True  # False for rewards that are to serve other action spaces (figure 9)
    num_filters: int = 16
    num_hidden: int = 64
    num_units: int = 64
    conv_gain: float = 3.0  # open; as theta's, for the same reason
    hidden_gain: float = 2.0
    head_gain: float = 0.1

    def __post_init__(self) -> None:
        _one_of(self, "history", "lstm", "none")
        _positive(self, "num_filters", "num_hidden", "num_units", "conv_gain", "hidden_gain")
        _not_negative(self, "head_gain")


@dataclasses.dataclass(frozen=True)
class AgentConfig:
    """The inner learner: an actor-critic agent, the same for every reward source."""

    net: PolicyNetConfig = dataclasses.field(default_factory=PolicyNetConfig)
    rollout_length: int = 4  # T, "trajectory length"
    optimizer: Literal["sgd", "adam"] = "sgd"
    learning_rate: float = 0.1  # alpha
    differentiate_denominator: bool = False  # Adam only; open
    entropy_cost: float = 0.01
    value_cost: float = 0.05  # open; losses are sums over T, so the critic's own step must stay small
    discount: float = 0.9  # gamma-bar

    def __post_init__(self) -> None:
        _one_of(self, "optimizer", "sgd", "adam")
        _positive(self, "rollout_length", "learning_rate")
        _not_negative(self, "entropy_cost", "value_cost")
        _require(0.0 <= self.discount <= 1.0, f"discount must be in [0, 1], not {self.discount}")


@dataclasses.dataclass(frozen=True)
class Schedule:
    """From `start` to `end`, geometrically, over the updates `begin` to `begin + updates` (absolute)."""

    start: float
    end: float
    updates: int = 1
    begin: int = 0

    def __post_init__(self) -> None:
        _positive(self, "start", "end", "updates")
        _not_negative(self, "begin")


@dataclasses.dataclass(frozen=True)
class OuterConfig:
    """The meta-learner of eta and phi."""

    objective: Literal["lifetime", "episode"] = "lifetime"  # 'episode': the ablation of figure 7
    window: int = 5  # N, "outer unroll length"
    discount: float = 0.99  # gamma
    reward_learning_rate: Schedule = Schedule(1e-3, 1e-3)  # alpha'
    value_learning_rate: float = 1e-3  # alpha'
    entropy_cost: Schedule = Schedule(0.12, 0.01, 4000)  # open
    value_cost: float = 0.5  # open
    average_decay: float = 0.999  # per update, of the averaged eta that becomes the artefact; open

    def __post_init__(self) -> None:
        _one_of(self, "objective", "lifetime", "episode")
        _positive(self, "window", "value_learning_rate")
        _not_negative(self, "value_cost")
        _require(0.0 <= self.discount <= 1.0, f"discount must be in [0, 1], not {self.discount}")
        _require(0.0 <= self.average_decay < 1.0, f"average_decay must be in [0, 1), not {self.average_decay}")


@dataclasses.dataclass(frozen=True)
class MetaConfig:
    """Everything that decides what is learned, apart from the task and the seed."""

    agent: AgentConfig = dataclasses.field(default_factory=AgentConfig)
    reward: HistoryNetConfig = dataclasses.field(default_factory=HistoryNetConfig)
    outer: OuterConfig = dataclasses.field(default_factory=OuterConfig)
    lifetimes: int = 64  # L, in parallel

    def __post_init__(self) -> None:
        _positive(self, "lifetimes")
