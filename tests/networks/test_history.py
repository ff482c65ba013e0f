import dataclasses

import jax
import numpy as np
import pytest

from orexis.config import HistoryNetConfig, TaskSpec
from orexis.networks import clock, egocentric, history
from orexis.networks.history import NotedState
from orexis.networks.layers import LstmState
from orexis.tasks.key_box import KeyBox
from tests.instances import HISTORY_NET, random_rollout, small_task

SPEC = small_task().spec
ROLLOUT = random_rollout(0, 6, SPEC)
STATE = LstmState(hidden=np.full(4, 0.3, np.float32), cell=np.full(4, -0.2, np.float32))
NETS = {
    "lstm": HISTORY_NET,
    "none": dataclasses.replace(HISTORY_NET, history="none"),
    "lstm, no action": dataclasses.replace(HISTORY_NET, sees_action=False),
    "lstm, clock": dataclasses.replace(HISTORY_NET, sees_clock=True),
    "none, clock": dataclasses.replace(HISTORY_NET, sees_clock=True, history="none"),
}
STATES = {name: NotedState(STATE, np.int32(7)) if "clock" in name else STATE for name in NETS}
CLOCK = slice(HISTORY_NET.num_hidden + 2, HISTORY_NET.num_hidden + 2 + clock.NUM_FEATURES)
"""Where the clock is among the core's inputs: after reward and done, before the action."""


@pytest.fixture(scope="module")
def unrolls():
    """For each kind of net: the compiled unroll of a rollout with fixed parameters."""

    def compiled(config):
        params = jax.jit(lambda key: history.init(key, SPEC, config))(jax.random.key(0))
        return jax.jit(lambda state, rollout: history.unroll(params, state, rollout, SPEC, config))

    return {name: compiled(config) for name, config in NETS.items()}


def changed(**fields):
    return dataclasses.replace(ROLLOUT, **fields)


def with_row(array: np.ndarray, row: int, value) -> np.ndarray:
    array = array.copy()
    array[row] = value
    return array


@pytest.mark.parametrize("name", ["lstm", "lstm, clock", "none, clock"])
def test_a_history_in_chunks_equals_the_whole_and_the_state_is_never_reset_at_an_episodes_end(unrolls, name: str):
    ends_everywhere = changed(episode_goes_on=np.zeros(6, np.float32))
    whole, whole_state = unrolls[name](STATES[name], ends_everywhere)

    state, parts = STATES[name], []
    for start in (0, 2, 4):
        chunk = jax.tree.map(lambda x, start=start: x[start : start + 2], ends_everywhere)
        part, state = unrolls[name](state, chunk)
        parts.append(part)

    np.testing.assert_allclose(np.concatenate(parts), whole, rtol=1e-5, atol=1e-6)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6), state, whole_state)


def test_what_happened_before_an_episodes_end_is_remembered_after_it(unrolls):
    ends_at_row_2 = with_row(np.ones(6, np.float32), 2, 0.0)
    before = changed(episode_goes_on=ends_at_row_2)
    after = changed(episode_goes_on=ends_at_row_2, reward=with_row(ROLLOUT.reward, 0, 9.0))

    first, second = (np.asarray(unrolls["lstm"](STATE, rollout)[0]) for rollout in (before, after))

    assert (np.abs(first - second).max(axis=1) > 1e-6).all()  # row 0 itself, the end, and every row after the end


def test_the_future_does_not_change_the_past(unrolls):
    late = changed(reward=with_row(ROLLOUT.reward, 4, 9.0))
    first, second = (np.asarray(unrolls["lstm"](STATE, rollout)[0]) for rollout in (ROLLOUT, late))
    np.testing.assert_array_equal(first[:4], second[:4])
    assert (first[4] != second[4]).any()


@pytest.mark.parametrize(
    ("field", "value"), [("next_observation", 1.0), ("reward", 5.0), ("episode_goes_on", 0.5), ("action", 3)], ids=str
)
@pytest.mark.parametrize("name", ["lstm", "none"])
def test_a_step_is_judged_by_its_arrival_reward_end_and_action(unrolls, name: str, field: str, value):
    array = getattr(ROLLOUT, field)
    assert np.any(array[2] != value)
    hidden, _ = unrolls[name](STATE, changed(**{field: with_row(array, 2, value)}))
    assert np.any(np.asarray(hidden)[2] != np.asarray(unrolls[name](STATE, ROLLOUT)[0])[2])


def test_the_observation_before_the_step_and_the_recorded_value_are_not_seen(unrolls):
    other = changed(observation=ROLLOUT.observation + 1.0, value=ROLLOUT.value + 1.0)
    np.testing.assert_array_equal(unrolls["lstm"](STATE, other)[0], unrolls["lstm"](STATE, ROLLOUT)[0])


def test_without_history_the_past_is_ignored_and_the_state_handed_through_untouched(unrolls):
    past = changed(reward=with_row(ROLLOUT.reward, 0, 9.0))
    hidden, state = unrolls["none"](STATE, ROLLOUT)
    np.testing.assert_array_equal(np.asarray(unrolls["none"](STATE, past)[0])[1:], np.asarray(hidden)[1:])
    jax.tree.map(np.testing.assert_array_equal, state, STATE)
    zero = jax.tree.map(np.zeros_like, STATE)
    np.testing.assert_array_equal(unrolls["none"](zero, ROLLOUT)[0], hidden)


def test_a_net_that_does_not_see_actions_ignores_them_and_the_usual_one_does_not(unrolls):
    other = changed(action=(ROLLOUT.action + 1) % SPEC.num_actions)
    blind = unrolls["lstm, no action"]
    np.testing.assert_array_equal(blind(STATE, other)[0], blind(STATE, ROLLOUT)[0])
    assert np.any(np.asarray(unrolls["lstm"](STATE, other)[0]) != np.asarray(unrolls["lstm"](STATE, ROLLOUT)[0]))


def test_a_blind_net_has_no_weights_for_actions():
    inputs = {
        name: jax.eval_shape(lambda key, c=config: history.init(key, SPEC, c), jax.random.key(0))["core"]
        for name, config in NETS.items()
        if "clock" not in name
    }
    num_features = HISTORY_NET.num_hidden + 2  # and the reward, and whether an episode ended
    assert inputs["lstm"]["wx"].shape[0] == num_features + SPEC.num_actions
    assert inputs["none"]["w"].shape[0] == num_features + SPEC.num_actions
    assert inputs["lstm, no action"]["wx"].shape[0] == num_features


def embed(name: str, state, rollout) -> np.ndarray:
    params = history.init(jax.random.key(0), SPEC, NETS[name])
    return np.asarray(history.embed(params, state, rollout, SPEC, NETS[name])[0])


def test_the_clock_tells_what_had_ended_before_the_step_and_goes_on_from_the_state():
    ends = np.array([1, 0, 0, 1, 0, 1], np.float32)  # 0: the arrival ends an episode
    inputs = embed("lstm, clock", STATES["lstm, clock"], changed(episode_goes_on=ends))
    expected = clock.features(np.array([7, 7, 8, 9, 9, 10]), SPEC.episodes_per_lifetime, np.float32)
    np.testing.assert_allclose(inputs[:, CLOCK], expected, atol=1e-6)
    np.testing.assert_array_equal(inputs[:, CLOCK.stop :], np.eye(SPEC.num_actions)[ROLLOUT.action])


@pytest.mark.parametrize("name", ["lstm, clock", "none, clock"])
def test_a_net_with_a_clock_carries_it_and_hears_it(unrolls, name: str):
    ends = changed(episode_goes_on=np.array([1, 0, 0, 1, 0, 1], np.float32))
    early, state = unrolls[name](STATES[name], ends)
    assert int(state.ended) == 7 + 3
    assert state.ended.dtype == np.int32
    late, _ = unrolls[name](dataclasses.replace(STATES[name], ended=np.int32(30)), ends)
    assert (np.abs(np.asarray(early) - np.asarray(late)).max(axis=1) > 1e-6).all()


def test_without_a_clock_the_state_is_the_memory_alone():
    assert isinstance(history.begin(SPEC, NETS["lstm"]), LstmState)
    assert history.begin_at(STATE, np.int32(3)) is STATE
    assert history.begin_at((), np.int32(3)) == ()


def test_the_clock_of_a_lifetime_that_begins_later_begins_there():
    newborn = history.begin(SPEC, NETS["lstm, clock"])
    assert newborn.ended == 0
    later = history.begin_at(newborn, np.int32(12))
    assert later.ended == 12
    jax.tree.map(np.testing.assert_array_equal, later.memory, newborn.memory)
    assert later.hidden is later.memory.hidden


EGOCENTRIC = dataclasses.replace(HISTORY_NET, view="egocentric")
ALONE = TaskSpec(4, (3, 3, 1), 4, 50, agent_plane=0)


def walk(cells: list[tuple[int, int]], spec: TaskSpec):
    """Returns a rollout in which the agent goes from cell to cell; the things of the other planes rest in (0, 2)."""
    images = np.zeros((len(cells), *spec.observation_shape), np.float32)
    images[:, 0, 2, 1:] = 1.0
    for image, cell in zip(images, cells, strict=True):
        image[cell][0] = 1.0
    rollout = random_rollout(0, len(cells) - 1, spec)
    return dataclasses.replace(rollout, observation=images, next_observation=images[1:])


def unroll_egocentric(spec: TaskSpec, rollout) -> np.ndarray:
    params = history.init(jax.random.key(0), spec, EGOCENTRIC)
    return np.asarray(history.unroll(params, STATE, rollout, spec, EGOCENTRIC)[0])


def test_an_egocentric_net_sees_the_step_through_its_features_and_has_no_convolution():
    params = history.init(jax.random.key(0), SPEC, EGOCENTRIC)
    assert {layer: leaves["w"].shape for layer, leaves in params.items() if layer != "core"} == {
        "hidden": (3 * 9 + 1, HISTORY_NET.num_hidden),
        "head": (HISTORY_NET.num_units, 1),
    }
    rollout = walk([(2, 0), (1, 0), (1, 1), (1, 1)], SPEC)
    inputs, _ = history.embed(params, STATE, rollout, SPEC, EGOCENTRIC)
    seen = egocentric.features(rollout.observation[:-1], rollout.next_observation, 0)
    expected = np.maximum(seen @ np.asarray(params["hidden"]["w"]) + np.asarray(params["hidden"]["b"]), 0.0)
    np.testing.assert_allclose(inputs[:, : HISTORY_NET.num_hidden], expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(inputs[:, HISTORY_NET.num_hidden], rollout.reward)


@pytest.mark.parametrize("spec", [SPEC, ALONE], ids=["things", "alone"])
def test_an_egocentric_net_is_told_whether_the_agent_moved(spec: TaskSpec):
    came = unroll_egocentric(spec, walk([(1, 0), (1, 1)], spec))
    stayed = unroll_egocentric(spec, walk([(1, 1), (1, 1)], spec))
    assert (came != stayed).any()


def test_where_the_agent_is_alone_planes_stay_and_the_flag_is_one_more_input():
    params = history.init(jax.random.key(0), ALONE, EGOCENTRIC)
    assert params["conv"]["w"].shape == (9, HISTORY_NET.num_filters)
    assert params["core"]["wx"].shape[0] == HISTORY_NET.num_hidden + 3 + ALONE.num_actions
    inputs, _ = history.embed(params, STATE, walk([(1, 0), (1, 1), (1, 1)], ALONE), ALONE, EGOCENTRIC)
    np.testing.assert_array_equal(inputs[:, HISTORY_NET.num_hidden + 2], [0.0, 1.0])  # after reward and done


def test_pre_activations_of_an_egocentric_torso_are_of_order_one():
    spec = KeyBox().spec
    hidden = history.init(jax.random.key(0), spec, HistoryNetConfig(view="egocentric"))["hidden"]
    assert hidden["w"].shape == (109, 64)
    # Four things are each ahead and aside by so much: 8 inputs are one, and the sum of 8 weights has a variance of 1.
    assert 8 * float(np.var(hidden["w"])) == pytest.approx(1.0, rel=0.05)


def test_the_head_is_linear_with_one_output():
    params = {"head": {"w": np.array([[1.0], [2.0]], np.float32), "b": np.array([0.5], np.float32)}}
    # [[1, 1], [2, −1]]: 1 + 2 + ½ = 3.5 and 2 − 2 + ½ = 0.5
    np.testing.assert_allclose(history.head(params, np.array([[1.0, 1.0], [2.0, -1.0]])), [3.5, 0.5])
