"""DQN of Stable-Baselines3 on Random ABC, newborn in every lifetime: the shipped reward against the extrinsic one.

    pip install ".[sb3]"
    python examples/sb3_dqn.py                # 30 lifetimes under each reward, draws sb3_dqn.png

The settings were tuned for the extrinsic reward (results/notes/other_learners.md) and are the same for both.
"""

from lifetimes import run
from stable_baselines3 import DQN
from torch import nn

from orexis.interop.sb3 import VecIntrinsicReward


def newborn(env: VecIntrinsicReward, seed: int) -> DQN:
    """Returns an agent that has not lived yet: one small hidden layer, an update every step."""
    return DQN(
        "MlpPolicy",
        env,
        learning_rate=0.001,
        learning_starts=16,
        train_freq=1,
        target_update_interval=5,
        batch_size=32,
        gamma=0.9,
        exploration_fraction=0.3,
        exploration_final_eps=0.05,
        policy_kwargs={"net_arch": [64], "activation_fn": nn.Tanh},
        seed=seed,
        device="cpu",
    )


if __name__ == "__main__":
    run(newborn, "DQN on Random ABC", "sb3_dqn.png")
