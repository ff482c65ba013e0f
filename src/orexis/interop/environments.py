"""The tasks as Gymnasium environments: `gymnasium.make("orexis:Orexis/EmptyRooms-v0")`.

A lifetime is many episodes. `reset(seed=...)` begins a lifetime; a plain `reset()` begins the next
episode of it, and after the last one the next lifetime, saying so in `info`.
"""

from typing import Any, SupportsInt

import gymnasium
import jax
import numpy as np
from gymnasium import spaces

from orexis.config import TaskSpec
from orexis.interop import forks
from orexis.interop.lives import Facts, Form, Life, programs
from orexis.interop.mixing import ACTIONS
from orexis.interop.rendering import as_pixels, as_text, sketch
from orexis.tasks.actions import with_actions
from orexis.tasks.base import Task
from orexis.tasks.registry import make_task
from orexis.types import PyTree

RENDER_MODES = ("rgb_array", "ansi")


class OrexisEnv(gymnasium.Env):
    """One environment, living one lifetime after the other.

    task: a name from `orexis tasks`, `module:Class`, or a task; the other options are the task's own.
    observation: "array", f32[H, W, C]; or "dict", which adds the action, the reward and the end of the
    episode that the last step told, for policies with a memory.
    actions: "normal", "permuted" or "extended".

    `info` always has `episode_index`, `lifetime_index` and `lifetime_progress` (the share of the lifetime's
    episodes that are over), `new_lifetime` (this reset began one), `lifetime_ended` (this step ended its last
    episode) and `outcome`, how the episode ended ("" if by time, or not yet). The time limit truncates. Pictures show
    hidden goals; observations never do.
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 8}  # noqa: RUF012

    def __init__(
        self,
        task: str | Task,
        render_mode: str | None = None,
        observation: Form = "array",
        actions: str = "normal",
        **options: Any,
    ):
        check_options(render_mode, observation)
        self.task: Any = with_actions(make_task(task, **options) if isinstance(task, str) else task, actions)
        self.metadata = {**self.metadata, ACTIONS: actions}
        self.render_mode = render_mode
        self.form: Form = observation
        self.observation_space = observation_space(self.task, observation)
        self.action_space = spaces.Discrete(self.task.spec.num_actions)
        self._life: Life | None = None
        self._lifetime = 0
        self._over = True
        self._started = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[PyTree, dict[str, Any]]:
        super().reset(seed=seed)
        self._prepare()
        before, lifetime = self._life, self._lifetime
        if before is None or seed is not None:
            key = jax.random.key(np.uint32(self.np_random.integers(2**32)))
            self._life, seen, facts = self._programs.begin(key, np.int32(0))
        elif (options or {}).get("new_lifetime"):
            self._life, seen, facts = self._programs.begin(before.key, before.lifetime + 1)
        else:
            self._life, seen, facts = self._programs.next_episode(before)
        info = describe(self.task, facts)
        self._over, self._lifetime = False, info["lifetime_index"]
        info["new_lifetime"] = before is None or seed is not None or self._lifetime != lifetime
        return to_numpy(seen), info

    def step(self, action: SupportsInt) -> tuple[PyTree, float, bool, bool, dict[str, Any]]:
        if self._life is None or self._over:
            raise gymnasium.error.ResetNeeded("call reset() before the first step of an episode")
        if not self.action_space.contains(action):
            raise gymnasium.error.InvalidAction(
                f"action must be from 0 to {self.task.spec.num_actions - 1}, not {action!r}"
            )
        forks.refuse_after_fork()
        self._life, arrived = self._programs.advance(self._life, np.int32(int(action)))
        facts = np.asarray(arrived.facts)
        terminated, truncated = bool(facts[2]), bool(facts[3])
        self._over = terminated or truncated
        return to_numpy(arrived.observation), float(arrived.reward), terminated, truncated, describe(self.task, facts)

    def render(self) -> np.ndarray | str | None:
        if self.render_mode is None:
            return None
        if self._life is None:
            raise gymnasium.error.ResetNeeded("call reset() before render()")
        return draw(self.task, self.render_mode, self._life)

    def sketch(self, reveal: bool = True) -> np.ndarray:
        """Returns str[H, W], a sign for each cell; with `reveal` also what the agent cannot see."""
        if self._life is None:
            raise gymnasium.error.ResetNeeded("call reset() before sketch()")
        params, state = jax.device_get((self._life.params, self._life.state))
        return sketch(self.task, params, state, reveal)

    def _prepare(self) -> None:
        """Makes ready to compute; not before the first reset, so that an environment may be made before a fork."""
        if not self._started:
            forks.refuse_if_alone()
            self._programs = programs(self.task, self.form)
            self._started = True
        forks.refuse_after_fork()


def check_options(render_mode: str | None, observation: str) -> None:
    """Raises ValueError for an option that there is not."""
    if render_mode is not None and render_mode not in RENDER_MODES:
        raise ValueError(f"render_mode must be one of {', '.join(RENDER_MODES)}, not {render_mode!r}")
    if observation not in ("array", "dict"):
        raise ValueError(f"observation must be 'array' or 'dict', not {observation!r}")


def observation_space(task: Task, form: Form) -> spaces.Space:
    """Returns the space of a task's observations; bounds are the task's `observation_bounds`, or float32's."""
    spec: TaskSpec = task.spec
    largest = float(np.finfo(np.float32).max)
    low, high = getattr(task, "observation_bounds", (-largest, largest))
    image = spaces.Box(low, high, spec.observation_shape, np.float32)
    if form == "array":
        return image
    return spaces.Dict(
        {
            "image": image,
            "last_action": spaces.Discrete(spec.num_actions),
            "last_reward": spaces.Box(-largest, largest, (), np.float32),
            "last_done": spaces.Discrete(2),
        }
    )


def to_numpy(observation: PyTree) -> PyTree:
    """Returns an observation as arrays of the caller's own."""
    return jax.tree.map(lambda x: np.array(x) if x.dtype == np.float32 else np.int64(x), observation)


def describe(task: Any, facts: Any) -> dict[str, Any]:
    """Returns the `info` of one environment after a reset or a step; `facts` is a packed `Facts`."""
    told = Facts(*np.asarray(facts).tolist())
    over = told.terminated or told.truncated
    return {
        "episode_index": told.episode,
        "lifetime_index": told.lifetime,
        "lifetime_progress": (told.episode + over) / task.spec.episodes_per_lifetime,
        "new_lifetime": False,
        "lifetime_ended": bool(told.lifetime_ended),
        "outcome": task.outcomes[told.outcome] if told.outcome >= 0 else "",
    }


def draw(task: Any, render_mode: str, life: Life) -> np.ndarray | str:
    """Returns the picture of where one environment stands."""
    signs = sketch(task, *jax.device_get((life.params, life.state)))
    return as_pixels(signs) if render_mode == "rgb_array" else as_text(signs)
