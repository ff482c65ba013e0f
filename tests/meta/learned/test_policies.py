"""Policies as what is learned: their meta-gradients equal finite differences and are not zero, whatever the devices.

On a recorded window nothing that is sampled moves with eta. theta as it entered a window is a constant of the loss, and
the gradient to MAML's eta that of moving it: so finite differences move both.
"""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.agents.rl2 import Rl2State, see_steps
from orexis.config import MamlConfig, MetaConfig
from orexis.meta.engine import Engine, make_mesh
from orexis.meta.lifetime import begin_lifetime
from orexis.meta.outer import outer_loss
from orexis.meta.parts import Parts, make_parts
from orexis.types import Last, Lifetime, PyTree
from tests.instances import (
    AGENTS,
    HISTORY_NET,
    LENGTH,
    OUTER,
    act_through_window,
    difference,
    jitter,
    norm,
    small_task,
    widen,
)
from tests.meta.test_meta_gradient import assert_slopes

N = 2
PLAIN = MamlConfig()
ENTROPY_COST = 0.1
CASES = {
    "rl2": ("rl2", "sgd", "dense", False, 1),
    "rl2, newborn": ("rl2", "sgd", "dense", False, 0),
    "rl2, privileged": ("rl2", "sgd", "fast", True, 1),
    "maml, newborn": ("maml", "sgd-clipped", "fast", True, 0),
    "maml, later": ("maml", "sgd-clipped", "fast", True, 1),
    "maml, dense": ("maml", "sgd", "dense", False, 0),
    "maml, adam": ("maml", "adam-differentiated", "dense", False, 0),
}
"""What is learned, by which agents and engine, with a privileged value or not, and how many windows old they are."""


@functools.cache
def make(learn: str, agent: str, engine: str, privileged: bool, maml: MamlConfig = PLAIN) -> Parts:
    outer = dataclasses.replace(OUTER, window=N, privileged_value=privileged)
    config = MetaConfig(AGENTS[agent], HISTORY_NET, outer, learn=learn, maml=maml)
    return make_parts(small_task(), config, engine)


@dataclasses.dataclass(frozen=True)
class Recorded:
    """A window as it was lived, and what it is judged by."""

    parts: Parts
    eta: PyTree
    phi: PyTree
    lifetime: Lifetime
    rollouts: PyTree

    def loss(self, eta: PyTree, lifetime: Lifetime | None = None, parts: Parts | None = None) -> jax.Array:
        parts, lifetime = parts or self.parts, self.lifetime if lifetime is None else lifetime
        outer = dataclasses.replace(OUTER, window=N)
        networks = parts.precompute(eta, self.phi)
        return outer_loss(parts, outer, *networks, lifetime, ENTROPY_COST, jax.random.key(0), self.rollouts)[0]

    def moved(self, eta: PyTree) -> jax.Array:
        """Returns the loss where theta entered the window as much elsewhere as `eta` is."""
        if self.parts.window_agent is None:
            return self.loss(eta)
        agent = self.lifetime.agent
        theta = jax.tree.map(lambda entered, new, old: entered + (new - old), agent.theta, eta, self.eta)
        lifetime = dataclasses.replace(self.lifetime, agent=dataclasses.replace(agent, theta=theta))
        return self.loss(eta, lifetime)


def record(case: str) -> Recorded:
    learn, agent, engine, privileged, age = CASES[case]
    parts = make(learn, agent, engine, privileged)
    outer = dataclasses.replace(OUTER, window=N)

    @jax.jit
    def live(key: jax.Array):
        keys = jax.random.split(key, 6)
        eta = jitter(parts.learned.init(parts, keys[0]), keys[1])
        phi = jitter(parts.value.init(keys[2]), keys[3])
        networks = parts.precompute(eta, phi)
        zero = jnp.zeros((), jnp.int32)
        lifetime = begin_lifetime(parts, eta, 0, zero, zero, zero)
        for i in range(age):
            _, (lifetime, _) = outer_loss(parts, outer, *networks, lifetime, 0.0, jax.random.fold_in(keys[4], i))
        if parts.window_agent is None:
            window = parts.learned.unroll(parts, networks[0], lifetime, N, keys[5], None, False, ())
            rollouts = jax.tree.map(lambda rows, last: jnp.concatenate([rows, last]), window.rollouts, window.last)
        else:
            rollouts, _ = act_through_window(parts, eta, lifetime, jax.random.split(keys[5], N), all_actions=False)
        return eta, phi, lifetime, rollouts

    with jax.enable_x64(False):
        made = jax.tree.map(np.asarray, live(jax.random.key(1)))
    return Recorded(parts, *widen(made))


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("case", CASES)
def test_the_meta_gradient_of_a_policy_equals_finite_differences_and_is_not_zero(case: str):
    recorded = record(case)
    gradient = jax.jit(jax.grad(recorded.loss))(recorded.eta)
    kind = "initialisation" if CASES[case][0] == "maml" else "planes"
    assert_slopes(jax.jit(recorded.moved), recorded.eta, gradient, kind)


@pytest.mark.usefixtures("float64")
def test_what_maml_may_leave_out_changes_the_gradient_and_not_the_loss():
    for case, maml, left in (
        ("maml, dense", MamlConfig(first_order=True), 0.999),
        ("maml, later", MamlConfig(later_windows=False), 0.0),
    ):
        recorded = record(case)
        other = make(*CASES[case][:4], maml)
        (loss, gradient), (same, less) = (
            jax.jit(jax.value_and_grad(functools.partial(recorded.loss, parts=parts)))(recorded.eta)
            for parts in (recorded.parts, other)
        )
        np.testing.assert_allclose(same, loss, rtol=1e-12)
        assert norm(difference(gradient, less)) > 1e-3 * norm(gradient)
        assert (norm(less) > 0.0) == (left > 0.0)
    newborn = record("maml, newborn")
    birth = make(*CASES["maml, newborn"][:4], MamlConfig(later_windows=False))
    whole, same = (
        jax.jit(jax.grad(functools.partial(newborn.loss, parts=p)))(newborn.eta) for p in (newborn.parts, birth)
    )
    assert norm(difference(whole, same)) < 1e-12 * norm(whole)  # the first window always teaches


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(("case", "counts"), [("maml, newborn", True), ("maml, later", False)])
def test_the_rollout_that_eta_itself_acted_in_counts_in_the_policy_loss(case: str, counts: bool):
    recorded = record(case)
    unseen = dataclasses.replace(recorded.rollouts, in_lifetime=jnp.zeros_like(recorded.rollouts.in_lifetime))
    alone = dataclasses.replace(recorded, rollouts=unseen)  # R_0 is all that is left of the window
    assert (norm(jax.jit(jax.grad(alone.loss))(recorded.eta)) > 1e-3) == counts


@pytest.mark.usefixtures("float64")
def test_acting_step_by_step_is_one_unroll_and_no_episodes_end_resets_the_memory():
    recorded = record("rl2")
    parts, rollouts = recorded.parts, recorded.rollouts
    assert float(jnp.min(rollouts.episode_goes_on)) == 0.0  # an episode ends inside
    logits, memory = parts.agent.unroll(
        recorded.eta, recorded.lifetime.agent, see_steps(rollouts, recorded.lifetime.world.last)
    )
    window = parts.learned.unroll(parts, recorded.eta, recorded.lifetime, N, jax.random.key(0), rollouts, False, ())
    np.testing.assert_allclose(window.logits, logits)
    assert norm(difference(window.agent, memory)) == 0.0
    assert window.last.action.shape == (0,)

    state, last = Rl2State(recorded.eta, recorded.lifetime.agent), recorded.lifetime.world.last
    for t in range(N * LENGTH):
        _, _, row, state = parts.agent.act(state, rollouts.observation[t], last, jax.random.key(t))
        np.testing.assert_allclose(row, logits[t], rtol=1e-9, atol=1e-12)
        last = Last(rollouts.action[t], rollouts.reward[t], 1.0 - rollouts.episode_goes_on[t])
    assert norm(difference(state.memory, memory)) < 1e-9 * norm(memory)


@pytest.mark.parametrize("learn", ["rl2", "maml"])
def test_devices_and_chunks_do_not_change_the_gradients_of_policies(learn: str):
    config = MetaConfig(AGENTS["sgd"], HISTORY_NET, dataclasses.replace(OUTER, window=N), lifetimes=4, learn=learn)
    states = []
    for num_devices, chunk in ((1, 4), (2, 1)):
        engine = Engine(small_task(4), config, 5, make_mesh(jax.devices()[:num_devices]), chunk)
        states.append(jax.tree.map(np.asarray, engine.compile_update()(engine.init())[0]))
    (one, two) = ((s.learner.eta_optimizer.mu, s.learner.phi_optimizer.mu) for s in states)
    for first, second in zip(one, two, strict=True):
        assert norm(difference(first, second)) <= 1e-6 * norm(first)
        assert norm(first) > 0.0


def test_a_fresh_memory_lasts_beyond_an_episode_and_hears_rewards():
    parts = make("rl2", "sgd", "dense", False)
    agent = parts.agent
    params = agent.init_params(jax.random.key(0))
    observation = jnp.zeros(agent.spec.observation_shape)

    def after_ten_steps(reward: float) -> jax.Array:
        state = agent.init(jax.random.key(0), params)
        for t in range(11):
            last = Last(jnp.zeros((), jnp.int32), jnp.float32(reward if t == 0 else 0.0), jnp.zeros(()))
            _, _, _, state = agent.act(state, observation, last, jax.random.key(t))
        return state.memory.cell

    moved = norm(difference(after_ten_steps(1.0), after_ten_steps(0.0)))
    assert moved > 0.05 * norm(after_ten_steps(0.0))
