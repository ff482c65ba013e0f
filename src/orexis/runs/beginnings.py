"""The names that `--begin-with` takes. Needs no JAX, so that a wrong one is answered at once."""

import os

from orexis.runs.errors import UsageError
from orexis.zoo.shelf import shipped_names


def check_beginning(name: str) -> None:
    """Raises UsageError if `name` can be nothing to begin with: neither a folder nor a shipped reward."""
    if name not in shipped_names() and not os.path.isdir(name):
        raise UsageError(
            f"--begin-with {name} is neither the folder of a run, a learner or a reward "
            f"nor a shipped reward ({', '.join(shipped_names())})"
        )
