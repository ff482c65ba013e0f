"""Tables in the documents say what the registries, the tasks and the presets say."""

import re
from pathlib import Path

from orexis.agents.registry import AGENTS, POLICIES
from orexis.evaluation.sources import SOURCES, Setting
from orexis.presets import PAPER_TASKS, RECIPES, preset
from orexis.rewards.registry import LEARNED, REWARDS
from orexis.tasks.registry import make_task

ROOT = Path(__file__).parent.parent


def read_table(document: str, first_cell: str) -> list[list[str]]:
    """Returns the rows below the heading that begins with `first_cell`, as cells."""
    text = (ROOT / "docs" / document).read_text(encoding="utf-8")
    lines = text[text.index(f"| {first_cell} |".replace("  ", " ")) :].split("\n\n")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
    return [rows[0], *rows[2:]]


def test_the_table_of_sources_is_that_of_the_registries():
    _, learned, *rows = read_table("reference/evaluation.md", "source")
    learner = AGENTS[Setting.__dataclass_fields__["agent"].default]
    assert learned[1:] == [learner.summary, REWARDS[LEARNED].summary]
    expected = []
    for name, pair in SOURCES.items():
        agent = AGENTS[pair.agent] if pair.agent else learner
        expected.append([f"`{name}`", agent.summary, REWARDS[pair.reward].summary if agent.learns else ""])
    assert rows == expected


def test_the_table_of_policies_is_that_of_the_registry():
    _, *rows = read_table("reference/evaluation.md", "policy")
    assert rows == [[f"`{name}`", entry.summary] for name, entry in POLICIES.items()]


def agents_cell(task: str, recipe: str) -> str:
    agent = preset(task, recipe).agent
    optimizer = {"sgd": "SGD", "adam": "Adam"}[agent.optimizer]
    clip = "none" if agent.gradient_clip is None else f"{agent.gradient_clip:g}"
    return f"{agent.rollout_length}, {optimizer} {agent.learning_rate:g}, {agent.entropy_cost:g}, {clip}"


def test_the_table_of_domains_is_that_of_the_tasks_and_the_presets():
    heading, *rows = read_table("reference/tasks.md", "")
    table = {row[0]: row[1:] for row in rows}
    names = [name.strip("`") for name in table["name"]]
    assert len(heading) == 5
    assert sorted(names) == sorted(PAPER_TASKS)
    for name, observation, episodes in zip(
        names, table["observation H×W×C"], table["episodes in a lifetime"], strict=True
    ):
        spec = make_task(name).spec
        assert observation.split(":")[0] == "×".join(map(str, spec.observation_shape))
        assert int(episodes) == spec.episodes_per_lifetime
    for recipe in RECIPES:
        (row,) = (cells for first, cells in table.items() if first.startswith(f"agent, `--recipe {recipe}`"))
        assert row == [agents_cell(name, recipe) for name in names]


def test_no_document_or_module_cites_a_file_that_readers_do_not_have():
    files = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py"), *(ROOT / "examples").rglob("*.py")]
    assert len(files) > 100
    citing = [path.name for path in files if re.search(r"\bDESIGN\b", path.read_text(encoding="utf-8"))]
    assert citing == []


def test_the_ppo_example_says_how_often_it_updates():
    text = (ROOT / "examples" / "sb3_ppo.py").read_text(encoding="utf-8")
    assert re.findall(r"an update every (\d+) steps", text) == re.findall(r"n_steps=(\d+)", text)
