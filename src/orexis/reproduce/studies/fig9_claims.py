"""What the paper says about its ninth figure, and how tables of lifetimes decide it."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from orexis.evaluation.table import SourceTable
from orexis.reproduce.claims import Claim
from orexis.reproduce.studies.base import difference

Tables: TypeAlias = Mapping[str, SourceTable]
TASK = "random-abc"
NORMAL, PERMUTED, EXTENDED, Q = "normal", "permuted", "extended", "q"
"""Who is met: the actor-critic with its own, permuted or extended actions, and a Q-learner."""
REWARD, EXTRINSIC, RL2, MAML = "reward", "extrinsic", "rl2", "maml"
"""What it lives by."""
POLICIES = {RL2: "RL²", MAML: "MAML"}
MEASURED = "mean return of an episode over the lifetime"


def called(source: str, met: str) -> str:
    """Returns what the table of a source is called where it meets those agents."""
    return f"{source}, {met}"


def serves_other_actions(tables: Tables) -> Claim:
    """(a)"""
    return _differences(
        tables,
        "the intrinsic reward provided useful rewards to new agents with different actions",
        f"{MEASURED}, learned less extrinsic with the same actions, is above 0",
        [(REWARD, EXTRINSIC, PERMUTED), (REWARD, EXTRINSIC, EXTENDED)],
    )


def serves_another_learner(tables: Tables) -> Claim:
    """(b)"""
    return _differences(
        tables,
        "the learned intrinsic reward is general enough to be useful for Q-learning agents",
        f"{MEASURED}, learned less extrinsic, both Q-learners, is above 0",
        [(REWARD, EXTRINSIC, Q)],
    )


def policies_fail(tables: Tables) -> Claim:
    """(c)"""
    return _differences(
        tables,
        "both RL² and MAML generalise poorly when the action space is permuted for Random ABC",
        f"{MEASURED} with permuted actions, policy less extrinsic, is at most 0",
        [(RL2, EXTRINSIC, PERMUTED), (MAML, EXTRINSIC, PERMUTED)],
        at_least=False,
    )


CLAIMS: tuple[Callable[[Tables], Claim], ...] = (serves_other_actions, serves_another_learner, policies_fail)
"""Each sentence about the figure: functions of the tables by what `called` returns."""


def _differences(
    tables: Tables, sentence: str, reading: str, pairs: Sequence[tuple[str, str, str]], at_least: bool = True
) -> Claim:
    """Returns the claim about differences of two sources that meet the same agents, or what is missing."""
    needed = [called(source, met) for first, second, met in pairs for source in (first, second)]
    absent = [name for name in dict.fromkeys(needed) if name not in tables]
    if absent:
        return Claim(TASK, sentence, reading, (), f"not there: {'; '.join(absent)}")
    compared = [
        difference(
            f"{POLICIES.get(first, first)} − {second}, {met}",
            tables[called(first, met)],
            tables[called(second, met)],
            at_least=at_least,
        )
        for first, second, met in pairs
    ]
    return Claim(TASK, sentence, reading, tuple(compared))
