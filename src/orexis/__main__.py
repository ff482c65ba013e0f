"""`python -m orexis`."""

from orexis.cli import entry

entry()
