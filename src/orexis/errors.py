"""How a command ends: exit codes, and errors that are one sentence and what to do."""

OK = 0
FAILED = 1  # the machine failed us, or there is a bug; what was saved is good
USAGE = 2
BAD_DATA = 3
PREEMPTED = 75  # by SIGTERM; the same command with --resume goes on
INTERRUPTED = 130  # by Ctrl-C; likewise


_BIDI = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_UNPRINTABLE = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))}
_UNPRINTABLE |= {ord(letter): f"\\u{ord(letter):04x}" for letter in _BIDI}


def printable(text: str, lines: bool = False) -> str:
    """Returns `text` as it may be shown: control characters, which a terminal would obey, are spelled out.

    lines: line breaks and tabs stay. For all that comes out of a file: names and texts in it may be hostile.
    """
    kept = {ord("\n"): "\n", ord("\t"): "\t"} if lines else {}
    return text.translate({**_UNPRINTABLE, **kept})


class CommandError(Exception):
    """Ends a command with `code` and one sentence; no traceback unless asked for."""

    def __init__(self, message: str, code: int):
        super().__init__(printable(message))
        self.code = code


class UsageError(CommandError):
    """The command was called wrongly: exit 2."""

    def __init__(self, message: str):
        super().__init__(message, USAGE)


class BadDataError(CommandError):
    """A file is damaged or of another version, or training makes NaN or infinity: exit 3."""

    def __init__(self, message: str):
        super().__init__(message, BAD_DATA)


class MachineError(CommandError):
    """The disk is full or fails: exit 1. What was saved before is good; the same command with --resume goes on."""

    def __init__(self, message: str):
        super().__init__(message, FAILED)


MAX_LIFETIMES = 2**20
"""More fresh lifetimes than anybody evaluates: a table of them would not fit into memory."""


def check_numbers(num_lifetimes: int, seed: int) -> None:
    """Raises UsageError for a count of fresh lifetimes or a seed that makes no sense."""
    if not 1 <= num_lifetimes <= MAX_LIFETIMES:
        raise UsageError(f"--lifetimes must be between 1 and {MAX_LIFETIMES}, not {num_lifetimes}")
    if not 0 <= seed < 2**32:
        raise UsageError(f"--seed must be between 0 and 2^32 - 1, not {seed}")
