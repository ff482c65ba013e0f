"""The page of docstrings: directives for everything that `import orexis` offers, and for its neighbours."""

import inspect
import re
from typing import Any

import orexis
import orexis.interop

HEAD = """\
# Docstrings

What `import orexis` offers, as the docstrings say. Each name with an example: [reference](../reference/python.md). The
fields of the settings: [settings](settings.md).
"""
OTHERS = {
    "Learned rewards in other agents": [f"orexis.interop.{name}" for name in orexis.interop.__all__]
    + ["orexis.interop.sb3.VecIntrinsicReward"],
    "Tasks from elsewhere": ["orexis.tasks.adapters.from_gymnax"],
    "Errors": ["orexis.errors.CommandError", "orexis.errors.UsageError", "orexis.errors.BadDataError"],
}


def page() -> str:
    """Returns the page of all public names, as Markdown with Sphinx's directives."""
    names = [name for name in orexis.__all__ if name != "__version__" and name != "load_reward"]
    kinds: dict[str, list[str]] = {"Functions": [], "Contracts": [], "Settings": []}
    for name in names:
        kinds[kind(getattr(orexis, name))].append(f"orexis.{name}")
    lines = [HEAD]
    for title, paths in {**kinds, **OTHERS}.items():
        lines += [f"## {title}", ""]
        for path in paths:
            lines += ["```{eval-rst}", *directive(path, title), "```", ""]
    return "\n".join(lines)


def kind(thing: Any) -> str:
    """Returns the heading under which a public name belongs."""
    if not inspect.isclass(thing):
        return "Functions"
    return "Contracts" if getattr(thing, "_is_protocol", False) else "Settings"


def directive(path: str, title: str) -> list[str]:
    """Returns Sphinx's directive for a name."""
    if title == "Settings":
        return [f".. autoclass:: {path}"]
    last = path.rpartition(".")[2]
    if last[0].isupper():
        return [f".. autoclass:: {path}", "   :members:"]
    return [f".. autofunction:: {path}"]


def process_docstring(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Sphinx's hook: `name: what it is` becomes the description of a parameter, drawings stay as they are."""
    lines[:] = as_fields(lines, parameters_of(thing))


def parameters_of(thing: Any) -> set[str]:
    try:
        return set(inspect.signature(thing).parameters)
    except (TypeError, ValueError):
        return set()


def as_fields(lines: list[str], parameters: set[str]) -> list[str]:
    """Returns the lines of a docstring with those that explain parameters as Sphinx's fields."""
    found: list[str] = []
    in_field = False
    for line in lines:
        match = re.match(r"(\w+(?:, \w+)*): (.*)", line)
        begins = bool(match) and set(match[1].split(", ")) <= parameters  # type: ignore[index]
        goes_on = in_field and line.startswith(" ")
        if begins != in_field and not goes_on and found and found[-1]:
            found.append("")  # a list of fields begins and ends with an empty line
        if match and begins:
            names = match[1].split(", ")
            found += [*(f":param {name}: see {names[-1]}." for name in names[:-1]), f":param {names[-1]}: {match[2]}"]
        else:
            found.append(line)
        in_field = begins or goes_on
    return found
