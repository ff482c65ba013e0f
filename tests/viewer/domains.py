"""Short lifetimes of the four domains under small random rewards, lived once for all tests that look at them."""

import dataclasses
import functools
import tempfile
from pathlib import Path

import jax
import numpy as np

from orexis.config import AgentConfig, HistoryNetConfig
from orexis.evaluation.sources import Setting, Source, make_source
from orexis.interop.numpy_reward import NumpyReward
from orexis.storage.artefact import read_artefact
from orexis.tasks.abc import NonstationaryABC, RandomABC
from orexis.tasks.base import Task
from orexis.tasks.empty_rooms import EmptyRooms
from orexis.tasks.key_box import KeyBox
from orexis.viewer.lifetimes import Told, lifetimes_data
from orexis.viewer.replay import LivedLife, live
from tests.instances import POLICY_NET
from tests.storage.rewards import NETWORK, write_reward

SEED, NUMBER = 3, 5
AGENT = AgentConfig(net=POLICY_NET, rollout_length=4, learning_rate=0.3, value_cost=0.2)
EGOCENTRIC = dataclasses.replace(NETWORK, view="egocentric", sees_action=False)


@dataclasses.dataclass(frozen=True)
class Domain:
    """A task with few episodes, and how its reward sees it."""

    task: Task
    network: HistoryNetConfig = NETWORK


DOMAINS = {
    "random-abc": Domain(RandomABC(episodes=5)),
    "nonstationary-abc": Domain(NonstationaryABC(episodes=6, swap_every=2)),
    "empty-rooms": Domain(EmptyRooms(episodes=3, time_limit=25)),
    "key-box": Domain(KeyBox(episodes=3, time_limit=70), EGOCENTRIC),
}
LEARNED = Told("my/reward", "learned reward", "#0072B2", is_extrinsic=False)
EXTRINSIC = Told("extrinsic-ep", "extrinsic (episode)", "#E69F00", is_extrinsic=True)


@functools.cache
def learned_source(name: str) -> Source:
    """Returns the learned reward of a domain with its agent."""
    return _setting(name)[1]


@functools.cache
def learned_life(name: str) -> LivedLife:
    """Returns lifetime NUMBER of SEED under the domain's learned reward."""
    return live(DOMAINS[name].task, learned_source(name), SEED, NUMBER)


@functools.cache
def extrinsic_life(name: str) -> LivedLife:
    """Returns the same lifetime under the extrinsic reward."""
    setting, _ = _setting(name)
    return live(DOMAINS[name].task, make_source("extrinsic-ep", setting), SEED, NUMBER)


@functools.cache
def record(name: str) -> dict:
    """Returns what the page is told of both."""
    lives = {LEARNED: learned_life(name), EXTRINSIC: extrinsic_life(name)}
    return lifetimes_data(DOMAINS[name].task, name, SEED, NUMBER, lives)


@functools.cache
def _setting(name: str) -> tuple[Setting, Source]:
    domain = DOMAINS[name]
    with tempfile.TemporaryDirectory() as folder:
        place = write_reward(Path(folder) / "reward", network=domain.network, task=name, spec=domain.task.spec)
        setting = Setting(name, domain.task, AGENT, artefacts={LEARNED.name: read_artefact(place)})
        return setting, make_source(LEARNED.name, setting)


@functools.cache
def asked(name: str) -> np.ndarray:
    """Returns f[S, A], what the NumPy runtime pays for each action at each step of the learned lifetime.

    Plainly: the life is walked once more with the task's own functions, and the reward is asked in copies.
    """
    task, life = DOMAINS[name].task, learned_life(name)
    artefact = learned_source(name).artefact
    assert artefact is not None
    reward, num_actions = NumpyReward(artefact), task.spec.num_actions
    actions = np.arange(num_actions)
    step = jax.jit(jax.vmap(lambda state, action: task.step(jax.random.key(0), life.params, state, action), (None, 0)))
    observe = jax.jit(lambda state: task.observe(life.params, state))
    observe_all = jax.jit(jax.vmap(lambda state: task.observe(life.params, state)))
    reward.begin(1)
    paid, within = [], 0
    for row, (episode, action) in enumerate(zip(life.trace.episode, life.trace.action, strict=True)):
        begins = row == 0 or episode != life.trace.episode[row - 1]
        within = 1 if begins else within + 1
        state = state_at(life.starts, int(episode)) if begins else state_at(life.arrivals, row - 1)
        following, extrinsic, terminated = jax.device_get(step(state, actions))
        done = terminated | (within >= task.spec.time_limit)
        before, after = np.asarray(observe(state)), np.asarray(observe_all(following))
        imagined = reward.repeated(num_actions)
        seen = np.tile(before[None], (num_actions, 1, 1, 1))
        paid.append(imagined.step(after, actions, extrinsic, done, observation=seen))
        a = int(action)
        reward.step(after[[a]], actions[[a]], extrinsic[[a]], done[[a]], observation=before[None])
    return np.array(paid)


def state_at(states, number: int):
    """Returns one of some states."""
    return jax.tree.map(lambda column: column[number], states)
