"""The bench of a reward in NumPy: that it measures, not how fast."""

from orexis.bench.reward import bench_reward, print_reward_speed
from tests.storage.rewards import write_reward


def test_a_reward_is_measured_and_told_in_a_line(tmp_path, capsys):
    result = bench_reward(str(write_reward(tmp_path / "reward")), num_steps=1500)
    assert result["steps"] == 1500
    assert result["steps_per_s"] > 0
    print_reward_speed({**result, "steps_per_s": 12345.6, "memory_growth_mib": 0.25})
    said = " ".join(capsys.readouterr().out.split())
    assert "12,346 steps a second of one core, memory grew by 0.2 MiB in 1,500 steps" in said
