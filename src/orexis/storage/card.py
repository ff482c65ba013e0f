"""The card of a reward, `README.md` beside its arrays: what a person reads first, all of it from `reward.json`."""

import math
from typing import Any

from orexis.errors import printable
from orexis.storage.reading import DamagedError

HOW_TO_USE = """
Learned by Orexis after Zheng et al., "What Can Learned Intrinsic Rewards Capture?" (ICML 2020). Use it with

```python
import orexis
reward = orexis.load_reward({name!r})
reward.begin(num_envs=1)          # once a lifetime
intrinsic = reward.step(next_observation, action, extrinsic, done{more})
```
"""
VIEWS = {
    "planes": "planes",
    "egocentric": "egocentric: things ahead and aside of the agent's own move, more prior knowledge than the paper has",
}


def write_card(record: dict[str, Any]) -> str:
    """Returns the card of the reward that `record`, a whole reward.json, describes. Raises DamagedError if it does not.

    Control characters in its texts are spelled out: a card is shown on terminals.
    """
    _check(record)
    sections = [_facts(record)]
    if record.get("evaluation"):
        sections.append(_evaluation(record["evaluation"]))
    if record.get("known_failures"):
        sections.append("\n".join(["## Known failures", "", *(f"- {line}" for line in record["known_failures"])]))
    if (record.get("config") or {}).get("meta"):
        sections.append("\n".join(["## Config", "", "```", *_leaves(record["config"]["meta"]), "```"]))
    title = f"# A learned intrinsic reward for `{record['task']}`\n"
    more = ", observation=acted_on" if _view(record) == "egocentric" else ""
    use = HOW_TO_USE.format(name=record.get("name", "path/to/this/folder"), more=more)
    return printable(title + use + "\n" + "\n\n".join(sections) + "\n", lines=True)


def _check(record: dict[str, Any]) -> None:
    """Raises DamagedError if what a card tells is of another type than Orexis writes."""
    for name, kind in {"training": dict, "evaluation": dict, "config": dict, "known_failures": list}.items():
        if record.get(name) is not None and not isinstance(record[name], kind):
            raise DamagedError(f"{name} of a reward must be {kind.__name__}, not {type(record[name]).__name__}")
    if not all(isinstance(line, str) for line in record.get("known_failures") or ()):
        raise DamagedError("known_failures of a reward must be sentences")
    if not isinstance((record.get("config") or {}).get("meta", {}), dict):
        raise DamagedError("config.meta of a reward must be dict")
    if record.get("evaluation"):
        _check_evaluation(record["evaluation"])


def _check_evaluation(evaluation: dict[str, Any]) -> None:
    sources = evaluation.get("sources")
    if not isinstance(sources, dict) or not {"lifetimes", "seed"} <= set(evaluation):
        raise DamagedError("evaluation of a reward must have sources, lifetimes and seed")
    for name, numbers in sources.items():
        told = numbers if isinstance(numbers, dict) else {}
        interval = told.get("ci95")
        pair = interval if isinstance(interval, list) and len(interval) == 2 else [None, None]
        if not all(_is_number(value) for value in (told.get("mean"), told.get("last_ten"), *pair)):
            raise DamagedError(f"evaluation of a reward must tell mean, ci95 and last_ten of {name!r} in numbers")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _facts(record: dict[str, Any]) -> str:
    training, network = record.get("training") or {}, record["network"]
    rows = [
        ("task", f"`{record['task']}`"),
        ("updates of the reward", training.get("updates", "?")),
        ("lifetimes in parallel", training.get("lifetimes", "?")),
        ("environment steps", training.get("env_steps", "?")),
        ("seed", training.get("seed", "?")),
        ("memory", network["history"]),
        ("sees the action", "yes" if network["sees_action"] else "no"),
        ("view", VIEWS[_view(record)]),
        ("sha256 of the arrays", f"`{record['sha256']}`"),
    ]
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)])


def _view(record: dict[str, Any]) -> str:
    """Returns what the reward sees; records of earlier versions do not say it, and mean planes."""
    return record["network"].get("view", "planes")


def _evaluation(evaluation: dict[str, Any]) -> str:
    lines = ["## Evaluation on fresh agents", "", "| source | mean of an episode | 95 % interval | last ten |"]
    lines += ["|---|---|---|---|"]
    for name, numbers in evaluation["sources"].items():
        low, high = numbers["ci95"]
        lines.append(f"| {name} | {numbers['mean']:.3f} | {low:.3f} to {high:.3f} | {numbers['last_ten']:.3f} |")
    return "\n".join([*lines, "", f"{evaluation['lifetimes']} lifetimes, seed {evaluation['seed']}."])


def _leaves(tree: dict[str, Any], where: str = "") -> list[str]:
    """Returns `name.of.leaf = value` for each leaf of nested objects."""
    lines = []
    for name, value in tree.items():
        lines += _leaves(value, f"{where}{name}.") if isinstance(value, dict) else [f"{where}{name} = {value}"]
    return lines
