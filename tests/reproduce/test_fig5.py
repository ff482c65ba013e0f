"""`orexis reproduce fig5`: verdicts flip with doctored evidence, several rewards are judged, smoke ends in a minute."""

import dataclasses
import json

import numpy as np
import pytest

from orexis import cli
from orexis.evaluation.histories import Replay
from orexis.evaluation.walks import HISTORIES, WalkDraws, WalkSums, WalkTable
from orexis.reproduce.base import Request, find_rewards
from orexis.reproduce.claims import Claim, claims_table, measure
from orexis.reproduce.fig5 import reward_names
from orexis.reproduce.fig5_claims import (
    CLAIMS,
    A,
    B,
    C,
    Evidence,
    a_after_c,
    a_first,
    b_is_charged,
    both_before_settling,
    c_after_a,
    no_b_late,
    settled_from,
    the_better_in_the_end,
    tried_both,
)
from orexis.reproduce.fig5_worth import switch_point, worth_a_try, worths_of_a, worths_table
from orexis.storage.artefact import Artefact
from tests.figures.conftest import make_table
from tests.figures.test_walks import AS_IN_THE_PAPER

NUM_LIVES = 40


def outcomes(text: str, num_episodes: int = 50) -> np.ndarray:
    """Returns i[E], the endings that the letters name (`-`: nowhere), the last repeated to the end."""
    text += text[-1] * (num_episodes - len(text))
    return np.array(["ABC".find(letter) for letter in text])


def as_in_the_paper() -> Evidence:
    """Returns evidence for all that the paper says: A is tried, then C, then the better one for ever."""
    random = np.random.default_rng(0)
    worth = random.uniform((-1, -0.5, 0), (1, 0, 0.5), (200, 3))
    best = np.where(worth[:, A] > worth[:, C], A, C)
    promises = {(): [0.6, -0.5, 0.3], ("A",): [0.1, -0.5, 0.7], ("C",): [0.7, -0.5, 0.1]}
    sums = {visited: np.tile(promise, (200, 1)) for visited, promise in promises.items()}
    for visited in HISTORIES[3:]:
        sums[visited] = np.tile([0.1, -0.5, 0.1], (200, 1))
        sums[visited][np.arange(200), best] = 0.9
    sums = {visited: each + random.normal(0, 0.01, each.shape) for visited, each in sums.items()}
    lives = [outcomes(("AC", "CA")[i % 2] + "ABC"[k]) for i, k in enumerate(best)]
    outcome = np.stack(lives[:NUM_LIVES])
    table = dataclasses.replace(
        make_table("learned", NUM_LIVES), outcome=outcome, task_params={"rewards": worth[:NUM_LIVES]}
    )
    lived = np.repeat(sums[("A", "C")][:NUM_LIVES, None], 50, axis=1)
    first = outcome[:, 0]
    lived[:, 0] = promises[()]
    lived[:, 1] = np.where((first == A)[:, None], promises[("A",)], promises[("C",)])
    return Evidence(AS_IN_THE_PAPER, WalkDraws(worth, sums), table, Replay(lived, np.zeros((NUM_LIVES, 50))))


def with_case(evidence: Evidence, visited: tuple[str, ...], **sums: float) -> Evidence:
    """Returns the evidence with other sums in the paper's case after `visited`."""
    rows = tuple(
        tuple(WalkSums(p.visited, p.sums | sums) if p.visited == visited else p for p in row)
        for row in evidence.walks.rows
    )
    return dataclasses.replace(evidence, walks=WalkTable(evidence.walks.room, rows))


def with_draws(evidence: Evidence, visited: tuple[str, ...], column: int, value: float, share=1.0) -> Evidence:
    """Returns the evidence with the object `column` paid `value` after `visited`, in a share of the draws."""
    sums = {history: each.copy() for history, each in evidence.draws.sums.items()}
    sums[visited][: round(share * len(sums[visited])), column] = value
    return dataclasses.replace(evidence, draws=WalkDraws(evidence.draws.worth, sums))


def with_lives(evidence: Evidence, episode: int, column: int, value: float) -> Evidence:
    """Returns the evidence with the object `column` promised `value` in one episode of every lifetime."""
    sums = evidence.replay.sums.copy()
    sums[:, episode, column] = value
    return dataclasses.replace(evidence, replay=Replay(sums, evidence.replay.paid))


def with_outcomes(evidence: Evidence, *lives: str) -> Evidence:
    """Returns the evidence with every lifetime ending its episodes as one of `lives` says, in turn."""
    outcome = np.stack([outcomes(lives[i % len(lives)]) for i in range(NUM_LIVES)])
    return dataclasses.replace(evidence, table=dataclasses.replace(evidence.table, outcome=outcome))


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
def test_what_the_paper_says_holds_where_it_is_so(claim):
    found = claim(as_in_the_paper())
    assert found.verdict == "holds", found
    assert found.comparisons


PAPER = as_in_the_paper()


@pytest.mark.parametrize(
    ("claim", "doctored"),
    [
        (a_first, with_case(PAPER, (), C=0.6)),
        (a_first, with_case(PAPER, (), B=0.6)),
        (a_first, with_draws(PAPER, (), C, 0.9)),
        (a_first, with_draws(PAPER, (), B, 0.9)),
        (c_after_a, with_case(PAPER, ("A",), A=0.9)),
        (c_after_a, with_draws(PAPER, ("A",), A, 0.9)),
        (c_after_a, with_lives(PAPER, 1, A, 0.9)),
        (a_after_c, with_case(PAPER, ("C",), C=0.9)),
        (a_after_c, with_draws(PAPER, ("C",), C, 0.9)),
        (a_after_c, with_lives(PAPER, 1, C, 0.9)),
        (the_better_in_the_end, with_case(PAPER, ("C", "A"), C=1.9)),
        (the_better_in_the_end, with_draws(PAPER, ("A", "C"), B, 1.9, share=0.5)),
        (the_better_in_the_end, with_lives(PAPER, 2, B, 1.9)),
        (b_is_charged, with_case(PAPER, ("C",), B=0.1)),
        (b_is_charged, with_draws(PAPER, ("C", "A"), B, 0.1, share=0.3)),
        (b_is_charged, with_lives(PAPER, 40, B, 0.1)),
        (both_before_settling, with_outcomes(PAPER, "A", "ACA")),
        (no_b_late, with_outcomes(PAPER, "AC" + "A" * 40 + "BA")),
    ],
)
def test_one_doctored_number_is_enough_to_flip_a_verdict(claim, doctored):
    assert claim(doctored).verdict == "does not"


@pytest.mark.parametrize(
    ("claim", "doctored"),
    [
        (a_first, with_lives(PAPER, 0, A, -9.0)),  # episode 1 has no history: only scripted walks count
        (c_after_a, with_case(PAPER, ("C",), C=9.0)),
        (c_after_a, with_lives(PAPER, 2, A, 9.0)),
        (the_better_in_the_end, with_draws(PAPER, ("A",), B, 9.0)),
        (the_better_in_the_end, with_lives(PAPER, 3, B, 9.0)),
        (no_b_late, with_outcomes(PAPER, "BBBB" + "A" * 46)),
    ],
)
def test_what_a_claim_is_not_about_does_not_move_it(claim, doctored):
    assert claim(doctored).verdict == "holds"


def test_without_a_lifetime_to_measure_the_rest_decides():
    found = c_after_a(with_outcomes(PAPER, "-"))
    assert len(found.comparisons) == 2
    assert found.verdict == "holds"


def test_an_agent_has_settled_from_its_first_five_in_a_row_at_what_it_ends_with():
    lives = ("AACAAAA", "AAAAACB-C", "-", ("ACB" * 17)[:50])
    favourite, since = settled_from(np.stack([outcomes(life) for life in lives]))
    assert favourite.tolist() == [A, C, -1, C]
    assert since.tolist() == [3, 8, 50, 50]


@pytest.mark.parametrize(
    ("life", "both"),
    [
        ("ACA", True),
        ("CA", True),  # C, then A for ever
        ("A", False),  # never C
        ("AAAAAC" + "A" * 44, False),  # C only once it had settled
        ("AAAAC" + "A" * 45, True),
        ("ACB", True),
        ("AB", False),
        ("ACBACB" * 9, True),  # never settled, tried both
    ],
)
def test_both_are_tried_before_settling(life, both):
    assert tried_both(outcomes(life[:50])[None]).tolist() == [both]


def test_the_switch_is_where_fewest_draws_are_wrong():
    worth = np.array([-0.5, 0.3, 0.1, 0.5, -0.2, 0.7])
    assert switch_point(worth, 0.2 - worth) == pytest.approx(0.2)
    assert switch_point(worth, np.full(6, 1.0)) == pytest.approx(0.7)
    assert switch_point(worth, np.full(6, -1.0)) == pytest.approx(-0.5)


def test_c_is_worth_a_try_until_its_price_eats_its_gain():
    worth = worth_a_try(48)
    gain = 48 * np.mean(np.maximum(np.linspace(0, 0.5, 100_001) - worth, 0.0))
    assert worth == pytest.approx(0.4375)
    assert gain == pytest.approx(worth - 0.25, abs=1e-4)


def test_the_table_of_worths_has_a_row_for_each_range_and_columns_for_each_reward():
    found = [worths_of_a(PAPER, "seed 0"), worths_of_a(with_draws(PAPER, ("A",), A, 9.0), "seed 1")]
    assert [row["paid_for_a"] for row in found[1]["rows"]] == pytest.approx([9.0] * 5)
    here = PAPER.draws.worth[:, A] < -0.5
    assert found[0]["rows"][0]["paid_for_c"] == pytest.approx(PAPER.draws.sums[("A",)][here, C].mean())
    text = "\n".join(worths_table(found, 50))
    assert "| A is worth | seed 0: paid for A | for C | tried both | seed 1: paid for A |" in text
    assert text.count("| −1 to −0.5 |") == 1
    assert "less than 0.44" in text
    assert found[0]["switch"] > 0.9  # C is always paid more
    assert found[1]["switch"] < -0.9


def test_rewards_are_called_by_their_training_seeds():
    def artefact(seed: int, digest: str) -> Artefact:
        return Artefact("random-abc", None, None, {}, {"training": {"seed": seed}, "sha256": digest})  # type: ignore[arg-type]

    assert reward_names([artefact(0, "aaaaaaaa"), artefact(7, "bbbbbbbb")]) == ["seed 0", "seed 7"]
    assert reward_names([artefact(0, "aaaaaaaa"), artefact(0, "bbbbbbbb")]) == ["seed 0 (aaaaaa)", "seed 0 (bbbbbb)"]


def test_rewards_that_are_judged_stand_side_by_side():
    values = {"seed 0": np.array([1.0, 1.2]), "seed 1": np.array([-1.0, -1.2])}
    claims = [Claim("t", "said", "read", (measure("x", each, 0.0),), reward=name) for name, each in values.items()]
    lines = claims_table(claims).splitlines()
    assert lines[0] == "| the paper says | measured | bound | seed 0 | seed 1 |"
    assert lines[2] == "| “said” (read) | **all of it** | | **holds** | **does not** |"
    assert lines[3] == "| | x | ≥ 0 | 1.100 (1.000 to 1.200) holds | -1.100 (-1.200 to -1.000) does not |"
    undecided = [dataclasses.replace(claim, missing="too little") for claim in claims]
    assert "holds" not in claims_table(undecided)
    assert "too little" in claims_table(undecided)


@pytest.mark.parametrize(
    ("figure", "rewards", "complaint"),
    [
        ("fig3", ["random-abc=random-abc", "random-abc=random-abc-no-action"], "takes one reward of random-abc, not 2"),
        ("fig5", ["random-abc=random-abc", "random-abc=random-abc"], "was given twice"),
        ("fig5", ["key-box=random-abc"], "TASK=SOURCE"),
    ],
)
def test_rewards_that_a_figure_cannot_take_are_refused(figure, rewards, complaint, capsys, tmp_path):
    assert cli.main(["reproduce", figure, "--out", str(tmp_path), "--rewards", *rewards]) == 2
    assert complaint in capsys.readouterr().err


def test_the_first_reward_is_drawn_and_all_are_judged(tmp_path):
    request = Request(
        "small", tmp_path, ("random-abc",), {"random-abc": "random-abc"}, False, None, (),
        {"random-abc": ("random-abc-no-action",)},
    )  # fmt: skip
    assert find_rewards(request, "random-abc", tmp_path) == ["random-abc", "random-abc-no-action"]
    wrong = dataclasses.replace(request, others={"random-abc": ("nonstationary-abc",)})
    with pytest.raises(Exception, match="was not learned on random-abc"):
        find_rewards(wrong, "random-abc", tmp_path)


@pytest.mark.slow
def test_smoke_draws_the_first_and_judges_both(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("orexis.platform.prepare_jax", lambda num_devices=None: None)
    line = ["reproduce", "fig5", "--budget", "smoke", "--out", str(tmp_path), "--cache", str(tmp_path / "cache")]
    line += ["--rewards", "random-abc=random-abc", "random-abc=random-abc-no-action"]
    assert cli.main(line) == 0
    found = {path.name for path in (tmp_path / "fig5").iterdir()}
    assert found == {"fig5.png", "fig5.svg", "fig5-walks.png", "fig5-walks.svg", "claims.json", "README.md"}
    document = json.loads((tmp_path / "fig5" / "claims.json").read_text())
    assert len(document["claims"]) == 2 * len(CLAIMS)
    assert {claim["verdict"] for claim in document["claims"]} == {"undecided"}
    assert len({claim["reward"] for claim in document["claims"]}) == 2
    assert max(document["tasks"]["random-abc"]["replay_error"].values()) < 1e-4  # NumPy replays what JAX paid
    assert document["command"].count("random-abc=") == 2
    page = (tmp_path / "fig5" / "README.md").read_text()
    assert "![fig5-walks](fig5-walks.png)" in page
    assert str(tmp_path / "cache") not in page
    monkeypatch.setattr("orexis.evaluation.evaluate.evaluate_lifetimes", lambda *a, **k: pytest.fail("lived again"))
    assert cli.main(line) == 0  # redrawn from the cache
