"""Checks that are shipped to people who write their own tasks, reward sources and agents."""

from orexis.testing.purity import TaskError
from orexis.testing.tasks import check_task

__all__ = ["TaskError", "check_task"]
