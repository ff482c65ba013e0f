"""Counting: how often a test injected its fault. Kept in the report that `pytest --junitxml` writes."""

from collections.abc import Callable, Iterator

import pytest


@pytest.fixture
def trials(record_property) -> Iterator[Callable[[], None]]:
    """Call it once for each injected fault; a test that does not ask for it is one trial."""
    count = 0

    def trial() -> None:
        nonlocal count
        count += 1

    yield trial
    record_property("trials", count)
