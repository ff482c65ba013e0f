"""What a run says of a checkpoint that was written elsewhere."""

import pytest

from orexis.platform import versions
from orexis.training.progress import say_what_changed

HERE = "jax {jax} and jaxlib {jaxlib}".format(**versions())
SAME = "from here: equal to rounding, not to the bit"


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize(
    ("change", "then"),
    [
        ({"jax": "0.10.1"}, "jax 0.10.1 and jaxlib {jaxlib}"),
        ({"jaxlib": "0.9"}, "jax {jax} and jaxlib 0.9"),
        ({"jax": "9.9.dev3+local", "jaxlib": "9.9"}, "jax 9.9.dev3+local and jaxlib 9.9"),
    ],
)
def test_another_jax_is_said(change: dict, then: str, deterministic: bool):
    manifest = {"versions": {**versions(), **change}}
    sentence = f"trained with {then.format(**versions())} so far and with {HERE} {SAME}"
    assert say_what_changed(manifest, 2, deterministic) == [sentence]


@pytest.mark.parametrize(
    "manifest",
    [
        {"versions": versions(), "devices": 2},
        {"versions": {**versions(), "numpy": "1.0", "python": "3.99.0"}},
        {},
        {"versions": None},
        {"versions": ["jax"]},
        {"versions": {"jax": None, "jaxlib": "0.9"}},
        {"versions": {"jax": "0.9"}},
        {"versions": {"jax": "0.9\x1b[2J", "jaxlib": "0.9"}},
        {"versions": {"jax": "9" * 1000, "jaxlib": "0.9"}},
    ],
    ids=str,
)
def test_nothing_is_said_of_the_same_jax_nor_of_what_is_no_version(manifest: dict):
    assert say_what_changed(manifest, 2, deterministic=False) == []
