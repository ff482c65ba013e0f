"""The command line, from the parsers themselves."""

import argparse
import dataclasses
import inspect
import re
import warnings

import tyro

from orexis.cli import COMMANDS
from orexis.errors import BAD_DATA, FAILED, INTERRUPTED, OK, PREEMPTED, USAGE
from orexis_docs.tables import table

EXIT_CODES = {
    OK: "done",
    FAILED: "the machine failed, or there is a bug; what was saved is good",
    USAGE: "the command was called wrongly",
    BAD_DATA: "a file is damaged or of another version, or training makes NaN or infinity",
    PREEMPTED: "stopped by SIGTERM and saved; the same command with `--resume` goes on",
    INTERRUPTED: "stopped by Ctrl-C; a training run is saved, likewise",
}
INTRODUCTION = """\
# Command line

Made from the parsers when this site was built. `orexis COMMAND --help` says the same; where a task is named, as in
`orexis train key-box --help`, with the defaults of its recipe. What is refused is refused in one sentence; `--debug`
shows the traceback. `orexis --version` prints the version."""


@dataclasses.dataclass(frozen=True)
class Option:
    """An argument or an option of a command, as its parser has it."""

    name: str  # as typed: `--updates`, or TASK
    value: str  # what follows an option, "" for a switch
    default: str  # "" for none
    help: str
    required: bool
    many: bool = False  # takes several values

    @classmethod
    def of(cls, action: argparse.Action) -> "Option":
        said, default = split_help(action.help or "")
        name = max(action.option_strings, key=len) if action.option_strings else action.dest.upper()
        if isinstance(action.metavar, str) and action.nargs != 0:
            value = action.metavar.replace("{None}|", "").replace("[STR [STR ...]]", "STR ...")
        else:
            value = ""
        if "--no-" in name:  # a switch: the positive form is the one to know
            name = action.option_strings[0]
        return cls(name, value, default, said, action.required, action.nargs in ("*", "+"))

    @property
    def usage(self) -> str:
        """An argument's place in the command: brackets where it may be left out."""
        name = f"{self.name} ..." if self.many else self.name
        return name if self.required else f"[{name}]"

    @property
    def group(self) -> str:
        """The settings that it belongs to: `--outer` for `--outer.window`."""
        return self.name.rpartition(".")[0]


def page() -> str:
    """Returns the page of all commands, as Markdown."""
    codes = [(str(code), means) for code, means in EXIT_CODES.items()]
    summaries = [(f"[`orexis {name}`](#orexis-{name})", _summary(command)) for name, command in COMMANDS.items()]
    lines = [INTRODUCTION, "", *table(("exit code", "means"), codes)]
    lines += ["", *table(("command", "what it does"), summaries)]
    for name, command in COMMANDS.items():
        lines += ["", *section(name, command)]
    return "\n".join([*lines, ""])


def section(name: str, command: type) -> list[str]:
    """Returns the part of one command: what it does, its arguments, its options by the settings they belong to."""
    options = options_of(command)
    arguments = [option for option in options if not option.name.startswith("-")]
    words = ["orexis", name, *(option.usage for option in arguments)]
    usage = " ".join([*words, *(["[OPTIONS]"] if len(options) > len(arguments) else [])])
    lines = [f"## orexis {name}", "", _summary(command), "", "```text", usage, "```"]
    if arguments:
        said = [(_code(option.name), _choices(option), _marked(option.help)) for option in arguments]
        lines += ["", *table(("argument", "one of", "what it is"), said)]
    groups = dict.fromkeys(option.group for option in options if option not in arguments)
    for group in groups:
        rows = [_row(option) for option in options if option not in arguments and option.group == group]
        lines += ["", *table(("option", "default", "what it does"), rows)]
    return lines


def options_of(command: type) -> list[Option]:
    """Returns the arguments and options of a command, in the order of its parser."""
    with warnings.catch_warnings():
        # tyro 1.0 has no other public way to ask what it parses; pyproject.toml asks for tyro below 2.
        warnings.simplefilter("ignore", DeprecationWarning)
        parser = tyro.extras.get_parser(command)
    return [Option.of(action) for action in parser._actions if action.dest != "help"]


def split_help(text: str) -> tuple[str, str]:
    """Returns what a help text says, and the default at its end ("" for none)."""
    text = " ".join(text.split()).removesuffix("(required)").strip()
    found = re.search(r"\s*\(default: ([^()]*(?:\([^()]*\))?[^()]*)\)$", text)
    if not found:
        return text, ""
    return text[: found.start()], "" if found[1] == "None" else found[1]


def _row(option: Option) -> tuple[str, str, str]:
    typed = f"{option.name} {option.value}".strip()
    return _code(typed), _code(option.default), _marked(option.help)


def _choices(option: Option) -> str:
    return _code(option.value.strip("{}")) if option.value.startswith("{") else ""


def _summary(command: type) -> str:
    return " ".join((inspect.getdoc(command) or "").split())


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _marked(text: str) -> str:
    """Returns a help text with the options that it names marked as code."""
    return re.sub(r"(?<![`\w-])--[a-z][\w.-]*\w", r"`\g<0>`", text)
