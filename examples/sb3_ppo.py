"""PPO of Stable-Baselines3 on Random ABC, newborn in every lifetime: the shipped reward against the extrinsic one.

    pip install ".[sb3]"
    python examples/sb3_ppo.py                # 30 lifetimes under each reward, draws sb3_ppo.png

The settings were tuned for the extrinsic reward (results/notes/other_learners.md) and are the same for both.
"""

from lifetimes import run
from stable_baselines3 import PPO

from orexis.interop.sb3 import VecIntrinsicReward


def newborn(env: VecIntrinsicReward, seed: int) -> PPO:
    """Returns an agent that has not lived yet: one small hidden layer, an update every 32 steps."""
    return PPO(
        "MlpPolicy",
        env,
        learning_rate=0.01,
        n_steps=32,
        batch_size=32,
        n_epochs=10,
        gamma=0.9,
        ent_coef=0.01,
        policy_kwargs={"net_arch": [64]},
        seed=seed,
        device="cpu",
    )


if __name__ == "__main__":
    run(newborn, "PPO on Random ABC", "sb3_ppo.png")
