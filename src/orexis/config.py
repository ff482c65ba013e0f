"""Every setting of a run, as frozen dataclasses that refuse bad values when they are made.

The paper's symbol or table row stands beside each field; what the paper leaves open says so.
`presets.py` holds the values for each domain.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Literal, get_args

from orexis.config_json import new, not_negative, one_of, positive, renamed, require


@dataclasses.dataclass(frozen=True)
class TaskSpec:
    """The numbers that networks and lifetimes are built from."""

    num_actions: int
    observation_shape: tuple[int, int, int]  # H, W, C
    time_limit: int  # steps; an episode that reaches it ends, like any other
    episodes_per_lifetime: int
    agent_plane: int | None = new(None)  # of a grid: the plane that is one in the agent's cell, else zero

    def __post_init__(self) -> None:
        shape = self.observation_shape
        require(len(shape) == 3 and min(shape) > 0, f"observation_shape must be (H, W, C), all positive, not {shape}")
        positive(self, "num_actions", "time_limit", "episodes_per_lifetime")
        plane = self.agent_plane
        inside = plane is None or 0 <= plane < shape[2]
        require(inside, f"agent_plane must be one of the {shape[2]} planes, counted from 0, not {plane}")


@dataclasses.dataclass(frozen=True)
class PolicyNetConfig:
    """theta's network."""

    num_filters: int = 16
    num_hidden: int = 64
    conv_gain: float = 3.0  # open; tuned for extrinsic-ep, see results/notes/agents.md
    hidden_gain: float = 2.0  # open; tuned likewise
    head_gain: float = 0.1  # open; small heads: a near-uniform first policy

    def __post_init__(self) -> None:
        positive(self, "num_filters", "num_hidden", "conv_gain", "hidden_gain")
        not_negative(self, "head_gain")


@dataclasses.dataclass(frozen=True)
class HistoryNetConfig:
    """eta's network, a reward or a policy with a memory; phi's is the same but always remembers."""

    history: Literal["lstm", "none"] = "lstm"  # 'none': the feed-forward ablation of figure 7
    sees_action: bool = True  # False for rewards that are to serve other action spaces (figure 9)
    view: Literal["planes", "egocentric"] = new("planes")  # the paper's: planes; see `networks.egocentric`
    keeps_ledger: bool = new(False)  # told what episodes paid that ended on each thing; see `networks.ledger`
    sees_clock: bool = new(False)  # told the share of the lifetime that has passed; see `networks.clock`
    num_filters: int = 16
    num_hidden: int = 64
    num_units: int = 64
    conv_gain: float = 3.0  # open; as theta's, for the same reason
    hidden_gain: float = 2.0
    head_gain: float = 1.0  # open; 0.1 costs 500 updates before rewards are large enough to matter

    def __post_init__(self) -> None:
        one_of(self, "history", "lstm", "none")
        one_of(self, "view", "planes", "egocentric")
        positive(self, "num_filters", "num_hidden", "num_units", "conv_gain", "hidden_gain")
        not_negative(self, "head_gain")
        require(
            self.view == "egocentric" or not self.keeps_ledger,
            "keeps_ledger needs the view egocentric: a ledger is of the things that are seen from the agent",
        )


@dataclasses.dataclass(frozen=True)
class AgentConfig:
    """The inner learner: an actor-critic agent, the same for every reward source."""

    net: PolicyNetConfig = dataclasses.field(default_factory=PolicyNetConfig)
    rollout_length: int = 4  # T, "trajectory length"
    optimizer: Literal["sgd", "adam"] = "sgd"
    learning_rate: float = 0.1  # alpha
    differentiate_denominator: bool = False  # Adam only; open
    gradient_clip: float | None = new(None)  # largest norm of an update's gradient; the paper's: None
    entropy_cost: float = 0.01
    value_cost: float = 0.05  # open; losses are sums over T, so the critic's own step must stay small
    discount: float = 0.9  # gamma-bar

    def __post_init__(self) -> None:
        one_of(self, "optimizer", "sgd", "adam")
        positive(self, "rollout_length", "learning_rate", "gradient_clip")
        not_negative(self, "entropy_cost", "value_cost")
        require(0.0 <= self.discount <= 1.0, f"discount must be in [0, 1], not {self.discount}")


@dataclasses.dataclass(frozen=True)
class CuriosityConfig:
    """The networks of ICM, which learn within a lifetime."""

    num_filters: int = 8
    num_features: int = 32
    num_hidden: int = 32
    learning_rate: float = 1e-3  # Adam

    def __post_init__(self) -> None:
        positive(self, "num_filters", "num_features", "num_hidden", "learning_rate")


@dataclasses.dataclass(frozen=True)
class BonusConfig:
    """What the hand-made rewards of `rewards.registry` weigh; swept for each task, see `orexis sweep`."""

    scales: Mapping[str, float] = dataclasses.field(default_factory=dict)  # by source; else its entry's default
    curiosity: CuriosityConfig = dataclasses.field(default_factory=CuriosityConfig)

    def __post_init__(self) -> None:
        for name, scale in self.scales.items():
            require(0.0 <= scale < math.inf, f"{name}_scale must not be negative or infinite, not {scale}")


@dataclasses.dataclass(frozen=True)
class Schedule:
    """From `init_value` to `end_value`, geometrically, over `transition_steps` updates from `transition_begin` on,
    counted from the first (optax's words)."""

    init_value: float = renamed("start")
    end_value: float = renamed("end")
    transition_steps: int = renamed("updates", 1)
    transition_begin: int = renamed("begin", 0)

    def __post_init__(self) -> None:
        positive(self, "init_value", "end_value", "transition_steps")
        not_negative(self, "transition_begin")


@dataclasses.dataclass(frozen=True)
class QLearningConfig:
    """The learner of the generalisation study; tuned for `q-extrinsic`, see results/notes/agents.md."""

    net: PolicyNetConfig = dataclasses.field(default_factory=PolicyNetConfig)
    rollout_length: int = 4
    learning_rate: float = 1e-3  # of Adam; open
    epsilon: Schedule = Schedule(1.0, 0.05, 60)  # share of random actions, in updates of the agent; open
    trace: float = 1.0  # lambda of the targets inside a rollout; open
    discount: float = 0.9

    def __post_init__(self) -> None:
        positive(self, "rollout_length", "learning_rate")
        require(
            max(self.epsilon.init_value, self.epsilon.end_value) <= 1.0,
            f"epsilon must be at most 1, not {self.epsilon}",
        )
        for name in ("discount", "trace"):
            require(0.0 <= getattr(self, name) <= 1.0, f"{name} must be in [0, 1], not {getattr(self, name)}")


@dataclasses.dataclass(frozen=True)
class EntropyLevel:
    """Holds the policies' entropy near a level: each update multiplies the outer entropy cost by a factor that grows
    while entropy is below the level and falls while it is above, see `meta.learner.hold_entropy`."""

    share: float | None = None  # the level, as a share of the largest possible, log A; None: the factor stays 1
    gain: float = 0.05  # how fast the factor follows; 0.01 lagged and collapsed
    least: float = 0.3  # the factor's bounds
    most: float = 4.0

    def __post_init__(self) -> None:
        positive(self, "share", "gain", "least", "most")
        require(self.share is None or self.share <= 1.0, f"share must be at most 1, not {self.share}")
        require(self.least <= self.most, f"least must be at most most, not {self.least} > {self.most}")


@dataclasses.dataclass(frozen=True)
class OuterConfig:
    """The meta-learner of eta and phi."""

    objective: Literal["lifetime", "episode"] = "lifetime"  # 'episode': the ablation of figure 7
    window: int = 5  # N, "outer unroll length"
    discount: float = 0.99  # gamma
    gae_lambda: float = renamed("advantage_trace", 1.0)  # 1: the paper's n-step return
    reward_learning_rate: Schedule = Schedule(2e-3, 2e-4, 12000, transition_begin=1000)  # alpha'; paper: 1e-3 constant
    value_learning_rate: float = 1e-3  # alpha'
    entropy_cost: Schedule = Schedule(0.12, 0.005, 16000)  # open
    value_cost: float = 0.5  # open
    average_power: float = 4.0  # open; the artefact is eta averaged over about the last 1/(power + 1) of all updates
    # What the paper does not have; each is explained and measured in docs/explanation/recipe.md.
    privileged_value: bool = new(False)  # phi also sees what the agent cannot, see `meta.privilege`
    reward_cost: float = new(0.0)  # on squared intrinsic rewards: keeps them off arctan's flat ends
    gradient_clip: float | None = new(None)  # largest norm of eta's meta-gradient
    entropy_level: EntropyLevel = new(EntropyLevel())
    normalize: bool = new(False)  # outer rewards and advantages by running scales: costs fit any task's rewards
    all_actions: bool = new(False)  # the policy term over all actions, through the task's own step

    def __post_init__(self) -> None:
        one_of(self, "objective", "lifetime", "episode")
        positive(self, "window", "value_learning_rate", "gradient_clip")
        not_negative(self, "value_cost", "average_power", "reward_cost")
        # With more, float32 could overflow in a step whose gradient was finite, see `meta.learner.step_learner`.
        rate = self.reward_learning_rate
        for name, largest in (
            ("reward_learning_rate", max(rate.init_value, rate.end_value)),
            ("value_learning_rate", self.value_learning_rate),
            ("average_power", self.average_power),
        ):
            require(largest <= 1e6, f"{name} must be at most 1e6, not {largest}")
        for name in ("discount", "gae_lambda"):
            require(0.0 <= getattr(self, name) <= 1.0, f"{name} must be in [0, 1], not {getattr(self, name)}")


@dataclasses.dataclass(frozen=True)
class MamlConfig:
    """How the meta-gradient reaches an initialisation, see docs/explanation/policies.md."""

    first_order: bool = False  # theta's updates count as constants, their Jacobian as the identity
    later_windows: bool = True  # windows after a lifetime's first teach too: all updates before them as constants


Learn = Literal["reward", "rl2", "maml"]
"""What can be learned over lifetimes: a reward, a policy with a memory, the initialisation of a policy."""
LEARN: tuple[Learn, ...] = get_args(Learn)


@dataclasses.dataclass(frozen=True)
class MetaConfig:
    """Everything that decides what is learned, apart from the task and the seed."""

    agent: AgentConfig = dataclasses.field(default_factory=AgentConfig)
    reward: HistoryNetConfig = dataclasses.field(default_factory=HistoryNetConfig)  # of rl2: the policy's network
    outer: OuterConfig = dataclasses.field(default_factory=OuterConfig)
    lifetimes: int = 64  # L, in parallel
    learn: Learn = new("reward")
    maml: MamlConfig = new(MamlConfig())

    def __post_init__(self) -> None:
        positive(self, "lifetimes")
        one_of(self, "learn", *LEARN)
        planes = self.learn != "rl2" or self.reward.view == "planes"
        require(
            planes, f"view must be planes for a policy, not {self.reward.view!r}: it is turned by moves already made"
        )
        timeless = self.learn != "rl2" or not self.reward.sees_clock
        require(timeless, "sees_clock must be off for a policy: only rewards, and their lifetime values, see a clock")

    @property
    def network(self) -> HistoryNetConfig | PolicyNetConfig:
        """The network of what is learned."""
        return self.agent.net if self.learn == "maml" else self.reward


@dataclasses.dataclass(frozen=True)
class RunConfig:
    """What a run folder's `config.json` holds."""

    task: str
    seed: int = 0
    updates: int = 20000  # in total; a resumed run goes on to here
    checkpoint_every: int = 500  # updates
    log_every: int = 10  # updates a row of metrics.csv
    engine: Literal["fast", "dense"] = "fast"  # 'dense': nothing factored or tabulated, for debugging
    deterministic: bool = new(False)  # on any devices the same bits
    recipe: Literal["tuned", "paper"] = new("tuned")  # whose settings `meta` began with
    episodes: int | None = new(None)  # of a lifetime, if other than the task's own
    task_options: tuple[str, ...] = new(())  # NAME=VALUE of the task's own options, values as JSON
    validate_every: int | None = new(None)  # updates; None: the averaged reward is not validated, no `best/`
    validation_lifetimes: int = new(32)
    stop_on_collapse: bool = new(False)  # end the run when its validation has fallen clearly below its best
    begin_with: str | None = new(None)  # the run, learner or reward that the first update starts from
    meta: MetaConfig = dataclasses.field(default_factory=MetaConfig)

    def __post_init__(self) -> None:
        positive(self, "updates", "checkpoint_every", "log_every", "episodes", "validate_every")
        positive(self, "validation_lifetimes")
        one_of(self, "engine", "fast", "dense")
        one_of(self, "recipe", "tuned", "paper")
        require(0 <= self.seed < 2**32, f"seed must be between 0 and 2^32 - 1, not {self.seed}")


HARMLESS = ("updates", "checkpoint_every", "validate_every", "stop_on_collapse", "recipe")
"""Fields of `RunConfig` that may change when a run is resumed: what is learned does not depend on them."""
