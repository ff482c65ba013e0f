"""How a command ends: exit codes, and errors that are one sentence and what to do."""

OK, USAGE, BAD_DATA, PREEMPTED, INTERRUPTED = 0, 2, 3, 75, 130


class CommandError(Exception):
    """Ends a command with `code` and one sentence; no traceback unless asked for."""

    def __init__(self, message: str, code: int):
        super().__init__(message)
        self.code = code


class UsageError(CommandError):
    """The command was called wrongly: exit 2."""

    def __init__(self, message: str):
        super().__init__(message, USAGE)


class BadDataError(CommandError):
    """A file is damaged or of another version: exit 3."""

    def __init__(self, message: str):
        super().__init__(message, BAD_DATA)
