"""The meta-training engine: L lifetimes, cut into chunks, spread over devices.

    lifetimes [L] ──shard──► devices [D] ──loop──► chunks of `chunk` lifetimes ──vmap──► one lifetime

Two facts of small machines shape it. Ops on a few lifetimes are too small for threads to
help, so each core is a device of its own with single-threaded ops. And a chunk of two to sixteen
lifetimes keeps its weights in cache, so a shard is a loop over chunks, not one wide batch.
Gradients are added in a fixed order, so a run can be repeated to the bit; on another number of devices
too, if it is `deterministic` (see `count_shares`). Lifetimes that are not finite are left out, see `accumulate`.
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any, Literal, cast

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from orexis.config import MetaConfig
from orexis.meta.accumulate import Accumulated, ChunkResult, accumulate_chunks, add_in_order, all_finite, gather
from orexis.meta.balance import entropy_cost, scales_of, step_balance
from orexis.meta.chunks import AT_ONCE, SHORT, count_shares, default_chunk, largest_divisor
from orexis.meta.learned.base import raise_head
from orexis.meta.learner import Learner, Packing, begin_learner, pack, step_learner, unpacker
from orexis.meta.lifetime import begin_lifetime, window_key
from orexis.meta.outer import outer_loss
from orexis.meta.parts import Parts, make_parts
from orexis.meta.state import TrainState, UpdateMetrics
from orexis.optimizers import scheduled
from orexis.tasks.base import Task
from orexis.types import Lifetime, PyTree

AXIS = "lifetimes"


_PARTITION: PyTree = TrainState(learner=cast(Any, PartitionSpec()), lifetimes=cast(Any, PartitionSpec(AXIS)))
"""Which axis of each part is cut: none of the learner's, the first of the lifetimes'."""


def make_mesh(devices: list[jax.Device] | None = None) -> Mesh:
    """Returns the one-dimensional mesh of `devices`, by default all there are."""
    return Mesh(np.array(jax.devices() if devices is None else devices), (AXIS,))


@dataclasses.dataclass(frozen=True)
class Engine:
    """Meta-trains eta and phi on one task distribution. Its functions are pure; `update` is compiled."""

    task: Task
    config: MetaConfig
    seed: int
    mesh: Mesh
    chunk: int | None = None  # lifetimes at most; None: by `default_chunk`
    engine: Literal["fast", "dense"] = "fast"
    deterministic: bool = False  # the same bits on one device and on several, see `count_shares`

    def __post_init__(self) -> None:
        num_lifetimes, num_devices = self.config.lifetimes, self.mesh.size
        if count_shares(num_lifetimes, self.deterministic) % num_devices:
            how = " of a deterministic run" if self.deterministic else ""
            raise ValueError(f"{num_lifetimes} lifetimes{how} cannot be shared equally by {num_devices} devices")
        chunk = self.chunk or default_chunk(num_lifetimes, self.num_blocks, self._agent_bytes)
        object.__setattr__(self, "chunk", largest_divisor(num_lifetimes // self.num_blocks, chunk))

    @property
    def num_blocks(self) -> int:
        """Into how many blocks the lifetimes are cut, over all devices."""
        return count_shares(self.config.lifetimes, True) if self.deterministic else self.mesh.size

    @property
    def at_once(self) -> int:
        """Updates that a call of `compile_updates` should make, where so many are left to be made."""
        steps = self.config.outer.window * self.config.agent.rollout_length
        return AT_ONCE if self.config.lifetimes // self.mesh.size * self._agent_bytes * steps <= SHORT else 1

    @functools.cached_property
    def _agent_bytes(self) -> int:
        agent = jax.eval_shape(self._begin_first).agent
        return sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(agent))

    def _begin_first(self) -> Lifetime:
        zero = jnp.zeros((), jnp.int32)
        return self._begin(self.parts.learned.init(self.parts, jax.random.key(0)), zero, zero, zero)

    @functools.cached_property
    def parts(self) -> Parts:
        """What a window is made of."""
        return make_parts(self.task, self.config, self.engine)

    def init(self) -> TrainState:
        """Returns the state before the first update; the first generation is staggered over the lifetime."""
        sharded = jax.shard_map(
            self._init_shard,
            mesh=self.mesh,
            in_specs=(PartitionSpec(AXIS),),
            out_specs=_PARTITION,
            check_vma=False,
        )
        return jax.jit(sharded)(np.arange(self.config.lifetimes, dtype=np.int32))

    @property
    def shardings(self) -> PyTree:
        """Where each part of the state lives: a tree prefix of `TrainState`."""
        return jax.tree.map(lambda spec: NamedSharding(self.mesh, spec), _PARTITION)

    def compile_update(self):
        """Returns the compiled `(state) -> (state, metrics)`; the given state's buffers are reused."""

        def update_shard(state: TrainState) -> tuple[TrainState, UpdateMetrics]:
            following, metrics = self._updates_shard(state, 1)
            return following, jax.tree.map(lambda row: row[0], metrics)

        return self._compile(update_shard)

    def compile_updates(self):
        """Returns the compiled `(state, number i32[]) -> (state, metrics)`: so many updates one after the other, at
        most `AT_ONCE`. Metrics have a leading `AT_ONCE`, zeros where no update was; the state's buffers are reused."""
        return self._compile(self._updates_shard, PartitionSpec())

    def _compile(self, update_shard, *more: PartitionSpec):
        """Returns the compiled update of all shards; `more` is how its further arguments are cut."""
        sharded = jax.shard_map(
            update_shard,
            mesh=self.mesh,
            in_specs=(_PARTITION, *more),
            out_specs=(_PARTITION, PartitionSpec()),
            # With check_vma the gradient of a replicated eta would be summed over devices before
            # our own gathering sees it: too large by their number, and Adam would hide it.
            check_vma=False,
        )
        return jax.jit(sharded, donate_argnums=0)

    def gradients(self, learner: Learner, lifetimes: Lifetime):
        """Returns (gradients of eta and phi summed over `lifetimes`, lifetimes after the window, metrics)."""
        precomputed, pull_back = jax.vjp(self.parts.precompute, learner.eta, learner.phi)
        result = self._accumulate(learner, precomputed, lifetimes)
        grads, metrics = add_in_order((result.gradients, result.metrics))
        return pull_back(unpacker(precomputed)(grads)), _unchunk(result.following), metrics

    def _accumulate(self, learner: Learner, precomputed: tuple[PyTree, PyTree], lifetimes: Lifetime) -> Accumulated:
        """Returns what the window makes of `lifetimes`, chunk by chunk, with the gradients of `precomputed` networks.

        One chunk's forward and backward pass at a time stays in cache.
        """
        outer, balance = self.config.outer, learner.balance
        cost, scales = entropy_cost(outer, balance, learner.update), scales_of(outer, balance)

        def chunk_loss(networks: tuple[PyTree, PyTree], probes: jax.Array, chunk: Lifetime, counts: jax.Array):
            def lifetime_loss(lifetime: Lifetime, probe: jax.Array):
                eta, phi = self.parts.learned.probe(networks[0], probe[0]), raise_head(networks[1], probe[1])
                key = window_key(self.seed, lifetime)
                return outer_loss(self.parts, outer, eta, phi, lifetime, cost, key, scales=scales)

            losses, (following, metrics) = jax.vmap(lifetime_loss)(chunk, probes)
            return jnp.sum(losses * counts), (following, metrics, losses)

        def run_chunk(chunk: Lifetime, counts: jax.Array) -> ChunkResult:
            # Each lifetime has zeros of its own added where every gradient that it sends to eta or phi comes by (of
            # most networks, the bias of the head), so the gradients of these zeros tell whose is not finite.
            probes = jnp.zeros((*counts.shape, 2))
            (grads, shares), (following, metrics, losses) = jax.grad(chunk_loss, argnums=(0, 1), has_aux=True)(
                precomputed, probes, chunk, counts
            )
            norm = jax.vmap(self.parts.learned.norm)(following.agent)
            carried = (following.rollout.value, following.reward_state, following.value_state)
            is_finite = jax.vmap(all_finite)((losses, shares, norm, carried))
            return ChunkResult(
                gradients=pack(grads), following=following, metrics=metrics, norm=norm, is_finite=is_finite
            )

        size = self.chunk
        assert size is not None
        chunks = jax.tree.map(lambda x: x.reshape(len(x) // size, size, *x.shape[1:]), lifetimes)
        return accumulate_chunks(
            run_chunk,
            chunks,
            jax.eval_shape(pack, precomputed),
            math.gcd(self.num_blocks // self.mesh.size, chunks.slot.shape[0]),
        )

    def _init_shard(self, slots: jax.Array) -> TrainState:
        """Returns the learner and the lifetimes of `slots`, begun one by one: the same bits on any devices."""
        num = self.config.lifetimes
        key_eta, key_phi = jax.random.split(jax.random.fold_in(jax.random.key(self.seed), num + 1))
        eta, phi = self.parts.learned.init(self.parts, key_eta), self.parts.value.init(key_phi)

        def begin(slot: jax.Array) -> Lifetime:
            episode = slot * self.task.spec.episodes_per_lifetime // num
            return self._begin(eta, slot, jnp.zeros((), jnp.int32), episode)

        return TrainState(learner=begin_learner(eta, phi), lifetimes=jax.lax.map(begin, slots))

    def _begin(self, eta: PyTree, slot: jax.Array, generation: jax.Array, episode: jax.Array) -> Lifetime:
        return begin_lifetime(self.parts, eta, self.seed, slot, generation, episode)

    def _replace_finished(self, eta: PyTree, lifetimes: Lifetime) -> Lifetime:
        """Returns `lifetimes` with every finished one replaced by a newborn.

        A loop over the finished alone: most windows end few lifetimes, and drawing a whole
        theta for each slot just to throw it away would cost as much as acting.
        """
        finished = lifetimes.world.alive == 0.0
        order = jnp.argsort(~finished)  # the finished first

        def replace_one(i: jax.Array, lifetimes: Lifetime) -> Lifetime:
            place = order[i]
            newborn = self._begin(eta, lifetimes.slot[place], lifetimes.generation[place] + 1, jnp.zeros((), jnp.int32))
            return jax.tree.map(lambda batch, one: batch.at[place].set(one), lifetimes, newborn)

        return jax.lax.fori_loop(0, jnp.sum(finished), replace_one, lifetimes)

    def _updates_shard(self, state: TrainState, number: jax.Array | int) -> tuple[TrainState, UpdateMetrics]:
        """Returns the state after `number` updates, and their metrics, see `compile_updates`."""
        packing = Packing.of(state.learner)
        packed = _with_learner(state, packing.pack)
        healthy = all_finite(packed.learner)

        def update_one(i: jax.Array, carry: tuple[TrainState, UpdateMetrics]) -> tuple[TrainState, UpdateMetrics]:
            def write(rows: jax.Array, row: jax.Array) -> jax.Array:
                return jax.lax.dynamic_update_index_in_dim(rows, row.astype(rows.dtype), i, 0)

            following, metrics = self._update_shard(packing, healthy, carry[0])
            return following, jax.tree.map(write, carry[1], metrics)

        start = (packed, UpdateMetrics.zeros(AT_ONCE))
        following, metrics = jax.lax.fori_loop(0, number, update_one, start)
        return _with_learner(following, packing.unpack), metrics

    def _update_shard(
        self, packing: Packing, healthy: jax.Array, state: TrainState
    ) -> tuple[TrainState, UpdateMetrics]:
        """Returns the state after one update, its learner packed as it was given, and its metrics.

        A meta-gradient that is not finite changes no bit of the learner, and lifetimes that are not are left out of it
        and started again. `healthy`: whether the learner was finite when the first update of this call began; then it
        still is, see `step_learner`, and if not, no step is taken.
        """
        learner = state.learner
        precomputed, pull_back = jax.vjp(self.parts.precompute, packing.eta(learner.eta), packing.phi(learner.phi))
        result = self._accumulate(learner, precomputed, state.lifetimes)
        lifetimes = _unchunk(result.following)
        looked_at = (
            result.is_finite.reshape(-1),
            result.norm.reshape(-1),
            jnp.max(jnp.abs(lifetimes.rollout.value), axis=1),
            lifetimes.world.alive,
            lifetimes.episodes,
            lifetimes.extrinsic,
        )
        blocks, (is_finite, norms, values, alive, episodes, extrinsic) = gather(
            ((result.gradients, result.metrics), looked_at), AXIS
        )
        # Blocks are added in their order, whichever device they were on.
        grads, window = add_in_order(blocks)
        eta_grad, phi_grad = (pack(network) for network in pull_back(unpacker(precomputed)(grads / jnp.sum(is_finite))))
        eta_norm, phi_norm = optax.tree.norm(eta_grad), optax.tree.norm(phi_grad)
        finite = healthy & jnp.isfinite(eta_norm) & jnp.isfinite(phi_norm)
        outer, num_actions = self.config.outer, self.task.spec.num_actions
        balance = step_balance(outer, learner.balance, window, learner.update, num_actions)
        finite &= all_finite(balance)
        stepped = jax.lax.cond(
            finite, lambda: step_learner(outer, learner, eta_grad, phi_grad, balance), lambda: learner
        )

        finished = (alive == 0.0) & is_finite
        complete = finished & (episodes >= self.task.spec.episodes_per_lifetime)
        metrics = UpdateMetrics(
            window=window,
            finished=jnp.sum(finished, dtype=jnp.float32),
            complete=jnp.sum(complete, dtype=jnp.float32),
            complete_extrinsic=jnp.sum(jnp.where(complete, extrinsic, 0.0)),
            eta_gradient_norm=eta_norm,
            phi_gradient_norm=phi_norm,
            theta_norm_mean=jnp.nanmean(norms),
            theta_norm_p99=jnp.nanpercentile(norms, 99),
            recorded_value_max=jnp.max(jnp.where(is_finite, values, 0.0)),
            skipped=jnp.where(finite, 0.0, 1.0),
            dropped=jnp.sum(~is_finite, dtype=jnp.float32),
            entropy_cost=entropy_cost(outer, learner.balance, learner.update),
            reward_learning_rate=scheduled(outer.reward_learning_rate, learner.update),
        )
        return TrainState(
            learner=stepped, lifetimes=self._replace_finished(packing.eta(stepped.eta), lifetimes)
        ), metrics


def _with_learner(state: TrainState, change: Callable[[Learner], Learner]) -> TrainState:
    """Returns `state` with its learner changed."""
    return dataclasses.replace(state, learner=change(state.learner))


def _unchunk(lifetimes: Lifetime) -> Lifetime:
    return jax.tree.map(lambda x: x.reshape(len(x) * x.shape[1], *x.shape[2:]), lifetimes)
