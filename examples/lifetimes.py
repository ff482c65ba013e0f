"""What the Stable-Baselines3 examples share: newborn agents live lifetimes, each under both rewards, and are compared.

An agent is born at the start of a lifetime, lives its 50 episodes and dies. So what counts is the
extrinsic return of the episodes while it learns, not a policy at the end.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import gymnasium
import matplotlib.pyplot as plt
import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv

from orexis.interop.sb3 import VecIntrinsicReward
from orexis.statistics import bootstrap_interval

MAX_STEPS = 500  # 50 episodes of at most 10 steps

MakeAgent = Callable[[VecIntrinsicReward, int], BaseAlgorithm]
"""(environment, seed) -> a newborn agent of Stable-Baselines3."""


class Diary(BaseCallback):
    """Writes down the extrinsic return of each episode; stops the agent when its lifetime ends."""

    def __init__(self):
        super().__init__()
        self.returns = [0.0]
        self.over = False

    def _on_step(self) -> bool:
        info, done = self.locals["infos"][0], self.locals["dones"][0]
        self.returns[-1] += info["extrinsic_reward"]
        self.over = bool(info["lifetime_ended"])
        if done and not self.over:
            self.returns.append(0.0)
        return not self.over


def live(make_agent: MakeAgent, mode: str, reward: str, seed: int, episodes: int) -> list[float]:
    """Returns the extrinsic return of each episode of lifetime number `seed`, lived by a newborn agent."""
    make_env = lambda: gymnasium.make("orexis:Orexis/RandomABC-v0", episodes=episodes)  # noqa: E731
    env = VecIntrinsicReward(DummyVecEnv([make_env]), reward, mode=mode)
    diary = Diary()
    make_agent(env, seed).learn(MAX_STEPS, callback=diary)  # seeds the environment: a new lifetime begins
    assert diary.over
    return diary.returns


def compare(make_agent: MakeAgent, lifetimes: int, seed: int, reward: str, episodes: int = 50) -> dict[str, np.ndarray]:
    """Returns the extrinsic returns f[lifetimes, episodes] under each reward, on the same tasks with the same seeds."""
    torch.set_num_threads(1)
    returns: dict[str, list[list[float]]] = {"intrinsic": [], "extrinsic": []}
    for i in range(lifetimes):
        for mode, table in returns.items():
            table.append(live(make_agent, mode, reward, seed + i, episodes))
        means = ", ".join(f"{mode} reward {np.mean(table[-1]):.3f}" for mode, table in returns.items())
        print(f"lifetime {i + 1} of {lifetimes}: {means}", flush=True)
    return {mode: np.array(table) for mode, table in returns.items()}


def report(returns: dict[str, np.ndarray], title: str, out: Path) -> None:
    """Prints the means with 95 % bootstrap intervals and draws both curves into `out`."""
    figure, axes = plt.subplots(figsize=(6, 4))
    for mode, table in returns.items():
        low, high = bootstrap_interval(table.mean(axis=1))
        print(f"{title}, {mode} reward: {table.mean():.3f} ({low:.3f} to {high:.3f}), {len(table)} lifetimes")
        lower, upper = bootstrap_interval(table)
        episode = np.arange(1, table.shape[1] + 1)
        axes.plot(episode, table.mean(axis=0), label=f"{mode} reward")
        axes.fill_between(episode, lower, upper, alpha=0.2)
    low, high = bootstrap_interval(returns["intrinsic"].mean(axis=1) - returns["extrinsic"].mean(axis=1))
    print(f"difference, lifetime by lifetime: {low:.3f} to {high:.3f}")
    axes.set(xlabel="episode of the lifetime", ylabel="extrinsic return", title=title)
    axes.legend()
    figure.savefig(out, dpi=120)
    plt.close(figure)
    print(f"curves: {out}")


def run(make_agent: MakeAgent, title: str, out: str) -> None:
    """The command line of an example."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--lifetimes", type=int, default=30)
    parser.add_argument("--episodes", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--reward", default="random-abc")
    parser.add_argument("--out", type=Path, default=Path(out))
    options = parser.parse_args()
    returns = compare(make_agent, options.lifetimes, options.seed, options.reward, options.episodes)
    report(returns, title, options.out)
