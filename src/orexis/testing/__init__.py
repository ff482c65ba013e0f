"""Checks that are shipped to people who write their own tasks, reward sources and agents."""

from orexis.testing.tasks import TaskError, check_task

__all__ = ["TaskError", "check_task"]
