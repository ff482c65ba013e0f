"""Many environments of one task in one process, stepped together: the JAX task under `vmap`.

`gymnasium.make_vec("orexis:Orexis/EmptyRooms-v0", num_envs=64)`. Environment i of a seed lives exactly as the single
environment with seed + i does. An environment whose episode ends is reset in the same step: the
observation returned is the first of what follows, the last one of the episode is in `infos["final_obs"]`.
"""

from collections.abc import Sequence
from typing import Any

import gymnasium
import jax
import numpy as np
from gymnasium import spaces
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from orexis.interop import forks
from orexis.interop.environments import RENDER_MODES, check_options, draw, observation_space
from orexis.interop.lives import Facts, Form, Life, programs
from orexis.interop.mixing import ACTIONS
from orexis.tasks.actions import with_actions
from orexis.tasks.base import Task
from orexis.tasks.registry import make_task
from orexis.types import PyTree


class OrexisVectorEnv(VectorEnv):
    """`num_envs` environments side by side; options and `infos` as `OrexisEnv` has them, one entry for each."""

    metadata = {  # noqa: RUF012
        "render_modes": list(RENDER_MODES),
        "render_fps": 8,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        task: str | Task,
        num_envs: int = 1,
        render_mode: str | None = None,
        observation: Form = "array",
        actions: str = "normal",
        **options: Any,
    ):
        check_options(render_mode, observation)
        if num_envs < 1:
            raise ValueError(f"num_envs must be at least 1, not {num_envs}")
        self.task: Any = with_actions(make_task(task, **options) if isinstance(task, str) else task, actions)
        self.num_envs = num_envs
        self.metadata = {**self.metadata, ACTIONS: actions}
        self.render_mode = render_mode
        self.form: Form = observation
        self.single_observation_space = observation_space(self.task, observation)
        self.single_action_space = spaces.Discrete(self.task.spec.num_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._lives: Life | None = None  # every field with a leading E
        self._lifetimes = np.zeros(num_envs, np.int64)  # the index of each one's lifetime
        self._started = False

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[PyTree, dict[str, Any]]:
        super().reset(seed=seed if isinstance(seed, int) else None)
        self._prepare()
        before, lifetimes = self._lives, self._lifetimes
        if before is None or seed is not None:
            keys = jax.vmap(jax.random.key)(np.array(self._draw_seeds(seed), np.uint32))
            self._lives, seen, facts = self._programs.begin_all(keys, np.zeros(self.num_envs, np.int32))
        elif (options or {}).get("new_lifetime"):
            self._lives, seen, facts = self._programs.begin_all(before.key, before.lifetime + 1)
        else:
            self._lives, seen, facts = self._programs.next_all(before)
        infos = self._describe(facts)
        self._lifetimes = infos["lifetime_index"].copy()
        infos["new_lifetime"] = (self._lifetimes != lifetimes) | (before is None or seed is not None)
        return self._to_numpy(seen), _with_masks(infos, np.ones(self.num_envs, bool))

    def step(self, actions: Any) -> tuple[PyTree, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        if self._lives is None:
            raise gymnasium.error.ResetNeeded("call reset() before the first step")
        actions = np.asarray(actions)
        if actions.shape != (self.num_envs,) or not np.isin(actions, np.arange(self.task.spec.num_actions)).all():
            expected = f"{self.num_envs} numbers from 0 to {self.task.spec.num_actions - 1}"
            raise gymnasium.error.InvalidAction(f"actions must be {expected}, not {actions!r}")
        forks.refuse_after_fork()
        self._lives, seen, facts, arrived = self._programs.advance_all(self._lives, actions.astype(np.int32))
        told = Facts(*np.asarray(arrived.facts).T)
        terminated, truncated = told.terminated > 0, told.truncated > 0
        now = self._describe(facts)
        now["new_lifetime"] = now["lifetime_index"] != self._lifetimes
        self._lifetimes = now["lifetime_index"].copy()
        infos = _with_masks(now, np.ones(self.num_envs, bool))
        over = terminated | truncated
        if over.any():
            infos["final_info"], infos["_final_info"] = _with_masks(self._describe(arrived.facts), over), over.copy()
            infos["final_obs"], infos["_final_obs"] = self._split(arrived.observation, over), over.copy()
        return self._to_numpy(seen), np.array(arrived.reward, np.float64), terminated, truncated, infos

    def render(self) -> tuple[Any, ...] | None:
        """Returns a picture for each environment."""
        if self.render_mode is None:
            return None
        if self._lives is None:
            raise gymnasium.error.ResetNeeded("call reset() before render()")
        lives = jax.device_get(self._lives)
        each = (jax.tree.map(lambda x, i=i: x[i], lives) for i in range(self.num_envs))
        return tuple(draw(self.task, self.render_mode, life) for life in each)

    def _prepare(self) -> None:
        if not self._started:
            forks.refuse_if_alone()
            self._programs = programs(self.task, self.form)
            self._started = True
        forks.refuse_after_fork()

    def _draw_seeds(self, seed: int | Sequence[int | None] | None) -> list[int]:
        """Returns for each environment the number that the single environment with its seed would draw."""
        if seed is None:
            return [int(number) for number in self.np_random.integers(2**32, size=self.num_envs)]
        seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else list(seed)
        if len(seeds) != self.num_envs:
            raise ValueError(f"seed must be one number or {self.num_envs} of them, not {len(seeds)}")
        return [int(np_random(each)[0].integers(2**32)) for each in seeds]

    def _describe(self, facts: Any) -> dict[str, np.ndarray]:
        """Returns `describe` of each environment, name by name; `facts` is i32[E, 6]."""
        told = Facts(*np.array(facts, np.int64).T)
        names = ("", *getattr(self.task, "outcomes", ()))
        return {
            "episode_index": told.episode.copy(),
            "lifetime_index": told.lifetime.copy(),
            "lifetime_progress": (told.episode + (told.terminated | told.truncated))
            / self.task.spec.episodes_per_lifetime,
            "new_lifetime": np.zeros(self.num_envs, bool),
            "lifetime_ended": told.lifetime_ended > 0,
            "outcome": np.array(names, object)[1 + told.outcome],
        }

    def _to_numpy(self, observation: PyTree) -> PyTree:
        return jax.tree.map(lambda x: np.array(x, np.float32 if x.dtype == np.float32 else np.int64), observation)

    def _split(self, observation: PyTree, over: np.ndarray) -> np.ndarray:
        """Returns object[E], the observation of each environment whose episode is over, None for the others."""
        arrays = self._to_numpy(observation)
        split = np.full(self.num_envs, None, object)
        for i in np.flatnonzero(over):
            split[i] = jax.tree.map(lambda x, i=i: x[i], arrays)
        return split


def _with_masks(info: dict[str, np.ndarray], mask: np.ndarray) -> dict[str, Any]:
    """Returns `info` with Gymnasium's `_name` beside each name: which environments it holds for."""
    masks = {f"_{name}": mask.copy() for name in info}
    return {**info, **masks}
