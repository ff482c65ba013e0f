"""The card of a reward or policy, `README.md` beside its arrays: what a person reads first, all from its record."""

import math
from typing import Any

from orexis.errors import printable
from orexis.storage.reading import DamagedError
from orexis.storage.stages import all_env_steps, stages_of, updates_in_words

HOW_TO_USE = """
Learned by Orexis after Zheng et al., "What Can Learned Intrinsic Rewards Capture?" (ICML 2020). Use it with

```python
import orexis
reward = orexis.load_reward({name!r})
reward.begin(num_envs=1)          # once a lifetime
intrinsic = reward.step(next_observation, action, extrinsic, done{more})
```
"""
HOW_TO_EVALUATE = """
Learned by Orexis as a rival to learned rewards, after Zheng et al., "What Can Learned Intrinsic Rewards Capture?" (ICML
2020). {what} Let it live with

```sh
orexis evaluate {name} extrinsic-ep --task {task}
```
"""
POLICIES = {
    "rl2": "RL²: a policy with a memory over its whole lifetime; its parameters never change.",
    "maml": "MAML: what theta begins as; actor-critic agents learn from there by the extrinsic reward.",
}
AGENT = {"optimizer": "optimiser", "learning_rate": "rate", "rollout_length": "T", "gradient_clip": "clip"}
"""What a card tells of the agents first, and how: all of their settings stand in its config."""
STAGE = {"updates": "{} updates", "episodes": "lifetimes of {} episodes", "seed": "seed {}", "env_steps": "{} steps"}
"""Likewise of the runs that a training went through."""
VIEWS = {
    "planes": "planes",
    "egocentric": "egocentric: things ahead and aside of the agent's own move, more prior knowledge than the paper has",
}


def write_card(record: dict[str, Any]) -> str:
    """Returns the card of the reward or policy that `record`, a whole reward.json or policy.json, describes.

    Control characters in its texts are spelled out: a card is shown on terminals. Raises DamagedError for wrong types.
    """
    _check(record)
    sections = [_facts(record)]
    if record.get("evaluation"):
        sections.append(_evaluation(record["evaluation"]))
    if record.get("known_failures"):
        sections.append("\n".join(["## Known failures", "", *(f"- {line}" for line in record["known_failures"])]))
    if (record.get("config") or {}).get("meta"):
        sections.append("\n".join(["## Config", "", "```", *_leaves(record["config"]["meta"]), "```"]))
    return printable(_title(record) + "\n" + "\n\n".join(sections) + "\n", lines=True)


def _title(record: dict[str, Any]) -> str:
    """Returns what it is and how to use it."""
    name, task = record.get("name", "path/to/this/folder"), record["task"]
    if record.get("kind") == "policy":
        use = HOW_TO_EVALUATE.format(what=POLICIES[record["learn"]], name=name, task=task)
        return f"# A learned policy for `{task}`\n{use}"
    more = ", observation=acted_on" if _view(record) == "egocentric" else ""
    return f"# A learned intrinsic reward for `{task}`\n{HOW_TO_USE.format(name=name, more=more)}"


def _check(record: dict[str, Any]) -> None:
    """Raises DamagedError if what a card tells is of another type than Orexis writes."""
    for name, kind in {"training": dict, "evaluation": dict, "config": dict, "known_failures": list}.items():
        if record.get(name) is not None and not isinstance(record[name], kind):
            raise DamagedError(f"{name} must be {kind.__name__}, not {type(record[name]).__name__}")
    if not all(isinstance(line, str) for line in record.get("known_failures") or ()):
        raise DamagedError("known_failures must be sentences")
    if not isinstance((record.get("config") or {}).get("meta", {}), dict):
        raise DamagedError("config.meta must be dict")
    if record.get("evaluation"):
        _check_evaluation(record["evaluation"])


def _check_evaluation(evaluation: dict[str, Any]) -> None:
    sources = evaluation.get("sources")
    if not isinstance(sources, dict) or not {"lifetimes", "seed"} <= set(evaluation):
        raise DamagedError("evaluation must have sources, lifetimes and seed")
    for name, numbers in sources.items():
        told = numbers if isinstance(numbers, dict) else {}
        interval = told.get("ci95")
        pair = interval if isinstance(interval, list) and len(interval) == 2 else [None, None]
        if not all(_is_number(value) for value in (told.get("mean"), told.get("last_ten"), *pair)):
            raise DamagedError(f"evaluation must tell mean, ci95 and last_ten of {name!r} in numbers")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _facts(record: dict[str, Any]) -> str:
    training, network = record.get("training") or {}, record["network"]
    kind = record.get("kind", "reward")
    rows = [
        ("task", f"`{record['task']}`"),
        *([] if kind == "reward" else [("learned as", record["learn"])]),
        (f"updates of the {kind}", updates_in_words(record)),
        *_stages(record),
        ("lifetimes in parallel", training.get("lifetimes", "?")),
        ("environment steps", all_env_steps(record) or "?"),
        ("seed", ", ".join(str(stage.get("seed", "?")) for stage in stages_of(record)) or training.get("seed", "?")),
        *_recipe(record),
        *(_senses(record) if "history" in network else []),
        ("sha256 of the arrays", f"`{record['sha256']}`"),
    ]
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)])


def _stages(record: dict[str, Any]) -> list[tuple[str, str]]:
    """Returns the row on the runs that were begun with one another's learners; none where there was one run only."""
    stages = stages_of(record)
    told = [", ".join(words.format(stage[name]) for name, words in STAGE.items() if name in stage) for stage in stages]
    return [("in stages", "; then ".join(told))] if len(stages) > 1 else []


def _recipe(record: dict[str, Any]) -> list[tuple[str, str]]:
    """Returns the rows on how it was trained, as far as the record tells: older ones know no recipe."""
    config = record.get("config") or {}
    agent = (config.get("meta") or {}).get("agent")
    told = [(name, agent[name]) for name in AGENT if agent.get(name) is not None] if isinstance(agent, dict) else []
    rows = [
        ("recipe", config.get("recipe")),
        ("episodes of a lifetime in training", (record.get("spec") or {}).get("episodes_per_lifetime")),
        ("agent", ", ".join(f"{AGENT[name]} {value}" for name, value in told)),
    ]
    return [(name, str(value)) for name, value in rows if value]


def _senses(record: dict[str, Any]) -> list[tuple[str, str]]:
    """Returns the rows on what a network with a memory sees."""
    network = record["network"]
    return [
        ("memory", network["history"]),
        ("sees the action", "yes" if network["sees_action"] else "no"),
        ("view", VIEWS[_view(record)]),
        *(
            [("keeps a ledger", "yes, of what episodes paid that ended on each thing")]
            if network.get("keeps_ledger")
            else []
        ),
        *([("sees a clock", _clock(record))] if network.get("sees_clock") else []),
    ]


def _clock(record: dict[str, Any]) -> str:
    """Returns what lifetimes the reward's clock is made for."""
    return f"yes, of lifetimes of {record['spec']['episodes_per_lifetime']} episodes; after them it stands still"


def _view(record: dict[str, Any]) -> str:
    """Returns what the reward sees; records of earlier versions do not say it, and mean planes."""
    return record["network"].get("view", "planes")


def _evaluation(evaluation: dict[str, Any]) -> str:
    lines = ["## Evaluation on fresh agents", "", "| source | mean of an episode | 95 % interval | last ten |"]
    lines += ["|---|---|---|---|"]
    for name, numbers in evaluation["sources"].items():
        low, high = numbers["ci95"]
        lines.append(f"| {name} | {numbers['mean']:.3f} | {low:.3f} to {high:.3f} | {numbers['last_ten']:.3f} |")
    episodes = f" of {evaluation['episodes']} episodes" if "episodes" in evaluation else ""  # older records: not told
    about = f"{evaluation['lifetimes']} lifetimes{episodes}, seed {evaluation['seed']}."
    return "\n".join([*lines, "", about, *_spread(evaluation["sources"])])


def _spread(sources: dict[str, dict[str, Any]]) -> list[str]:
    """Returns the line on how far trainings with other seeds came, if any were evaluated beside this one."""
    seeds = {name: numbers for name, numbers in sources.items() if name == "learned" or numbers.get("same_training")}
    if len(seeds) < 2:
        return []
    means = sorted(numbers["mean"] for numbers in seeds.values())
    told = ", ".join(f"{mean:.3f}" for mean in means)
    return ["", f"Trained with {len(seeds)} seeds: {told} an episode, a spread of {means[-1] - means[0]:.3f}."]


def _leaves(tree: dict[str, Any], where: str = "") -> list[str]:
    """Returns `name.of.leaf = value` for each leaf of nested objects."""
    lines = []
    for name, value in tree.items():
        lines += _leaves(value, f"{where}{name}.") if isinstance(value, dict) else [f"{where}{name} = {value}"]
    return lines
