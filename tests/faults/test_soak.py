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


LONG = sorted((ROOT / "results" / "soak").glob("*.json"))


def test_the_long_soaks_kept_their_bits_and_their_memory():
    figures = [json.loads(path.read_text(encoding="utf-8")) for path in LONG]
    assert sum(each["minutes"] for each in figures) >= 60
    for each in figures:
        assert each["same_bits"]
        assert each["disturbed"]["largest_growth"] <= GROWTH
        assert each["undisturbed"]["growth"] <= GROWTH
    least = {"SIGTERM": 10, "SIGKILL": 10, "SIGINT": 10, "SIGSTOP and SIGCONT": 200, "evaluations": 50}
    for name, number in least.items():
        assert sum(each["counts"][name] for each in figures) >= number
