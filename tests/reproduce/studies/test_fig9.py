"""`orexis reproduce fig9`: verdicts follow the tables, panels show them."""

import dataclasses

import numpy as np
import pytest

from orexis.colors import BLUE, ORANGE, VERMILLION
from orexis.errors import UsageError
from orexis.evaluation.table import SourceTable
from orexis.figures.evaluation import evaluation_figure
from orexis.reproduce.base import Request
from orexis.reproduce.studies.fig9 import MET, PANELS, draw, facts_table, find_blind_reward, tell
from orexis.reproduce.studies.fig9_claims import (
    CLAIMS,
    called,
    policies_fail,
    serves_another_learner,
    serves_other_actions,
)
from tests.figures.conftest import make_table

NOISE = 0.1 * np.random.default_rng(2).normal(size=(16, 50))
AS_THE_PAPER = {
    **{called("extrinsic", met): 0.2 for met in ("normal", "permuted", "extended")},
    **{called("reward", met): 0.3 for met in ("normal", "permuted", "extended", "q")},
    "extrinsic, q": 0.1,
    "rl2, normal": 0.37,
    "rl2, permuted": 0.0,
    "maml, normal": 0.3,
    "maml, permuted": 0.1,
}


def tables_of(**changed: float) -> dict[str, SourceTable]:
    """Returns tables as the paper has them, but for what is changed (`reward_q` is `reward, q`)."""
    levels = AS_THE_PAPER | {name.replace("_", ", "): level for name, level in changed.items()}
    return {name: dataclasses.replace(make_table(name, 16), extrinsic=NOISE + level) for name, level in levels.items()}


def test_as_the_paper_has_it_every_claim_holds():
    assert [claim(tables_of()).verdict for claim in CLAIMS] == ["holds"] * 3


@pytest.mark.parametrize(
    ("claim", "name", "level", "others"),
    [
        (serves_other_actions, "reward_permuted", 0.15, 2),
        (serves_other_actions, "extrinsic_extended", 0.35, 2),
        (serves_another_learner, "reward_q", 0.05, 1),
        (policies_fail, "rl2_permuted", 0.25, 2),
        (policies_fail, "maml_permuted", 0.25, 2),
    ],
)
def test_one_number_on_the_wrong_side_refutes(claim, name, level, others):
    found = claim(tables_of(**{name: level}))
    assert found.verdict == "does not"
    assert len(found.comparisons) == others
    assert [one.verdict for one in found.comparisons].count("does not") == 1


@pytest.mark.parametrize("name", ["reward_normal", "extrinsic_normal", "rl2_normal", "maml_normal"])
def test_what_was_met_in_training_decides_nothing(name):
    assert [claim(tables_of(**{name: -9.0})).verdict for claim in CLAIMS] == ["holds"] * 3


def test_a_claim_without_what_it_needs_is_undecided_and_says_so():
    tables = tables_of()
    del tables["maml, permuted"]
    assert [claim(tables).missing for claim in CLAIMS] == ["", "", "not there: maml, permuted"]


def test_panels_show_the_tables_they_name_in_the_colours_of_their_sources():
    tables = tables_of()
    panels = draw(tables, 0.4)
    assert [panel.title for panel in panels] == list(PANELS)
    for panel, lines in zip(panels, PANELS.values(), strict=True):
        assert [table.source for table in panel.tables] == [called(source, met) for source, met in lines]
        for (source, met), table in zip(lines, panel.tables, strict=True):
            assert table is tables[called(source, met)]
            style = panel.styles[table.source]
            own = {"reward": BLUE, "extrinsic": VERMILLION if met == "q" else ORANGE}
            assert style.color == own.get(source, style.color)
            assert (style.dashes == "-") == (met == "normal")
        looks = [(style.color, style.dashes) for style in panel.styles.values()]
        assert len(set(looks)) == len(looks)
    assert len(evaluation_figure(panels, intervals=True).axes) == 6


def test_what_is_not_there_is_not_drawn():
    tables = tables_of()
    del tables["rl2, normal"], tables["rl2, permuted"]
    assert [len(panel.tables) for panel in draw(tables, 0.4)] == [6, 4, 4]


def test_gains_are_over_extrinsic_agents_of_the_same_kind():
    facts = tell(tables_of(extrinsic_q=0.05), {}, {"maml": "why"})
    assert facts["more_than_extrinsic"]["reward, q"]["mean"] == pytest.approx(0.25)
    assert facts["more_than_extrinsic"]["rl2, permuted"]["mean"] == pytest.approx(-0.2)
    assert not any(name.startswith("extrinsic") for name in facts["more_than_extrinsic"])
    lines = facts_table({**facts, "trainings": {"rl2": {"updates": 7, "env_steps": 1_200_000}}})
    assert "Trained: RL² 7 updates, 1.2e+06 environment steps." in lines
    (line,) = (line for line in lines if line.startswith("| reward | Q-learner |"))
    assert line.endswith("| 0.25 (0.25 to 0.25) |")
    assert lines[-1] == "No MAML: why."


def test_policies_meet_only_agents_of_their_own_kind():
    for _, agent, sources in MET.values():
        assert agent == "actor-critic" or set(sources) == {"reward", "extrinsic"}
    assert set(MET["extended"][2]) == {"reward", "extrinsic"}


def test_the_reward_must_not_see_the_action(tmp_path):
    request = Request("small", tmp_path, ("random-abc",), {}, train=False, cache=None, command=())
    assert find_blind_reward(request) == ("random-abc-no-action", {})
    named = dataclasses.replace(request, rewards={"random-abc": "random-abc"})
    with pytest.raises(UsageError, match="does not see the action, which random-abc is not"):
        find_blind_reward(named)
    none, why = find_blind_reward(dataclasses.replace(request, budget="paper"))
    assert none is None
    assert "--no-reward-sees-action" in why["no-action"]
