"""One entry is all that a new reward takes; names are known without JAX."""

import re
import subprocess
import sys
import textwrap

import pytest

from orexis.config import AgentConfig, BonusConfig
from orexis.evaluation.sources import Setting, make_source
from orexis.rewards.registry import LEARNED, REWARDS, RewardInputs
from orexis.tasks.abc import RandomABC

A_NEW_REWARD = """
    import dataclasses, sys
    from orexis.rewards import registry
    from orexis.rewards.registry import REWARDS, RewardEntry

    @dataclasses.dataclass(frozen=True)
    class Made:
        scale: float
        def init(self, key): return ("made with", self.scale)

    REWARDS["rnd"] = RewardEntry(
        "rnd", "RND", "#123456", "the error of a random network", lambda inputs: Made(inputs.scale), 0.7,
        {"rnd_scale": (1.0, 2.0)},
    )
    from orexis import cli
    from orexis.evaluation.sources import check_source_name
    check_source_name("rnd")
    assert "jax" not in sys.modules
    from orexis.config import AgentConfig
    from orexis.evaluation.sources import Setting, make_source
    from orexis.evaluation.sweep import grid_of, with_coefficients
    from orexis.figures.palette import SourceStyle, style_of
    from orexis.tasks.probes import Bandit

    assert style_of("rnd") == SourceStyle("RND", "#123456")
    setting = Setting("bandit", Bandit(), AgentConfig())
    assert make_source("rnd", setting).params == ("made with", 0.7)
    points = [make_source("rnd", with_coefficients(setting, point)).reward.scale for point in grid_of("rnd")]
    assert points == [1.0, 2.0]
    for command in ("evaluate", "sweep"):
        try:
            cli.main([command, "--help"])
        except SystemExit:
            pass
"""


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_entry_is_all_that_the_command_line_the_sweep_and_the_figures_need():
    helps = run(A_NEW_REWARD)
    assert len(re.findall(r"\brnd\b", helps)) == 2


def test_names_are_known_without_jax():
    said = run(
        "import sys, orexis.rewards.registry, orexis.agents.registry, orexis.evaluation.sources, orexis.cli\n"
        "print('jax' in sys.modules, 'matplotlib' in sys.modules)"
    )
    assert said.split() == ["False", "False"]


def test_entries_are_filed_under_their_own_names_and_told_apart():
    assert all(name == entry.name for name, entry in REWARDS.items())
    for field in ("label", "color", "summary"):
        values = [getattr(entry, field) for entry in REWARDS.values()]
        assert len(set(values)) == len(values)
    assert all(re.fullmatch("#[0-9A-F]{6}", entry.color) for entry in REWARDS.values())


def test_a_grid_varies_the_agent_or_the_entrys_own_scale():
    agent = set(AgentConfig.__dataclass_fields__)
    for name, entry in REWARDS.items():
        assert set(entry.grid) <= agent | {f"{name}_scale"}
        assert entry.scale is not None or f"{name}_scale" not in entry.grid


def setting(**scales: float) -> Setting:
    return Setting("random-abc", RandomABC(), AgentConfig(), BonusConfig(scales))


@pytest.mark.parametrize("name", ["count", "icm", "teacher"])
def test_a_scale_is_the_settings_or_else_the_entrys(name: str):
    assert make_source(name, setting()).reward.scale == REWARDS[name].scale == 0.1
    assert make_source(name, setting(**{name: 0.3})).reward.scale == 0.3


@pytest.mark.parametrize("name", ["cuont", "extrinsic-ep", LEARNED])
def test_a_scale_that_no_source_has_is_refused(name: str):
    with pytest.raises(ValueError, match=f"'{name}' has no scale; reward sources that have are count, icm, teacher"):
        setting(**{name: 0.3})


@pytest.mark.parametrize("scale", [-0.1, float("nan"), float("inf")])
def test_a_scale_that_is_no_weight_is_refused(scale: float):
    with pytest.raises(ValueError, match="count_scale must not be negative or infinite"):
        BonusConfig({"count": scale})


def test_a_learned_reward_needs_its_network():
    task = RandomABC()
    with pytest.raises(ValueError, match="needs its network"):
        REWARDS[LEARNED].factory(RewardInputs(task, task.spec))
