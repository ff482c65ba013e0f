"""The settings with the paper's symbols: a table for each class of `orexis.config`, read from its source."""

import ast
import dataclasses
import io
import re
import tokenize

from orexis_docs.tables import table

TRAINED = {"AgentConfig": "agent", "HistoryNetConfig": "reward", "OuterConfig": "outer"}
"""What `orexis train` calls the settings of a class."""
HEAD = """\
# Settings

Every setting of a run, made from `src/orexis/config.py` when this site was built. They are frozen dataclasses that
refuse bad values when they are made; the values for each task are recipes, `orexis.preset(task, recipe)`. On the
command line the settings of `AgentConfig`, `HistoryNetConfig` and `OuterConfig` are options of `orexis train`:
`--agent.learning-rate 0.03`. *Paper* is the symbol that the paper has for it, as in the [glossary]({glossary});
*open* in the notes means that the paper does not say."""


@dataclasses.dataclass(frozen=True)
class Field:
    """One setting."""

    name: str
    type: str
    default: str  # "" where it must be given
    comment: str


@dataclasses.dataclass(frozen=True)
class Class:
    """One class of settings."""

    name: str
    summary: str
    fields: tuple[Field, ...]


def read_classes(source: str) -> list[Class]:
    """Returns the dataclasses of a module with their fields, each with the comment on its lines."""
    comments = _comments(source)
    classes = []
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            fields = tuple(_field(item, comments) for item in node.body if isinstance(item, ast.AnnAssign))
            classes.append(Class(node.name, " ".join((ast.get_docstring(node) or "").split()), fields))
    return classes


def _comments(source: str) -> dict[int, str]:
    """Returns the comment that ends a line of code, by the line's number."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {
        token.start[0]: token.string.lstrip("# ")
        for token in tokens
        if token.type == tokenize.COMMENT and token.line[: token.start[1]].strip()
    }


def _field(item: ast.AnnAssign, comments: dict[int, str]) -> Field:
    said = [comments[line] for line in range(item.lineno, (item.end_lineno or item.lineno) + 1) if line in comments]
    default = "" if item.value is None else _default(item.value)
    return Field(ast.unparse(item.target), _type(ast.unparse(item.annotation)), default, " ".join(said))


def _type(annotation: str) -> str:
    """Returns a type as a reader would say it: the choices of a Literal, not its name."""
    return re.sub(r"Literal\[(.*)\]", lambda match: match[1].replace(", ", " | "), annotation)


def _default(value: ast.expr) -> str:
    """Returns a default as a reader would write it: without the marks of old and new fields."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name | ast.Attribute):
        function = ast.unparse(value.func)
        if function == "new":
            return _default(value.args[0])
        if function == "renamed":
            return _default(value.args[1]) if len(value.args) > 1 else ""
        if function == "dataclasses.field":
            return f"{ast.unparse(value.keywords[0].value)}()".replace("dict()", "{}")
    return ast.unparse(value)


def read_symbols(glossary: str) -> dict[tuple[str, str], str]:
    """Returns the paper's symbol of settings by (class, field), class "" where the glossary names none."""
    symbols = {}
    table = glossary.split("## Symbols")[1].split("\n## ")[0]
    for row in re.findall(r"^\| (?!paper|-)(.+?) \| (.+?) \|", table, re.MULTILINE):
        symbol, code = row
        of = re.search(r" of `config\.py::(\w+)`", code)
        for name in re.findall(r"`(\w+)`", code):
            symbols[of[1] if of else "", name] = symbol
    return symbols


def page(source: str, glossary: str, link: str) -> str:
    """Returns the page of all settings, as Markdown."""
    symbols = read_symbols(glossary)
    lines = [HEAD.format(glossary=link)]
    for entry in read_classes(source):
        option = TRAINED.get(entry.name)
        lines += ["", f"## {entry.name}", "", entry.summary, ""]
        rows = [_row(entry, field, symbols) for field in entry.fields]
        lines += table(("field", "paper", "type", "default", "notes"), rows)
        if option:
            example = next(field for field in entry.fields if "." not in field.type).name.replace("_", "-")
            lines += ["", f"Options of `orexis train`: `--{option}.{example}` and so on."]
    return "\n".join([*lines, ""])


def _row(entry: Class, field: Field, symbols: dict[tuple[str, str], str]) -> tuple[str, ...]:
    symbol = symbols.get((entry.name, field.name)) or symbols.get(("", field.name), "")
    return (_code(field.name), symbol, _code(field.type), _code(field.default), field.comment)


def _code(text: str) -> str:
    return f"`{text}`" if text else ""
