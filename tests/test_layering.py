"""A module imports only from lines above its own, and nothing above `runs` touches files, clocks or the console.

Read from the source, not from what happens to be imported: `import` anywhere in a file counts.
"""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "orexis"

LINES = (
    ("types", "config", "presets"),
    ("returns", "losses", "optimizers", "statistics"),
    ("networks",),
    ("tasks",),
    ("rewards",),
    ("agents",),
    ("testing",),
    ("meta",),
    ("reference",),
    ("zoo",),
    ("interop",),
    ("figures",),
    ("runs",),
    ("reproduce",),
    ("cli", "__main__"),
)
LEVEL = {name: level for level, names in enumerate(LINES) for name in names}
CONSOLE_FILES_CLOCKS = {"print", "open", "input"}


def part_of(module: str) -> str:
    """Returns the part that a dotted module belongs to: `orexis.tasks.abc` to `tasks`."""
    return module.split(".")[1] if "." in module else ""


def modules() -> dict[str, Path]:
    """Returns every module of the package by its dotted name; the package's own `__init__` is not one."""
    names = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        if parts != ("orexis", "__init__"):
            names[".".join(parts)] = path
    return names


def imports(tree: ast.AST, module: str) -> set[str]:
    """Returns the dotted names that `module` imports, relative ones resolved; `from orexis import x` is `orexis.x`."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join([*module.split(".")[: -node.level], *([base] if base else [])])
            found |= {f"{base}.{alias.name}" for alias in node.names}
    return found


def breaches(module: str, source: str) -> list[str]:
    """Returns one line for each rule of the layers that a module's source breaks."""
    tree, own = ast.parse(source), part_of(module)
    names = imports(tree, module)
    found = [
        f"{module} imports {name}, which is below it"
        for name in sorted(names)
        if name.startswith("orexis.") and part_of(name) in LEVEL and LEVEL[part_of(name)] > LEVEL[own]
    ]
    if LEVEL[own] < LEVEL["runs"]:
        found += [f"{module} imports time" for name in names if name.split(".")[0] == "time"]
        found += [
            f"{module} calls {node.func.id}() in line {node.lineno}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CONSOLE_FILES_CLOCKS
        ]
    return found


@pytest.mark.parametrize("module", modules())
def test_a_module_keeps_to_its_layer(module: str):
    assert part_of(module) in LEVEL, f"{module} has no line of its own: add it to LINES"
    assert breaches(module, modules()[module].read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("orexis.tasks.abc", "from orexis.meta.outer import outer_loss"),
        ("orexis.tasks.abc", "from orexis import agents"),
        ("orexis.tasks.abc", "import orexis.rewards.base"),
        ("orexis.tasks.abc", "from ..rewards import base"),
        ("orexis.tasks.abc", "def f():\n    from orexis.runs import train"),
        ("orexis.returns", "from orexis.networks import layers"),
        ("orexis.meta.outer", "print('here')"),
        ("orexis.figures.curves", "with open('x') as file: pass"),
        ("orexis.meta.engine", "import time"),
        ("orexis.meta.engine", "from time import perf_counter"),
    ],
)
def test_a_breach_is_found(module: str, source: str):
    assert len(breaches(module, source)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("orexis.tasks.abc", "from orexis.tasks.grid import move\nfrom orexis.types import record"),
        ("orexis.losses", "from orexis.returns import discounted_returns"),
        ("orexis.runs.train", "import time\nprint(open('x'))"),
        ("orexis.cli", "from orexis.runs import train"),
        ("orexis.figures.table", "table.open()\nself.print('x')"),
    ],
)
def test_what_is_allowed_is_not_called_a_breach(module: str, source: str):
    assert breaches(module, source) == []
