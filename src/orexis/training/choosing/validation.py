"""Validation: the same fresh lifetimes under every reward or policy that a run has on its way, to keep the best.

The lifetimes belong to a seed of their own. Reports use seed 0 and sweeps 9000, so whatever is chosen here was
not chosen on what is reported. Chunks have one size on any number of devices: the scores are the same bits.
"""

from collections.abc import Callable
from typing import Any, cast

import jax
import numpy as np

from orexis.agents.actor_critic import ActorCritic
from orexis.agents.base import Agent
from orexis.agents.registry import POLICIES
from orexis.config import MetaConfig, RunConfig, TaskSpec
from orexis.evaluation.lifetimes import Episodes, lifetimes_program
from orexis.meta.engine import make_mesh
from orexis.rewards.base import RewardSource
from orexis.rewards.extrinsic import Extrinsic
from orexis.rewards.learned import LearnedReward
from orexis.tasks.base import Task
from orexis.training.choosing.best import Score
from orexis.types import PyTree

VALIDATION_SEED = 7000
CHUNK = 8
"""Lifetimes that a device lives at once."""
COSTLY = 0.25
"""Steps of validation for each step of training that are worth a warning."""


class Validator:
    """Scores rewards or policies on fixed lifetimes; its program is compiled once."""

    def __init__(self, task: Task, meta: MetaConfig, num_lifetimes: int, devices: list[jax.Device] | None = None):
        """devices: by default those of this process; no more are used than there are chunks."""
        chunks = -(-num_lifetimes // CHUNK)
        self.num_lifetimes = num_lifetimes
        self._mesh = make_mesh((jax.local_devices() if devices is None else devices)[:chunks])
        self._pays = meta.learn == "reward"  # else what is learned acts
        agent: Agent = ActorCritic(task.spec, meta.agent)
        reward: RewardSource = LearnedReward(task.spec, meta.reward)
        if not self._pays:
            agent, reward = POLICIES[meta.learn].factory(task.spec, meta.network, meta.agent), Extrinsic()
        self._program = lifetimes_program(*cast(Any, (task, agent, reward, self._mesh, False)))
        self._compiled: Callable | None = None

    def compile(self, eta: PyTree) -> None:
        """Compiles the program for anything shaped like `eta`, if that was not done yet."""
        if self._compiled is None:
            eta = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), eta)
            numbers = jax.ShapeDtypeStruct((self._mesh.size, CHUNK), np.int32)
            seed = jax.ShapeDtypeStruct((), np.uint32)
            self._compiled = self._program.lower(numbers, seed, *self._given(eta)).compile()

    def _given(self, eta: PyTree) -> tuple[PyTree, PyTree]:
        """Returns what an agent is born with and what pays it."""
        return ((), eta) if self._pays else (eta, ())

    def score(self, eta: PyTree, must_stop: Callable[[], bool] = lambda: False) -> Score | None:
        """Returns the score of `eta`, arrays of the host; None if `must_stop` said so on the way."""
        self.compile(eta)
        assert self._compiled is not None
        returns, lengths = [], []
        at_once = CHUNK * self._mesh.size
        for begin in range(0, self.num_lifetimes, at_once):
            if must_stop():
                return None
            numbers = np.arange(begin, begin + at_once, dtype=np.int32).reshape(self._mesh.size, CHUNK)
            episodes: Episodes = jax.device_get(
                self._compiled(numbers, np.uint32(VALIDATION_SEED), *self._given(eta))[1]
            )
            returns.append(episodes.extrinsic.reshape(at_once, -1))
            lengths.append(episodes.length.reshape(at_once, -1))
        wanted = slice(self.num_lifetimes)
        return score_of(np.concatenate(returns)[wanted], np.concatenate(lengths)[wanted])


def share_of_steps(config: RunConfig, spec: TaskSpec) -> float:
    """Returns how many steps validations take at most for each that training takes; 0 without validations.

    lifetimes · episodes · time limit / (updates between two · L · N · T)
    """
    if config.validate_every is None:
        return 0.0
    meta = config.meta
    trained = config.validate_every * meta.lifetimes * meta.outer.window * meta.agent.rollout_length
    return config.validation_lifetimes * spec.episodes_per_lifetime * spec.time_limit / trained


def score_of(extrinsic: np.ndarray, length: np.ndarray) -> Score:
    """Returns the score of lifetimes from the return and the length of each episode, both [lifetimes, episodes]."""
    means = extrinsic.astype(np.float64).mean(axis=1)  # [lifetimes]
    last = max(1, extrinsic.shape[1] // 10)
    error = means.std(ddof=1) / len(means) ** 0.5 if len(means) > 1 else 0.0
    return Score(
        episode_return=float(means.mean()),
        last_tenth=float(extrinsic[:, -last:].astype(np.float64).mean()),
        error=float(error),
        env_steps=round(float(length.astype(np.float64).sum())),
    )
