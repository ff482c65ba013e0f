"""How lifetimes are cut: into shares for devices, into chunks that stay in cache, and updates into calls."""

import math

CHUNK_BYTES = 2 * 2**20
"""About how much of agents' states a chunk may have; measured, see docs/explanation/performance.md."""
AT_ONCE = 10
"""Updates that one call can make: calling the devices costs over a millisecond, see docs/explanation/performance.md."""
SHORT = 160 * 2**20
"""Bytes of agents' states on a device times steps of a window. An update of no more takes a fraction of a second,
and a call makes several; else a call makes one, so that a run can stop soon. By size and not by the clock, because all
processes of a run must do the same."""


def count_shares(num_lifetimes: int, deterministic: bool) -> int:
    """Returns into how many equal shares the lifetimes can be cut: as many devices as divide it can be used.

    The gradients of a block of lifetimes are added up apart, and then those of all blocks in their order. Usually a
    device's lifetimes are a block. A deterministic run has these shares as its blocks, eight if possible, on whatever
    devices; so they add the same numbers in the same order and do not even round differently.
    """
    return math.gcd(num_lifetimes, 8) if deterministic else num_lifetimes


def default_chunk(num_lifetimes: int, num_blocks: int, agent_bytes: int) -> int:
    """Returns how many lifetimes make a chunk, whose agents' states have `agent_bytes` each.

    As many as `CHUNK_BYTES` hold, but at least two and at most sixteen, and never more than a block has.
    """
    limit = min(16, max(2, CHUNK_BYTES // agent_bytes))
    return largest_divisor(num_lifetimes // num_blocks, limit)


def split_calls(number: int, at_once: int) -> list[int]:
    """Returns how many updates each call makes, for `number` in all."""
    return [min(at_once, number - begun) for begun in range(0, number, at_once)]


def largest_divisor(number: int, limit: int) -> int:
    """Returns the largest divisor of `number` that is at most `limit`."""
    return next(divisor for divisor in range(min(number, limit), 0, -1) if number % divisor == 0)
