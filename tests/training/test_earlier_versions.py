"""Runs that were written elsewhere: they load, go on and are evaluated to the numbers that their writer had itself.

`data/version_0_1` was written by that version with Python 3.11 and JAX 0.10.2, `data/jax_0_12` with Python 3.13 and
JAX 0.12.0.1, both on one device:

    orexis train bandit --updates 20 --lifetimes 4 --seed 3 --checkpoint-every 20 --run-dir run
    orexis train bandit --updates 40 ... --resume       the rows of updates 21 to 40
    orexis evaluate run --task bandit --lifetimes 16 --seed 5
"""

import csv
import json
import shutil
from pathlib import Path

import jax
import numpy as np
import pytest

from orexis.cli import main
from orexis.errors import OK
from orexis.evaluation.evaluate import evaluate
from orexis.interop.numpy_reward import load_reward
from orexis.training.folder import read_config

WRITTEN = Path(__file__).parent / "data"
DATA = WRITTEN / "version_0_1"
TIMES = {"wall_s"}


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.smoke
@pytest.mark.parametrize("writer", ["version_0_1", "jax_0_12"])
def test_a_run_goes_on_to_the_same_rows_and_says_if_jax_is_another(tmp_path, writer: str):
    run = tmp_path / "run"
    shutil.copytree(WRITTEN / writer / "run", run)
    line = ["train", "bandit", "--updates", "40", "--lifetimes", "4", "--seed", "3", "--checkpoint-every", "20"]
    assert main([*line, "--validate-every", "0", "--resume", "--devices", "1", "--run-dir", str(run)]) == OK
    rows = zip(rows_of(WRITTEN / writer / "metrics_21_to_40.csv"), rows_of(run / "metrics.csv")[-2:], strict=True)
    for expected, found in rows:
        for name in [name for name, value in expected.items() if value and name not in TIMES]:
            np.testing.assert_allclose(float(found[name]), float(expected[name]), rtol=1e-3, err_msg=name)
    assert rows_of(run / "metrics.csv")[-1]["update"] == "40"
    then = json.loads((WRITTEN / writer / "run" / "env.json").read_text(encoding="utf-8"))["jax"]
    said = f"warning: trained with jax {then} " in (run / "log.txt").read_text(encoding="utf-8")
    assert said == (then != jax.__version__)


@pytest.mark.smoke
def test_a_reward_is_evaluated_to_the_same_numbers():
    expected = json.loads((DATA / "evaluation.json").read_text(encoding="utf-8"))
    (table,) = evaluate([str(DATA / "run")], "bandit", num_lifetimes=16, seed=5)
    np.testing.assert_allclose(table.extrinsic.mean(axis=0), expected["episode_return"], atol=1e-6)
    assert table.extrinsic.sum(axis=1).mean() == pytest.approx(expected["lifetime_return"])


def test_old_names_in_its_config_are_read():
    text = (DATA / "run" / "config.json").read_text(encoding="utf-8")
    assert "advantage_trace" in text
    assert '"start"' in text
    config = read_config(DATA / "run")
    assert config.meta.outer.gae_lambda == 1.0
    assert config.meta.outer.entropy_cost.init_value == 0.05
    assert not config.meta.reward.sees_clock


def test_its_reward_pays_without_jax_too():
    reward = load_reward(DATA / "run")
    assert not reward.network.sees_clock
    reward.begin(1)
    paid = reward.step(np.ones((1, *reward.spec.observation_shape)), np.array([0]), np.zeros(1), np.array([False]))
    assert np.isfinite(paid).all()
