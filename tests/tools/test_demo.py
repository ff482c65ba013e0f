"""The demo from end to end with a tiny budget, and what its report says about tables made by hand."""

import dataclasses
import json

import numpy as np
import pytest

from orexis.errors import OK, PREEMPTED, UsageError
from orexis.evaluation.walks import Room, WalkSums, WalkTable
from orexis.figures.endings import count_endings, endings_figure
from orexis.tools import demo as demo_module
from orexis.tools.demo import demo, draw
from orexis.tools.demo_report import Results, ceiling, compare, compose_report, verdict
from tests.figures.conftest import make_table

FILES = ("learning_curves.png", "walks.png", "endings.png", "training.png", "evaluation.json", "evaluation.csv")


def tables_with(difference: float, num_lifetimes: int = 40):
    """Returns two tables of the same lifetimes, the first `difference` above the second give or take a little."""
    second = make_table("extrinsic-ep", num_lifetimes)
    noise = np.random.default_rng(9).normal(0, 0.05, second.extrinsic.shape)
    return dataclasses.replace(second, source="demo/run", extrinsic=second.extrinsic + difference + noise), second


@pytest.mark.parametrize(
    ("difference", "word", "sentence"),
    [
        (0.1, "more", "the learned reward brought more"),
        (-0.1, "less", "the learned reward brought less"),
        (0.0, "cannot tell", "cannot tell the two apart"),
    ],
)
def test_the_verdict_follows_the_paired_interval(difference, word, sentence):
    first, second = tables_with(difference)
    found = compare(first, second)
    assert found.verdict == word
    assert found.interval[0] <= found.first - found.second <= found.interval[1]
    assert found.first - found.second == pytest.approx(difference, abs=0.01)
    assert sentence in verdict(first, second)


def test_a_small_difference_is_seen_in_pairs_though_the_means_overlap():
    found = compare(*tables_with(0.02))
    assert found.verdict == "more"
    assert not found.apart
    assert compare(*tables_with(2.0)).apart


def test_only_the_episodes_asked_for_are_compared():
    first, second = tables_with(0.0)
    first.extrinsic[:, -10:] += 5.0
    assert compare(first, second, slice(0, 10)).verdict == "cannot tell"
    assert compare(first, second, slice(-10, None)).verdict == "more"


def test_a_single_lifetime_tells_nothing():
    assert compare(*tables_with(1.0, num_lifetimes=1)).verdict == "cannot tell"
    assert "are rough" in verdict(*tables_with(1.0, num_lifetimes=1))
    assert "are rough" not in verdict(*tables_with(1.0))


def test_the_ceiling_is_derived_and_measured():
    learned, hand_made = make_table("run"), make_table("near-optimal")
    learned.extrinsic[:], hand_made.extrinsic[:] = 0.25, 0.5
    said = ceiling(learned, hand_made)
    assert "collected 0.500" in said
    assert "50 % of that" in said
    assert "19/48 = 0.396" in said
    assert "0.385 in the mean" in said  # (0 + 0.25 + 48 · 19/48) / 50


def results_by_hand() -> Results:
    learned, extrinsic = tables_with(0.1)
    sums = {"A": 0.5, "B": -0.5, "C": 0.2}
    rows = tuple(tuple(WalkSums(order[:count], sums) for count in range(3)) for order in (("A", "C"), ("C", "A")))
    objects = {"A": (0, 0), "B": (0, 4), "C": (4, 0)}
    names = ("update", "episode_return", "policy_entropy", "lifetime_value_rmse", "theta_norm_p99")
    return Results(
        tables=[learned, extrinsic, make_table("near-optimal", 40, seed=4)],
        endings=count_endings(learned) + count_endings(extrinsic),
        walks=WalkTable(Room((5, 5), (2, 2), objects, {"A": 0.2, "B": -0.5, "C": 0.1}), rows),
        metrics={name: np.arange(1.0, 9.0) for name in names},
        training={"updates": 123, "lifetimes": 64, "seed": 5, "env_steps": 45678, "wall_s": 61.0},
    )


def test_the_report_holds_every_picture_the_numbers_and_how_to_get_them():
    results = results_by_hand()
    figures = draw(results)
    assert {f"{name}.png" for name in figures} == {name for name in FILES if name.endswith(".png")}
    png = demo_module._png(figures["training"])
    page = compose_report(results, dict.fromkeys(figures, png), "orexis demo --out 'my demo'", 432.0)
    assert page.count("data:image/png;base64,") == len(figures)
    for words in ("orexis demo --out &#x27;my demo&#x27;", "123 updates", "45,678", "7.2 minutes", "61 s", "jaxlib"):
        assert words in page
    assert "at most 8.00 times where it began" in page  # from 1 to 8
    assert f"{results.tables[0].extrinsic.mean():.3f}" in page
    assert "http:" not in page
    assert "https:" not in page


def test_the_same_figure_is_the_same_bytes():
    first, second = (demo_module._png(endings_figure(results_by_hand().endings)) for _ in range(2))
    assert first == second
    assert first.startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"updates": 0}, "--updates must be positive"),
        ({"seed": -1}, "--seed must be"),
        ({"lifetimes": 0}, "--lifetimes must be"),
    ],
)
def test_senseless_numbers_are_refused_before_anything_is_written(tmp_path, arguments, sentence):
    out = tmp_path / "demo"
    with pytest.raises(UsageError, match=sentence):
        demo(out, **{"updates": 1, "seed": 0, "lifetimes": 1, **arguments})
    assert not out.exists()


def test_a_file_in_the_way_is_refused(tmp_path):
    out = tmp_path / "demo"
    out.write_text("mine")
    with pytest.raises(UsageError, match="is a file"):
        demo(out, updates=1, seed=0)
    assert out.read_text() == "mine"


def test_an_interrupted_training_ends_the_demo_with_its_code(tmp_path, monkeypatch, capsys):
    asked = []

    def stopped(run_dir, config, resume):
        asked.append((run_dir, config.updates, config.seed, resume))
        return PREEMPTED

    monkeypatch.setattr(demo_module, "train", stopped)
    assert demo(tmp_path / "demo", updates=7, seed=3) == PREEMPTED
    assert asked == [(tmp_path / "demo" / "run", 7, 3, True)]
    assert "same command" in capsys.readouterr().out


@pytest.mark.slow
def test_demo_trains_evaluates_draws_and_goes_on(tmp_path, capsys):
    out = tmp_path / "demo"
    assert demo(out, updates=2, seed=0, lifetimes=8) == OK
    for name in (*FILES, "report.html", "lifetime.html", "run/reward/reward.json", "run/metrics.csv"):
        assert (out / name).stat().st_size > 0
    evaluation = json.loads((out / "evaluation.json").read_text())
    assert list(evaluation["sources"]) == [str(out / "run" / "reward"), "extrinsic-ep", "near-optimal"]
    assert all(numbers["n"] == 8 for numbers in evaluation["sources"].values())
    assert len((out / "evaluation.csv").read_text().splitlines()) == 1 + 3 * 8 * 50
    said = capsys.readouterr().out
    assert "report.html" in said.replace("\n", "")
    assert "extrinsic-ep" in said

    assert demo(out, updates=2, seed=0, lifetimes=8) == OK  # a second call trains nothing and says the same
    assert "nothing to do" in capsys.readouterr().out.replace("\n", " ")
    assert json.loads((out / "evaluation.json").read_text()) == evaluation

    with pytest.raises(UsageError, match="choose another --out"):
        demo(out, updates=2, seed=1, lifetimes=8)
