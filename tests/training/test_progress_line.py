"""The progress line on terminals of any width: bar, count, rate and times whole, metrics as far as there is room."""

import io
import re

import pytest
from rich.console import Console

from orexis.training.writers import Reporter, shorten

ROW = {
    "episode_return": 0.31234,
    "policy_entropy": 0.81,
    "lifetime_value_rmse": 1.17,
    "eta_gradient_norm": 2.5,
    "theta_norm_p99": 20.4,
    "finished_share": 0.07,
}
WHOLE = "return 0.312  entropy 0.81  value rmse 1.17  |grad| 2.50  |theta| p99 20.4  finished 0.07"


def line_at(width: int, tmp_path, total: int = 20000) -> str:
    """Returns the line as it is shown on a terminal of so many columns."""
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    reporter = Reporter(tmp_path / "log.txt", total, 0, console)
    reporter._start -= 100.0
    reporter.progress(total // 2, ROW)
    assert reporter._bar is not None
    plain = Console(file=io.StringIO(), width=width)
    plain.print(reporter._bar.get_renderable())
    reporter.close()
    lines = plain.file.getvalue().splitlines()
    assert len(lines) == 1
    return lines[0]


@pytest.mark.parametrize("width", [60, 80, 120, 160])
def test_nothing_is_cut_and_times_come_before_metrics(tmp_path, width: int):
    line = line_at(width, tmp_path)
    assert len(line) <= width
    assert "…" not in line
    whole = r"[━╸╺ ]{12} 10000/20000 \d+\.\d/s (\d:\d\d:\d\d|-:--:--) (\S.*?)\s*"
    found = re.fullmatch(whole, line)
    assert found, line
    assert found[2].split("  ") == WHOLE.split("  ")[: {60: 1, 80: 2, 120: 5, 160: 6}[width]]


@pytest.mark.parametrize(
    ("room", "left"),
    [
        (200, WHOLE),
        (len(WHOLE), WHOLE),
        (len(WHOLE) - 1, WHOLE[: WHOLE.index("  finished")]),
        (12, "return 0.312"),
        (11, ""),
    ],
)
def test_a_number_is_shown_whole_or_not_at_all(room: int, left: str):
    assert shorten(WHOLE, room) == left
