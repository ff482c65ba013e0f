"""The examples run as they stand."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from orexis.testing import check_task

EXAMPLES = Path(__file__).parent.parent / "examples"
QUICK_TO_COMPILE = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"


def test_the_task_of_the_example_keeps_the_contract_and_fits_on_a_page():
    path = EXAMPLES / "own_task.py"
    assert len(path.read_text().splitlines()) <= 60
    spec = importlib.util.spec_from_file_location("own_task", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    check_task(module.Corridor())


@pytest.mark.slow
def test_a_task_from_scratch_is_trained_on(tmp_path):
    command = [sys.executable, str(EXAMPLES / "own_task.py"), "--tiny", "--run-dir", str(tmp_path / "run")]
    environment = {**os.environ, "XLA_FLAGS": QUICK_TO_COMPILE}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "reward" / "reward.safetensors").is_file()
