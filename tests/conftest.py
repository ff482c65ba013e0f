"""Set-up of every test: four CPU devices with single-threaded ops, and compiled programs kept between runs."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.quick import QUICK_TO_COMPILE

FLAGS = (
    "--xla_force_host_platform_device_count=4",  # so that 1, 2 and 4 devices can be compared
    "--xla_cpu_multi_thread_eigen=false",
    *QUICK_TO_COMPILE,
    "intra_op_parallelism_threads=1",  # last: XLA reads no flag after one without dashes
)

_before = os.environ.get("XLA_FLAGS")
os.environ["XLA_FLAGS"] = " ".join((*FLAGS[:-1], _before or "", FLAGS[-1]))

import jax  # noqa: E402

CACHE = Path(os.environ.get("OREXIS_TEST_CACHE") or Path.home() / ".cache" / "orexis-tests")
jax.config.update("jax_compilation_cache_dir", str(CACHE))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)

assert jax.device_count() == 4, "JAX was started before tests/conftest.py could set its flags"

# The flags were read when the devices were made; processes that tests start are to choose their own.
if _before is None:
    del os.environ["XLA_FLAGS"]
else:
    os.environ["XLA_FLAGS"] = _before


@pytest.fixture
def trials(record_property) -> Iterator[Callable[[], None]]:
    """Call it once for each injected fault; a test that does not ask for it is one trial.

    The number goes into the report that `pytest --junitxml` writes, for `tests.faults.figures`.
    """
    count = 0

    def trial() -> None:
        nonlocal count
        count += 1

    yield trial
    record_property("trials", count)
