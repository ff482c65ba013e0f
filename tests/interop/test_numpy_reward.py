"""The reward in plain NumPy pays what the reward in JAX pays, over whole lifetimes, and needs no JAX."""

import dataclasses
import subprocess
import sys
import tracemalloc

import jax
import numpy as np
import pytest

import orexis
from orexis.config import HistoryNetConfig, TaskSpec
from orexis.interop.numpy_reward import NumpyReward, load_reward
from orexis.rewards.learned import LearnedReward
from orexis.storage.artefact import Artefact
from orexis.storage.reading import DamagedError
from orexis.types import Rollout
from tests.storage.rewards import ALONE, GRID, NETWORK, SPEC, random_params, write_reward

NUM_STEPS, NUM_ENVS = 400, 3
CLOCKED = dataclasses.replace(NETWORK, sees_clock=True, history="none")  # nothing is remembered but the time
LEDGER = dataclasses.replace(
    NETWORK, view="egocentric", keeps_ledger=True, history="none"
)  # nothing else is remembered
LONG = dataclasses.replace(SPEC, episodes_per_lifetime=100)


def make_reward(network: HistoryNetConfig = NETWORK, spec: TaskSpec = SPEC) -> NumpyReward:
    return NumpyReward(Artefact("bandit", spec, network, random_params(spec, network), {}))


def random_walk(spec: TaskSpec, seed: int = 0) -> dict[str, np.ndarray]:
    """Returns a history in which agents go to random neighbouring cells or stay, with what they acted on."""
    rng = np.random.default_rng(seed)
    height, width, _ = spec.observation_shape
    told = random_history(seed)
    images = (rng.random((NUM_STEPS + 1, NUM_ENVS, *spec.observation_shape)) < 0.2).astype(np.float32)
    images[..., spec.agent_plane] = 0.0
    place = np.zeros((NUM_ENVS, 2), int)
    for t in range(NUM_STEPS + 1):
        place = np.clip(place + rng.integers(-1, 2, place.shape), 0, (height - 1, width - 1))
        images[t, np.arange(NUM_ENVS), place[:, 0], place[:, 1], spec.agent_plane] = 1.0
    return {**told, "next_observation": images[1:], "observation": images[:-1]}


def random_history(seed: int = 0) -> dict[str, np.ndarray]:
    """Returns what E environments told in S steps: arrival [S, E, H, W, C] and action, reward, done [S, E]."""
    rng = np.random.default_rng(seed)
    steps = (NUM_STEPS, NUM_ENVS)
    return {
        "next_observation": (rng.random((*steps, *SPEC.observation_shape)) < 0.2).astype(np.float32),
        "action": rng.integers(0, SPEC.num_actions, steps),
        "reward": rng.normal(size=steps).astype(np.float32),
        "done": rng.random(steps) < 0.1,
    }


def pay(reward: NumpyReward, history: dict[str, np.ndarray]) -> np.ndarray:
    return np.stack([reward.step(**{name: x[t] for name, x in history.items()}) for t in range(NUM_STEPS)])


def pay_in_jax(network: HistoryNetConfig, history: dict[str, np.ndarray], spec: TaskSpec = SPEC) -> np.ndarray:
    source, params = LearnedReward(spec, network), random_params(spec, network)
    unused = np.zeros((NUM_STEPS, NUM_ENVS), np.float32)
    rollouts = Rollout(
        observation=history.get("observation", unused),
        next_observation=history["next_observation"],
        action=history["action"],
        reward=history["reward"],
        episode_goes_on=1.0 - history["done"],
        lifetime_goes_on=unused,
        in_lifetime=unused,
        value=unused,
    )

    def one_lifetime(rollout: Rollout):
        return source.unroll(params, source.begin(params, jax.random.key(0)), rollout)[0]

    return np.asarray(jax.jit(jax.vmap(one_lifetime, in_axes=1, out_axes=1))(rollouts))


@pytest.mark.smoke
@pytest.mark.parametrize("history", ["lstm", "none"])
@pytest.mark.parametrize("sees_action", [True, False])
def test_it_pays_what_jax_pays(history, sees_action):
    network = HistoryNetConfig(history=history, sees_action=sees_action, num_filters=2, num_hidden=5, num_units=4)
    told = random_history()
    reward = make_reward(network)
    reward.begin(NUM_ENVS)
    ours, expected = pay(reward, told), pay_in_jax(network, told)
    assert ours.dtype == np.float32
    assert ours.shape == (NUM_STEPS, NUM_ENVS)
    assert expected.std() > 0.1
    np.testing.assert_allclose(ours, expected, atol=1e-5)


@pytest.mark.parametrize("episodes", [6, 100])  # about 40 end: the clock stands still from the sixth, or never
@pytest.mark.parametrize(("spec", "view"), [(SPEC, "planes"), (GRID, "egocentric"), (ALONE, "egocentric")])
@pytest.mark.parametrize("history", ["lstm", "none"])
@pytest.mark.parametrize("sees_action", [True, False])
def test_with_a_clock_a_folder_pays_what_jax_pays(tmp_path, spec: TaskSpec, view, history, sees_action, episodes):
    network = dataclasses.replace(CLOCKED, view=view, history=history, sees_action=sees_action)
    spec = dataclasses.replace(spec, episodes_per_lifetime=episodes)
    told = random_history() if view == "planes" else random_walk(spec)
    reward = load_reward(write_reward(tmp_path / "reward", network=network, spec=spec))
    reward.begin(NUM_ENVS)
    expected = pay_in_jax(network, told, spec)
    assert expected.std() > 0.05
    np.testing.assert_allclose(pay(reward, told), expected, atol=2e-5)  # sines are rounded in two ways
    longer = dataclasses.replace(spec, episodes_per_lifetime=2 * episodes)
    assert np.abs(pay_in_jax(network, told, longer) - expected).max() > 0.01  # the time matters


def test_the_clock_belongs_to_a_lifetime():
    told, reward = random_history(), make_reward(CLOCKED, LONG)
    reward.begin(NUM_ENVS)
    newborn = pay(reward, told)
    copies = reward.repeated(2)
    reward.forget(np.array([False, True, False]))
    again = pay(reward, told)
    np.testing.assert_array_equal(again[:, 1], newborn[:, 1])
    assert (again[0, [0, 2]] != newborn[0, [0, 2]]).all()
    twice = pay(copies, {name: np.repeat(x, 2, axis=1) for name, x in told.items()})
    np.testing.assert_allclose(twice[:, [0, 4]], again[:, [0, 2]], atol=1e-6)


def test_the_clock_counts_no_step_that_did_not_happen_or_was_refused():
    told, reward = random_history(), make_reward(CLOCKED, LONG)
    reward.begin(NUM_ENVS)
    newborn = pay(reward, told)
    reward.begin(NUM_ENVS)
    step = {name: x[0] for name, x in told.items()}
    ended = {**step, "done": np.ones(NUM_ENVS, bool)}
    reward.step(**ended, happened=np.zeros(NUM_ENVS, bool))
    reward.step(**{**ended, "done": np.full(NUM_ENVS, np.nan)}, happened=np.zeros(NUM_ENVS, bool))
    with pytest.raises(ValueError, match="whole numbers"):
        reward.step(**{**ended, "action": np.full(NUM_ENVS, 99)})
    np.testing.assert_array_equal(pay(reward, told), newborn)


@pytest.mark.parametrize("history", ["lstm", "none"])
@pytest.mark.parametrize("sees_action", [True, False])
@pytest.mark.parametrize("sees_clock", [True, False])
def test_with_a_ledger_a_folder_pays_what_jax_pays(tmp_path, history, sees_action, sees_clock):
    network = dataclasses.replace(LEDGER, history=history, sees_action=sees_action, sees_clock=sees_clock)
    told = random_walk(GRID)
    reward = load_reward(write_reward(tmp_path / "reward", network=network, spec=GRID))
    reward.begin(NUM_ENVS)
    expected = pay_in_jax(network, told, GRID)
    assert expected.std() > 0.02
    np.testing.assert_allclose(pay(reward, told), expected, atol=1e-5)
    poorer = {**told, "reward": np.where(told["done"], -told["reward"], told["reward"])}
    assert np.abs(pay_in_jax(network, poorer, GRID)[~told["done"]] - expected[~told["done"]]).max() > 0.01


def test_the_ledger_belongs_to_a_lifetime_and_has_no_step_that_did_not_happen_or_was_refused():
    told, reward = random_walk(GRID), make_reward(LEDGER, GRID)
    reward.begin(NUM_ENVS)
    newborn = pay(reward, told)
    copies = reward.repeated(2)
    reward.forget(np.array([False, True, False]))
    again = pay(reward, told)
    np.testing.assert_array_equal(again[:, 1], newborn[:, 1])
    assert (again[0, [0, 2]] != newborn[0, [0, 2]]).all()
    twice = pay(copies, {name: np.repeat(x, 2, axis=1) for name, x in told.items()})
    np.testing.assert_allclose(twice[:, [0, 4]], again[:, [0, 2]], atol=1e-6)

    reward.begin(NUM_ENVS)
    ended = {**{name: x[0] for name, x in told.items()}, "done": np.ones(NUM_ENVS, bool)}
    ended["next_observation"] = np.ones_like(ended["next_observation"])  # on everything at once
    reward.step(**ended, happened=np.zeros(NUM_ENVS, bool))
    with pytest.raises(ValueError, match="whole numbers"):
        reward.step(**{**ended, "action": np.full(NUM_ENVS, 99)})
    np.testing.assert_array_equal(pay(reward, told), newborn)


@pytest.mark.parametrize("spec", [GRID, ALONE], ids=["things", "alone"])
@pytest.mark.parametrize("history", ["lstm", "none"])
@pytest.mark.parametrize("sees_action", [True, False])
def test_with_the_egocentric_view_a_folder_pays_what_jax_pays(tmp_path, spec: TaskSpec, history, sees_action):
    network = dataclasses.replace(NETWORK, view="egocentric", history=history, sees_action=sees_action)
    told = random_walk(spec)
    reward = load_reward(write_reward(tmp_path / "reward", network=network, spec=spec))
    reward.begin(NUM_ENVS)
    ours, expected = pay(reward, told), pay_in_jax(network, told, spec)
    assert expected.std() > 0.05
    np.testing.assert_allclose(ours, expected, atol=1e-5)
    stood = pay_in_jax(network, {**told, "observation": told["next_observation"]}, spec)
    assert np.abs(stood - expected).max() > 0.01  # what was acted on matters


@pytest.mark.parametrize("spec", [GRID, ALONE], ids=["things", "alone"])
def test_with_the_egocentric_view_it_asks_for_what_was_acted_on(spec: TaskSpec):
    reward = make_reward(dataclasses.replace(NETWORK, view="egocentric"), spec)
    reward.begin(NUM_ENVS)
    step = {name: x[0] for name, x in random_walk(spec).items()}
    shape = (NUM_ENVS, *spec.observation_shape)
    for given, complaint in (
        ({}, "this reward sees from the agent: it needs the observation acted on"),
        ({"observation": np.zeros((1, *spec.observation_shape))}, f"observation must have shape {shape}, not "),
    ):
        told = {name: x for name, x in step.items() if name != "observation"}
        with pytest.raises(ValueError, match=complaint.replace("(", r"\(").replace(")", r"\)")):
            reward.step(**told, **given)


@pytest.mark.parametrize("name", ["next_observation", "action", "reward", "done"])
def test_everything_that_it_is_told_matters_for_the_rest_of_the_lifetime(name):
    told = random_history()
    changed = {**told, name: told[name].copy()}
    changed[name][5] = 1 - told[name][5] if name != "done" else ~told[name][5]
    changed[name] = np.clip(changed[name], 0, SPEC.num_actions - 1) if name == "action" else changed[name]
    pays = []
    for history in (told, changed):
        reward = make_reward()
        reward.begin(NUM_ENVS)
        pays.append(pay(reward, history))
    np.testing.assert_array_equal(pays[0][:5], pays[1][:5])
    assert (pays[0][5] != pays[1][5]).any()
    assert (pays[0][6] != pays[1][6]).any()  # it remembers


def test_to_begin_is_to_forget():
    told, reward = random_history(), make_reward()
    reward.begin(NUM_ENVS)
    first = pay(reward, told)
    second = pay(reward, told)  # without begin: goes on with what it remembers
    reward.begin(NUM_ENVS)
    third = pay(reward, told)
    assert (first[0] != second[0]).any()
    np.testing.assert_array_equal(first, third)


def test_one_environment_may_forget_alone():
    told, reward = random_history(), make_reward()
    reward.begin(NUM_ENVS)
    newborn = pay(reward, told)
    reward.forget(np.array([False, True, False]))
    again = pay(reward, told)
    np.testing.assert_array_equal(again[:, 1], newborn[:, 1])
    assert (again[0, [0, 2]] != newborn[0, [0, 2]]).all()


def test_what_did_not_happen_is_neither_paid_nor_remembered():
    told, reward, undisturbed = random_history(), make_reward(), make_reward()
    for each in (reward, undisturbed):
        each.begin(NUM_ENVS)
        pay(each, told)
    first, second = ({name: x[t] for name, x in told.items()} for t in (0, 1))
    paid = reward.step(**first, happened=np.array([True, False, True]))
    assert paid[1] == 0
    assert (paid[[0, 2]] != 0).all()
    ours, expected = reward.step(**second), undisturbed.step(**second)
    np.testing.assert_array_equal(ours == expected, [False, True, False])


def test_a_newborn_reward_has_a_memory_of_its_own():
    told, reward = random_history(), make_reward()
    reward.begin(NUM_ENVS)
    other = reward.newborn()
    other.begin(NUM_ENVS)
    np.testing.assert_array_equal(pay(reward, told), pay(other, told))


def test_copies_remember_what_the_original_did_and_it_nothing_of_theirs():
    told, reward, undisturbed = random_history(), make_reward(), make_reward()
    for each in (reward, undisturbed):
        each.begin(NUM_ENVS)
        pay(each, told)
    twice = {name: np.repeat(x, 2, axis=1) for name, x in told.items()}  # [S, E, ...]: row i·2 + k is a copy of i
    copies = pay(reward.repeated(2), twice)
    on = pay(reward, told)
    np.testing.assert_allclose(copies, np.repeat(on, 2, axis=1), atol=1e-6)
    np.testing.assert_array_equal(on, pay(undisturbed, told))


def test_memory_does_not_grow_with_the_steps():
    told, reward = random_history(), make_reward()
    reward.begin(NUM_ENVS)
    pay(reward, told)
    tracemalloc.start()
    try:
        pay(reward, told)
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(3):
            pay(reward, told)
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 3 * NUM_STEPS  # bytes: less than one for each step


def test_environments_do_not_see_each_other():
    told, together, alone = random_history(), make_reward(), make_reward()
    together.begin(NUM_ENVS)
    alone.begin(1)
    expected = pay(together, told)[:, 1:2]
    ours = pay(alone, {name: x[:, 1:2] for name, x in told.items()})
    np.testing.assert_allclose(ours, expected, atol=1e-6)


def test_a_reward_that_does_not_see_the_action_takes_any():
    reward = make_reward(HistoryNetConfig(sees_action=False, num_filters=2, num_hidden=5, num_units=4))
    reward.begin(2)
    first = {name: x[0, :2] for name, x in random_history().items()}
    paid = reward.step(**{**first, "action": np.array([99, -1])})
    reward.begin(2)
    np.testing.assert_array_equal(paid, reward.step(**first))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (
            {"next_observation": np.zeros((2, 3, 4, 3))},
            r"next_observation must have shape \(2, 3, 4, 2\), not \(2, 3, 4, 3\)",
        ),
        ({"next_observation": np.zeros((3, 3, 4, 2))}, r"next_observation must have shape \(2, 3, 4, 2\)"),
        ({"action": np.array([0, 3])}, "action must be 2 whole numbers from 0 to 2"),
        ({"action": np.array([-1, 0])}, "action must be 2 whole numbers from 0 to 2"),
        ({"action": np.array(0)}, "action must be 2 whole numbers"),
        ({"action": np.array([0.5, 1.0])}, "action must be 2 whole numbers"),
        ({"reward": np.zeros(3)}, r"reward must have shape \(2,\), not \(3,\)"),
        ({"done": np.zeros((2, 1))}, r"done must have shape \(2,\), not \(2, 1\)"),
    ],
)
def test_what_cannot_be_meant_is_refused(change, complaint):
    reward = make_reward()
    reward.begin(2)
    step = {name: x[0, :2] for name, x in random_history().items()}
    with pytest.raises(ValueError, match=complaint):
        reward.step(**{**step, **change})


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["reward", "next_observation", "observation"])
def test_nan_and_infinity_are_refused_and_nothing_of_them_is_remembered(name: str, value: float):
    network = dataclasses.replace(NETWORK, view="egocentric")
    history = random_walk(GRID)
    reward, undisturbed = make_reward(network, GRID), make_reward(network, GRID)
    for t in range(4):
        step = {column: x[t].copy() for column, x in history.items()}
        for one in (reward, undisturbed):
            if t == 0:
                one.begin(NUM_ENVS)
        broken = {**step, name: step[name].copy()}
        broken[name][1] = value
        with pytest.raises(ValueError, match=f"^{name} must be finite, it is not in environment 1$"):
            reward.step(**broken)
        np.testing.assert_array_equal(reward.step(**step), undisturbed.step(**step))
    with np.errstate(invalid="ignore"):  # where no step happened, anything may be told
        assert np.isfinite(reward.step(**broken, happened=np.array([True, False, True]))).all()


def test_no_lifetime_was_begun():
    with pytest.raises(ValueError, match=r"call begin\(num_envs\) before the first step"):
        make_reward().step(np.zeros((1, 3, 4, 2)), np.zeros(1, int), np.zeros(1), np.zeros(1))
    with pytest.raises(ValueError, match="num_envs must be at least 1, not 0"):
        make_reward().begin(0)


def test_it_is_loaded_from_a_reward_folder_or_a_run_folder(tmp_path):
    write_reward(tmp_path / "run" / "reward", seed=3)
    for path in (tmp_path / "run", tmp_path / "run" / "reward", str(tmp_path / "run")):
        reward = orexis.load_reward(path)
        np.testing.assert_array_equal(reward.artefact.params["head"]["w"], random_params(seed=3)["head"]["w"])
    with pytest.raises(FileNotFoundError):
        load_reward(tmp_path)
    (tmp_path / "run" / "reward" / "reward.safetensors").write_bytes(b"")
    with pytest.raises(DamagedError):
        load_reward(tmp_path / "run")


@pytest.mark.smoke
@pytest.mark.parametrize("view", ["planes", "egocentric"])
def test_it_needs_no_jax(tmp_path, view: str):
    write_reward(tmp_path, network=dataclasses.replace(NETWORK, view=view), spec=GRID)
    code = f"""
import sys
import numpy as np
import orexis
reward = orexis.load_reward({str(tmp_path)!r})
reward.begin(2)
told = (np.array([0, 2]), np.array([0.5, 0.0]), np.array([False, True]))
print(reward.step(np.ones((2, 3, 4, 2)), *told, observation=np.ones((2, 3, 4, 2))))
assert not [name for name in sys.modules if name.split(".")[0] in ("jax", "jaxlib")]
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
