"""The examples run as they stand."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.agents.actor_critic import ActorCritic
from orexis.evaluation.lifetimes import evaluate_lifetimes
from orexis.meta.engine import Engine, make_mesh
from orexis.presets import ANY_TASK, preset
from orexis.rewards.extrinsic import Extrinsic
from orexis.rewards.learned import LearnedReward
from orexis.statistics import bootstrap_interval
from orexis.testing import check_task
from tests.quick import QUICK_TO_COMPILE

EXAMPLES = Path(__file__).parent.parent / "examples"


def load(name):
    """Returns the module of an example."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_task_of_the_example_keeps_the_contract_and_fits_on_a_page():
    assert len((EXAMPLES / "own_task.py").read_text().splitlines()) <= 60
    check_task(load("own_task").Corridor())


@pytest.mark.parametrize("name", ["TMaze", "rich_t_maze", "Vigil"])
def test_the_tasks_that_are_none_of_the_papers_keep_the_contract(name):
    check_task(getattr(load("own_tasks"), name)(), num_steps=30)


@pytest.mark.parametrize("name", ["catch", "breakout", "windy_cart_pole"])
def test_so_do_those_of_gymnax(name):
    pytest.importorskip("gymnax")
    check_task(getattr(load("own_tasks"), name)(), num_steps=30)


def walk(task, target, actions):
    """Returns (reward, ended) of each step, in a lifetime whose target is `target`."""
    params, key, rows = load_params(task, target), jax.random.key(0), []
    state = task.reset(key, params, jnp.int32(0))
    step = jax.jit(task.step)
    for action in actions:
        state, reward, ended = step(key, params, state, jnp.int32(action))
        rows.append((float(reward), bool(ended)))
    return rows


def load_params(task, target):
    return type(task.sample(jax.random.key(0)))(target=jnp.array(target, jnp.int32))


UP, DOWN, LEFT, RIGHT = range(4)


def test_one_arm_of_the_t_maze_pays_and_both_end_the_episode():
    tasks = load("own_tasks")
    to_the_end = 6 * [RIGHT]
    quiet = 6 * [(0.0, False)]
    assert walk(tasks.TMaze(), (0, 6), [*to_the_end, UP]) == [*quiet, (1.0, True)]
    assert walk(tasks.TMaze(), (2, 6), [*to_the_end, UP]) == [*quiet, (0.0, True)]
    assert walk(tasks.rich_t_maze(), (2, 6), [*to_the_end, DOWN]) == [*quiet, (10.0, True)]
    assert walk(tasks.TMaze(), (0, 6), [UP, DOWN]) == 2 * [(0.0, False)]  # the corridor has walls


def test_a_vigil_pays_only_at_its_end_and_only_in_the_right_corner():
    task = load("own_tasks").Vigil(length=6)
    to_the_corner = [UP, UP, LEFT, LEFT]
    assert walk(task, (0, 0), [*to_the_corner, UP, UP])[-2:] == [(0.0, False), (1.0, True)]
    assert walk(task, (0, 0), [*to_the_corner, UP, RIGHT])[-1] == (0.0, True)
    assert walk(task, (0, 4), [*to_the_corner, UP, UP])[-1] == (0.0, True)


@pytest.mark.slow
def test_the_defaults_learn_a_t_maze_and_beat_extrinsic_ep():
    task, name = load("own_tasks").TMaze(), "examples.own_tasks:TMaze"
    config = preset(name)
    assert config == ANY_TASK
    engine = Engine(task, config, seed=0, mesh=make_mesh(jax.devices()[:1]))
    state, norms = engine.init(), []
    update = engine.compile_update()
    for _ in range(150):
        state, metrics = update(state)
        norms.append(metrics.theta_norm_p99)

    def live(source, params):
        agent, mesh = ActorCritic(task.spec, config.agent), make_mesh(jax.devices()[:1])
        _, episodes, _ = evaluate_lifetimes(task, agent, (), source, params, 3, 64, mesh)
        return np.asarray(episodes.extrinsic).mean(axis=1)

    learned = live(LearnedReward(task.spec, config.reward), state.learner.eta_average)
    baseline = live(Extrinsic(), ())
    # Seeds 0 to 2 were seen to reach 0.83, 0.79 and 0.75 (32 of these lifetimes); extrinsic-ep has 0.13.
    assert learned.mean() > 0.4
    assert bootstrap_interval(learned - baseline)[0] > 0.1
    assert max(map(float, norms)) < 5 * float(norms[0])


@pytest.mark.slow
def test_a_task_from_scratch_is_trained_on(tmp_path):
    command = [sys.executable, str(EXAMPLES / "own_task.py"), "--tiny", "--run-dir", str(tmp_path / "run")]
    environment = {**os.environ, "XLA_FLAGS": " ".join(QUICK_TO_COMPILE)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "reward" / "reward.safetensors").is_file()
