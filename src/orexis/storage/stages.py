"""The stages of a training: runs of which each began with what the one before had learned, oldest first.

A record tells those before its own run in `training.stages`, and its own run in `training` itself. Version 0.1 told of
earlier runs nothing, and later ones for a while only all their environment steps, as `training.earlier_env_steps`.
"""

from collections.abc import Mapping
from typing import Any

Stage = dict[str, int]
"""What is told of one run, as far as it is known: see `FIELDS`."""

FIELDS = ("updates", "seed", "lifetimes", "episodes", "env_steps")
"""episodes: of a lifetime. env_steps: without those of validations."""
MOST = 64
"""Stages that are told; the oldest of more are dropped, so that no record grows without bound."""


def stages_of(record: Mapping[str, Any]) -> list[Stage]:
    """Returns every stage of the training that a record of a reward, policy or learner tells, its own run last.

    What nobody can have counted is left out; a record without a training has no stage.
    """
    training, spec = (_object(record.get(name)) for name in ("training", "spec"))
    own = _known([{**training, "episodes": spec.get("episodes_per_lifetime")}])
    return [*earlier_stages(training), *own][-MOST:]


def earlier_stages(training: Mapping[str, Any]) -> list[Stage]:
    """Returns the stages before the run that `training`, of a record or a manifest, tells."""
    told = training.get("stages")
    return _known(told if isinstance(told, list) else [{"env_steps": training.get("earlier_env_steps")}])


def check_stages(told: Any) -> list[Stage]:
    """Returns `told`, the stages in a manifest. Raises ValueError if they are not as Orexis writes them."""
    if not isinstance(told, list) or _known(told) != told:
        raise ValueError(f"stages must be objects of whole numbers, not {str(told)[:80]}")
    return told


def all_env_steps(record: Mapping[str, Any]) -> int:
    """Returns how many environment steps the training that a record tells had, in all stages; 0 where none is told."""
    return sum(stage.get("env_steps", 0) for stage in stages_of(record))


def all_updates(record: Mapping[str, Any]) -> int:
    """Returns how many updates the training that a record tells had, in all stages; 0 where none is told."""
    return sum(stage.get("updates", 0) for stage in stages_of(record))


def updates_in_words(record: Mapping[str, Any]) -> str:
    """Returns what `all_updates` counts, and whether a stage has not told its own."""
    known = all_updates(record)
    if not known:
        return "?"
    return f"{known}{'' if all('updates' in stage for stage in stages_of(record)) else ' and those of earlier stages'}"


def _known(told: list[Any]) -> list[Stage]:
    """Returns of each stage what can be true of it, without stages of which nothing can."""
    stages = [{name: stage[name] for name in FIELDS if _is_count(stage.get(name))} for stage in map(_object, told)]
    return [stage for stage in stages if stage.get("updates") or stage.get("env_steps")][-MOST:]


def _object(told: Any) -> Mapping[str, Any]:
    return told if isinstance(told, Mapping) else {}


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63
