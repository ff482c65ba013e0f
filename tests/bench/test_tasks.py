import json

import pytest

from orexis.bench.tasks import bench_tasks, print_task_speeds, window_program
from orexis.tasks.abc import RandomABC


def test_every_task_gets_its_figures(capsys, monkeypatch):
    monkeypatch.setattr("orexis.bench.tasks._best_seconds", lambda run: run() or 0.5)
    result = bench_tasks(["random-abc", "key-box"], num_lifetimes=4, with_shares=False)
    assert json.loads(json.dumps(result)) == result
    assert result["tasks"]["random-abc"] == {
        "steps_per_s": 4 * 20 / 0.5,  # N·T = 5·4
        "steps_per_s_images": 4 * 20 / 0.5,
        "window_ms": 500.0,
        "window_steps": 20,
    }
    assert result["tasks"]["key-box"]["window_steps"] == 10 * 2
    print_task_speeds(result)
    assert "key-box" in capsys.readouterr().out


def test_lifetimes_can_be_run_in_chunks_that_divide_them():
    window_program(RandomABC(), 4, 3, chunk=2)()
    with pytest.raises(ValueError, match="4 lifetimes cannot be cut into chunks of 3"):
        window_program(RandomABC(), 4, 3, chunk=3)
