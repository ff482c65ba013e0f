"""A soak of a minute or so; and the figures of the long one are what docs/explanation/reliability.md says."""

import json
from pathlib import Path

import pytest

from tests.faults.soak import Memory, run_soak

ROOT = Path(__file__).parent.parent.parent
GROWTH = 0.03  # of the resident memory after the warm-up


@pytest.mark.slow
def test_a_run_under_random_signals_keeps_its_bits_and_its_memory(tmp_path, trials):
    figures = run_soak(tmp_path, seed=5, goals=(40, 0, 100, 1500, 10, 1, 60))
    counts = figures["counts"]
    assert counts["processes"] == 7
    assert {"SIGTERM", "SIGKILL", "SIGSTOP and SIGCONT", "evaluations", "second processes refused"} <= set(counts)
    assert figures["same_bits"]
    assert figures["disturbed"]["largest_growth"] <= GROWTH  # of the one that lived long
    for _ in range(sum(counts[name] for name in counts if name.startswith("SIG"))):
        trials()


def test_growth_is_the_highest_reading_over_the_first_ones():
    assert Memory([100] * 39).growth() is None  # too few
    assert Memory([100] * 40).growth() == 0.0
    assert Memory([100] * 30 + [110] + [100] * 9).growth() == 0.1
    assert Memory([200] + [100] * 39).growth() == 0.0  # the median of the first ones counts


LONG = ROOT / "results" / "soak" / "hour.json"


def test_the_long_soak_kept_its_bits_and_its_memory():
    figures = json.loads(LONG.read_text(encoding="utf-8"))
    assert figures["minutes"] >= 60
    assert figures["same_bits"]
    assert figures["disturbed"]["largest_growth"] <= GROWTH
    assert figures["undisturbed"]["growth"] <= GROWTH
    least = {
        "SIGTERM": 50,
        "SIGKILL": 50,
        "SIGINT": 50,
        "SIGSTOP and SIGCONT": 250,
        "evaluations": 90,
        "processes": 200,
    }
    for name, number in least.items():
        assert figures["counts"][name] >= number


def test_the_page_tells_the_figures_of_the_long_soak():
    figures = json.loads(LONG.read_text(encoding="utf-8"))
    counts = figures["counts"]
    doctor = sum(number for name, number in counts.items() if name.startswith("the doctor"))
    page = (ROOT / "docs" / "explanation" / "reliability.md").read_text(encoding="utf-8")
    for row in (
        f"| minutes | {figures['minutes']} |",
        f"| updates | {figures['updates']} |",
        f"| processes, each ended at random | {counts['processes']} |",
        f"| by SIGTERM, Ctrl-C, kill -9 | {counts['SIGTERM']}, {counts['SIGINT']}, {counts['SIGKILL']} |",
        f"| halts (SIGSTOP, SIGCONT) | {counts['SIGSTOP and SIGCONT']} |",
        f"| visits of the doctor, all well | {doctor} |",
        f"| evaluations meanwhile | {counts['evaluations']} |",
    ):
        assert row in page
