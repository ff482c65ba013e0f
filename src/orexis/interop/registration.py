"""Tells Gymnasium the names of the environments. Runs when `orexis` is imported and imports no JAX."""

import gymnasium

ENVIRONMENTS = {
    "Orexis/EmptyRooms-v0": "empty-rooms",
    "Orexis/RandomABC-v0": "random-abc",
    "Orexis/NonstationaryABC-v0": "nonstationary-abc",
    "Orexis/KeyBox-v0": "key-box",
}
"""Gymnasium's id of each task; `gymnasium.make("orexis:Orexis/EmptyRooms-v0")` imports Orexis by itself."""


def register_environments() -> None:
    """Registers each environment that is not registered yet."""
    for name, task in ENVIRONMENTS.items():
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point="orexis.interop.environments:OrexisEnv",
                vector_entry_point="orexis.interop.vector:OrexisVectorEnv",
                kwargs={"task": task},
            )
