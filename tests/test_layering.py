"""A module imports only from lines above its own, and the pure rooms touch no files, clocks, processes or console.

Read from the source, not from what happens to be imported: `import` anywhere in a file counts.
"""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "orexis"

LINES = (
    ("types", "config_json", "config", "presets", "errors", "colors"),
    ("returns", "losses", "optimizers", "statistics"),
    ("networks",),
    ("tasks",),
    ("rewards",),
    ("agents",),
    ("testing",),
    ("meta",),
    ("reference",),
    ("storage",),
    ("zoo",),
    ("interop",),
    ("platform",),
    ("evaluation",),
    ("figures",),
    ("training",),
    ("viewer",),
    ("bench",),
    ("tools",),
    ("reproduce",),
    ("api",),
    ("commands",),
    ("cli", "__main__"),
)
LEVEL = {name: level for level, names in enumerate(LINES) for name in names}
PURE = {name for names in LINES for name in names if LEVEL[name] < LEVEL["storage"]} | {"figures"}
"""Rooms that touch no file, no clock, no process and no console: arrays or tables in, arrays or figures out."""
FUNCTIONS = {"print", "open", "input"}
METHODS = {
    *("open", "read_text", "read_bytes", "write_text", "write_bytes", "mkdir", "unlink", "touch", "rename"),
    *("rmtree", "iterdir", "glob", "rglob", "stat", "savefig", "savez", "savez_compressed", "system", "fsync"),
}
"""Names of what is called on paths, modules and figures to touch the disk, whatever they are called on."""
MODULES = {"time", "datetime", "subprocess", "shutil", "tempfile", "socket", "signal", "logging"}


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


def touching_calls(tree: ast.AST) -> list[tuple[str, int]]:
    """Returns name and line of every call that touches files or the console: of a function, or of a method."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS:
            found.append((node.func.id, node.lineno))
        if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
            found.append((node.func.attr, node.lineno))
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
    if own in PURE:
        found += [f"{module} imports {name}" for name in sorted(names) if name.split(".")[0] in MODULES]
        found += [f"{module} calls {name}() in line {line}" for name, line in touching_calls(tree)]
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
        ("orexis.tasks.abc", "def f():\n    from orexis.training import train"),
        ("orexis.returns", "from orexis.networks import layers"),
        ("orexis.meta.outer", "print('here')"),
        ("orexis.figures.curves", "with open('x') as file: pass"),
        ("orexis.meta.engine", "import time"),
        ("orexis.meta.engine", "from time import perf_counter"),
        ("orexis.meta.engine", "Path('x').write_text('y')"),
        ("orexis.figures.curves", "figure.savefig('x.png')"),
        ("orexis.rewards.count", "import subprocess"),
        ("orexis.tasks.abc", "np.savez_compressed(file, x=x)"),
    ],
)
def test_a_breach_is_found(module: str, source: str):
    assert len(breaches(module, source)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("orexis.tasks.abc", "from orexis.tasks.grid import move\nfrom orexis.types import record"),
        ("orexis.losses", "from orexis.returns import discounted_returns"),
        ("orexis.training.train", "import time\nprint(open('x'))"),
        ("orexis.cli", "from orexis.training import train"),
        ("orexis.evaluation.table", "table.open()\nself.print('x')"),
    ],
)
def test_what_is_allowed_is_not_called_a_breach(module: str, source: str):
    assert breaches(module, source) == []


def test_no_room_is_crowded_and_no_module_is_long():
    rooms: dict[Path, list[int]] = {}
    for path in modules().values():
        rooms.setdefault(path.parent, []).append(len(path.read_text(encoding="utf-8").splitlines()))
    lengths = sorted(length for path, sizes in rooms.items() for length in sizes if length)
    assert {path.name: len(sizes) for path, sizes in rooms.items() if len([s for s in sizes if s]) > 14} == {}
    assert lengths[len(lengths) // 2] <= 120
    assert [path.name for path in modules().values() if len(path.read_text(encoding="utf-8").splitlines()) > 300] == []
