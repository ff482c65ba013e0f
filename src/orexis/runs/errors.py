"""How a command ends: exit codes, and errors that are one sentence and what to do."""

OK, FAILED, USAGE, BAD_DATA, PREEMPTED, INTERRUPTED = 0, 1, 2, 3, 75, 130


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
    """A file is damaged or of another version, or training makes numbers that are none: exit 3."""

    def __init__(self, message: str):
        super().__init__(message, BAD_DATA)


class MachineError(CommandError):
    """The disk is full or fails: exit 1. What was saved before is good; the same command with --resume goes on."""

    def __init__(self, message: str):
        super().__init__(message, FAILED)
