"""What only the lifetime value sees: facts of a lifetime that its agent and its reward do not know.

A baseline may depend on anything but the action, and a better one makes the meta-gradient less noisy (an asymmetric
critic). So V_phi may see the task's hidden parameters and how much of the lifetime is left. Nothing of it reaches
eta, theta or the artefact: phi is thrown away after training.

    facts of s_t = [task's hints, or its params by number of standard deviations, left, left², H(pi(· | s_t))]    f32[K]
    left = 1 − (episode + steps / time limit) / episodes of a lifetime
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from orexis.losses import entropy
from orexis.tasks.base import Task, begin_world
from orexis.types import PyTree, World

NUM_DRAWN = 256  # tasks, for the mean and the spread of their params


@dataclasses.dataclass(frozen=True, eq=False)
class Privilege:
    """Knows which facts of a world phi is told."""

    task: Task
    mean: np.ndarray  # f32[P]  of the flattened params over drawn tasks
    scale: np.ndarray  # f32[P]  one over their standard deviation; 0 for params that never change

    @classmethod
    def of(cls, task: Task) -> "Privilege":
        """Returns the privilege on `task`. Draws some of its params, once, outside whatever is being traced."""
        with jax.ensure_compile_time_eval():
            drawn = np.asarray(jax.vmap(lambda key: _flatten(task.sample(key)))(_keys()))
        drawn = drawn[np.isfinite(drawn).all(axis=1)] if len(drawn) else drawn
        spread = drawn.std(axis=0)
        with np.errstate(divide="ignore"):
            scale = np.where(spread > 1e-6 * (1.0 + np.abs(drawn.mean(axis=0))), 1.0 / spread, 0.0)
        return cls(task, drawn.mean(axis=0).astype(np.float32), scale.astype(np.float32))

    @property
    def size(self) -> int:
        """K, how many facts there are."""
        world = jax.eval_shape(lambda: begin_world(self.task, jax.random.key(0), jnp.zeros((), jnp.int32)))
        return jax.eval_shape(self.see, world, jax.ShapeDtypeStruct((self.task.spec.num_actions,), jnp.float32)).shape[
            0
        ]

    def see(self, world: World, logits: jax.Array) -> jax.Array:
        """Returns the facts of the state that `world` is in, f32[K], for an agent whose logits there are f32[A].

        The entropy is that of the agent as it acted: a constant for the meta-gradient, like all that is recorded.
        """
        spec = self.task.spec
        if hasattr(self.task, "hints"):
            known = self.task.hints(world.params, world.state)
        else:
            known = (_flatten(world.params) - self.mean) * self.scale
        lived = world.episode + world.steps / spec.time_limit
        left = jnp.maximum(0.0, 1.0 - lived / spec.episodes_per_lifetime)
        always = jnp.stack([left, left * left, entropy(logits)])
        return jnp.concatenate([known.astype(jnp.float32), always.astype(jnp.float32)])


def _keys() -> jax.Array:
    return jax.random.split(jax.random.key(0), NUM_DRAWN)


def _flatten(params: PyTree) -> jax.Array:
    """Returns all numbers of a task's params as one vector f32[P]."""
    leaves = [jnp.ravel(leaf).astype(jnp.float32) for leaf in jax.tree.leaves(params)]
    return jnp.concatenate([*leaves, jnp.zeros(0)])
