"""The contract of what is learned over lifetimes: what eta is, and how it reaches a window.

| learned | eta is | a window of eta's loss | a lifetime begins with |
|---|---|---|---|
| a reward | the reward network | N updates of theta, paid by eta | a random theta |
| an initialisation (MAML) | theta before its first update | N updates of theta, paid by the task | theta = eta |
| a policy (RL²) | the policy with its memory | N·T steps of the policy | an empty memory |

All else is shared: the engine, the outer loss, phi, the learner's step, checkpoints and validation.
"""

from typing import TYPE_CHECKING, Protocol

import jax

from orexis.meta.learned.window import Window
from orexis.types import Alternatives, Lifetime, PyTree, Rollout, World

if TYPE_CHECKING:
    from orexis.meta.parts import Parts


class Learned(Protocol):
    """What eta is. One lifetime; callers `vmap`."""

    def init(self, parts: "Parts", key: jax.Array) -> PyTree:
        """Returns a fresh eta."""
        ...

    def tabulate(self, parts: "Parts", eta: PyTree, observations: jax.Array) -> PyTree:
        """Returns eta as windows use it where observations are row numbers of a table, f32[S, H, W, C]."""
        ...

    def begin(
        self, parts: "Parts", eta: PyTree, key: jax.Array, world: World, key_first: jax.Array
    ) -> tuple[PyTree, World, Rollout]:
        """Returns the agent of a newborn lifetime, the world after R_0 and R_0 itself. The keys are consumed."""
        ...

    def enter(self, parts: "Parts", eta: PyTree, lifetime: Lifetime) -> PyTree:
        """Returns the agent that enters the lifetime's next window, with what of eta's gradient goes through it."""
        ...

    def unroll(
        self,
        parts: "Parts",
        eta: PyTree,
        lifetime: Lifetime,
        num_updates: int,
        key: jax.Array,
        recorded: Rollout | None,
        all_actions: bool,
        alternatives: Alternatives | tuple[()],
    ) -> Window:
        """Returns the window that starts in `lifetime`, see `meta.learned.window.unroll_window`."""
        ...

    def weigh_first(self, lifetime: Lifetime) -> jax.Array | None:
        """Returns how much R_0 counts in the outer policy loss, f32[]; None: nothing, ever."""
        ...

    def probe(self, eta: PyTree, zero: jax.Array) -> PyTree:
        """Returns eta with `zero` f32[] added where every gradient to eta comes by: that of `zero` tells whether one
        lifetime's is finite."""
        ...

    def norm(self, agent: PyTree) -> jax.Array:
        """Returns the norm of what an agent has learned or remembers, f32[]: finite only if all of it is."""
        ...


def raise_head(network: PyTree, zero: jax.Array) -> PyTree:
    """Returns a network with `zero` f32[] added to its head's bias."""
    head = network["head"]
    return {**network, "head": {**head, "b": head["b"] + zero}}
