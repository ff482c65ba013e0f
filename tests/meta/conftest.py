import jax
import pytest


@pytest.fixture
def float64():
    """Runs the test in float64, where finite differences can tell 1e-5."""
    with jax.enable_x64(True):
        yield
