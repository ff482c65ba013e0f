"""`orexis`: parsing only. Each command imports what it needs when it runs, so that help is instant."""

import contextlib
import io
import os
import re
import sys
import traceback
from collections.abc import Sequence

import tyro

from orexis import __version__
from orexis.commands.bench import Bench
from orexis.commands.demo import Demo
from orexis.commands.doctor import Doctor
from orexis.commands.evaluate import Evaluate
from orexis.commands.play import Play
from orexis.commands.plot import Plot
from orexis.commands.reproduce import Reproduce
from orexis.commands.runs import Runs
from orexis.commands.sweep import Sweep
from orexis.commands.tasks import Tasks
from orexis.commands.train import Train
from orexis.commands.view import View
from orexis.commands.zoo import Zoo
from orexis.errors import FAILED, INTERRUPTED, OK, CommandError, UsageError, printable

COMMANDS: dict[str, type] = {
    "demo": Demo,
    "tasks": Tasks,
    "play": Play,
    "train": Train,
    "runs": Runs,
    "plot": Plot,
    "evaluate": Evaluate,
    "view": View,
    "sweep": Sweep,
    "reproduce": Reproduce,
    "bench": Bench,
    "doctor": Doctor,
    "zoo": Zoo,
}


OLD_OPTIONS = {
    r"--outer\.advantage-trace": "--outer.gae-lambda",
    r"(--[\w.-]*(?:rate|cost|epsilon))\.start": r"\1.init-value",
    r"(--[\w.-]*(?:rate|cost|epsilon))\.end": r"\1.end-value",
    r"(--[\w.-]*(?:rate|cost|epsilon))\.updates": r"\1.transition-steps",
    r"(--[\w.-]*(?:rate|cost|epsilon))\.begin": r"\1.transition-begin",
}
"""What options were called in earlier versions, as patterns."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code, see `orexis.errors`."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    if arguments[:1] == ["--version"]:
        print(f"orexis {__version__}")
        return OK
    try:
        return _parse(arguments).run()
    except CommandError as error:
        if debug:
            traceback.print_exc()
        print(f"orexis: {error}", file=sys.stderr)
        return error.code
    except KeyboardInterrupt:
        print("orexis: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except OSError as error:  # a disk that is full, a device for a file: no bug of ours
        if debug:
            raise
        place = f"{printable(os.fsdecode(error.filename))}: " if isinstance(error.filename, (str, bytes)) else ""
        told = f"{place}{error.strerror or error}"
        print(f"orexis: {told}; mend that or name another place (--debug shows where it came from)", file=sys.stderr)
        return FAILED
    except Exception as error:
        if debug:
            raise
        reason = str(error).strip().splitlines()
        sentence = f"{type(error).__name__}: {reason[0] if reason else 'no message'}"
        print(f"orexis: {sentence} (run again with --debug for the traceback)", file=sys.stderr)
        return FAILED


def entry() -> None:
    """The console script."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a path may hold what the terminal has no letters for
    raise SystemExit(main())


def _parse(arguments: list[str]):
    """Returns the command that `arguments` spell, its defaults from the task's preset. Exits 2 on a bad line."""
    name = arguments[0] if arguments else "--help"
    if name in ("-h", "--help"):
        print(_overview())
        raise SystemExit(OK)
    if name not in COMMANDS:
        raise UsageError(f"unknown command {name!r}; commands are {', '.join(COMMANDS)}")
    rest = [_todays_option(argument) for argument in arguments[1:]]
    command = COMMANDS[name]
    default = None
    if command is Train and rest and not rest[0].startswith("-"):
        default = Train.for_task(rest[0], _option(rest, "--recipe") or "tuned", _option(rest, "--learn") or "reward")
    if rest and _option(rest, "--run-dir") == "":  # would be taken for the current folder
        raise UsageError("--run-dir is empty; name a folder")
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            return tyro.cli(command, prog=f"orexis {name}", args=rest, default=default)
    except SystemExit as stop:
        if stop.code in (None, OK):
            raise
        raise UsageError(f"{_first_sentence(complaint.getvalue())}; see orexis {name} --help") from None


def _todays_option(argument: str) -> str:
    """Returns an argument as it is spelled now: options that had another name in earlier versions are still taken."""
    name, separator, value = argument.partition("=")
    for old, new in OLD_OPTIONS.items():
        if name.startswith("--") and re.fullmatch(old, name):
            return re.sub(old, new, name) + separator + value
    return argument


def _option(arguments: list[str], name: str) -> str | None:
    """Returns what follows the option `name`, as `--name value` or `--name=value`; None if it is not there."""
    for argument, following in zip(arguments, [*arguments[1:], None], strict=True):
        if argument == name:
            return following
        if argument.startswith(f"{name}="):
            return argument.removeprefix(f"{name}=")
    return None


def _first_sentence(box: str) -> str:
    """Returns what tyro's framed complaint says before its first rule, as one line."""
    said = []
    for line in box.splitlines()[1:]:
        text = line.strip("│╭╮╰╯ ")
        if not text or set(text) == {"─"}:
            break
        said.append(text)
    return " ".join(said) or "bad command line"


def _overview() -> str:
    lines = ["usage: orexis COMMAND [OPTIONS]", "", "Learns what agents should want.", "", "commands:"]
    lines += [f"  {name:<10} {(command.__doc__ or '').splitlines()[0]}" for name, command in COMMANDS.items()]
    return "\n".join([*lines, "", "`orexis COMMAND --help` tells the options; `--debug` shows tracebacks."])
