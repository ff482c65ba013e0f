"""Runs the snippets of a page as a reader would, from top to bottom in one folder, with budgets of seconds.

A block of Python is run on its own, as it stands. A block below `<!-- file: NAME -->` is saved as that file. In a block
of `sh` every command is run: `orexis` through its own `main`, `python FILE` as a script, `ls` and the like as what they
are. Commands that install or send away are not run; what they name must exist. A block of `text` is output.
"""

import dataclasses
import itertools
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

from orexis.cli import main

ROOT = Path(__file__).parent.parent.parent
LANGUAGES = ("python", "sh", "text", "toml", "csv", "json")
"""Those of the first two are run."""
FENCE = re.compile(
    r"^(?:<!-- file: (?P<file>\S+) -->\n)?```(?P<language>\w*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)
HARMLESS = ("ls", "head", "cat", "mkdir", "cp")
"""Programs that are run as they stand."""
NOT_RUN = ("pip", "git", "make", "cd", "source", "sbatch", "scancel", "squeue")
"""Programs that would install something, leave the folder or send a job away."""


@dataclasses.dataclass(frozen=True)
class Block:
    """One block of code on a page."""

    language: str
    code: str
    file: str | None  # what it is to be saved as


def read_blocks(text: str) -> list[Block]:
    """Returns the blocks of a page, in their order."""
    return [Block(match["language"], match["code"], match["file"]) for match in FENCE.finditer(text)]


def python_snippets(document: str) -> list[str]:
    """Returns the blocks of Python of a document that are to be run as they stand."""
    blocks = read_blocks((ROOT / document).read_text(encoding="utf-8"))
    return [block.code for block in blocks if block.language == "python" and block.file is None]


def run_python(code: str, name: str) -> None:
    """Runs a snippet in a namespace of its own."""
    exec(compile(code, name, "exec"), {"__name__": "snippet"})


def run_page(text: str, name: str, folder: Path) -> int:
    """Runs the blocks of a page in `folder`, the current one; returns how many were run."""
    blocks = read_blocks(text)
    assert len(blocks) == len(re.findall(r"^```\w", text, re.MULTILINE)), f"{name} has a block that is not closed"
    done = 0
    for number, block in enumerate(blocks):
        assert block.language in LANGUAGES, f"{name}: a block in {block.language!r}; write text for output"
        if block.file is not None:
            path = folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.code, encoding="utf-8")
        elif block.language == "python":
            run_python(shrink_python(block.code), f"{name}, block {number}")
        elif block.language == "sh":
            for command in commands_of(block.code):
                run_command(command)
        done += block.language in ("python", "sh")
    return done


def commands_of(code: str) -> list[list[str]]:
    """Returns the commands of a block of shell as lists of words, comments left out, lines that go on joined."""
    lines = code.replace("\\\n", " ").splitlines()
    return [words for words in (shlex.split(line, comments=True) for line in lines) if words]


def run_command(words: list[str]) -> None:
    """Runs one command of a page. Raises AssertionError if it fails, or if it is none that pages may have."""
    program, *arguments = words
    if program == "orexis":
        code = main(shrink_options(arguments))
        assert code == 0, f"{shlex.join(words)} ended with exit code {code}"
    elif program == "python" and arguments[0].endswith(".py"):
        before, sys.argv = sys.argv, arguments
        try:
            runpy.run_path(arguments[0], run_name="__main__")
        finally:
            sys.argv = before
    elif program in HARMLESS:
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    else:
        assert program in NOT_RUN or words[:3] == ["python", "-m", "venv"], f"what is {shlex.join(words)}?"
        check_not_run(words)


def check_not_run(words: list[str]) -> None:
    """Raises AssertionError if a command that is not run names an extra or a target that does not exist."""
    program, *arguments = words
    if program == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        assert set(arguments) <= set(targets), f"the Makefile has no {shlex.join(arguments)}"
    if program == "pip":
        with (ROOT / "pyproject.toml").open("rb") as file:
            extras = tomllib.load(file)["project"]["optional-dependencies"]
        for named in re.findall(r"\[([\w,]+)\]", " ".join(arguments)):
            assert set(named.split(",")) <= set(extras), f"there is no extra {named}"


def few(number: int) -> int:
    """Returns as many updates as a test has time for; more for more, so that a resumed run has something to do."""
    return min(number, 2 + number // 2000)


def shrink_options(arguments: list[str]) -> list[str]:
    """Returns the arguments of `orexis` with a budget for a test: two or three updates, four lifetimes to evaluate."""
    small = list(arguments)
    for i, (option, value) in enumerate(itertools.pairwise(arguments)):
        if option == "--updates":
            small[i + 1] = str(few(int(value)))
        elif option == "--lifetimes":
            small[i + 1] = "4"
    if arguments[:1] == ["evaluate"] and "--lifetimes" not in arguments:
        small += ["--lifetimes", "4"]
    if arguments[:1] == ["train"] and "--updates" not in arguments:
        small += ["--updates", "2"]
    return small


def shrink_python(code: str) -> str:
    """Returns a snippet with a budget for a test."""
    code = re.sub(r"\bupdates=(\d+)", lambda match: f"updates={few(int(match[1]))}", code)
    return re.sub(r"\blifetimes=\d+", "lifetimes=4", code)
