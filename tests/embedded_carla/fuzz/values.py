"""Values as no honest client sends them, and honest ones with some of those inside. All by a given generator."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

POISON_SHARE = 0.06
"""Of the leaves of an otherwise honest value."""

_BAD_NUMBERS = (
    math.nan, math.inf, -math.inf, 1e308, -1e308, 3e38, -3e38, 1e10, -1e10, 1e-320, -1.0, 0.0, 2**31, 2**32, 2**63,
    2**64 - 1, -(2**63), -1, 0, 255, 256, 65536,
)  # fmt: skip
_BAD_TEXTS = (
    "", "x" * 70, "x" * 5000, "\0", "../../etc/passwd", "/etc/passwd", "%s%n", "nan", "-1", "1e999", "\udcff",
    "9" * 400, "½", "true", "OpenDriveMap", "0,0,0", "²,²,²",
)  # fmt: skip


def nested(rng: random.Random) -> Any:
    """Arrays within arrays, some of them deeper than a reader may go."""
    value: Any = rng.choice(([], None, 1))
    for _ in range(rng.choice((1, 5, 60, 400))):
        value = [value]
    return value


def poison(rng: random.Random) -> Any:
    """Anything."""
    kind = rng.randrange(10)
    if kind < 5:
        return rng.choice(_BAD_NUMBERS)
    if kind < 7:
        return rng.choice(_BAD_TEXTS)
    if kind == 7:
        return rng.choice((None, True, False, b"", bytes(24), b"\xff" * 40))
    if kind == 8:
        return [rng.choice(_BAD_NUMBERS)] * rng.choice((0, 1, 3, 100, 5000))
    return nested(rng)


def number(rng: random.Random, low: float, high: float) -> float:
    return rng.uniform(low, high)


def vector(rng: random.Random, size: float = 30.0) -> list[float]:
    return [number(rng, -size, size) for _ in range(3)]


def place(rng: random.Random) -> list[float]:
    """In the middle of the town, mostly above its streets."""
    return [number(rng, -250.0, 250.0), number(rng, -200.0, 200.0), number(rng, 0.0, 3.0)]


def pose(rng: random.Random) -> list[Any]:
    return [place(rng), [number(rng, -20.0, 20.0), number(rng, -180.0, 180.0), 0.0]]


def poisoned(rng: random.Random, value: Any, share: float = POISON_SHARE) -> Any:
    """`value` with some leaves, and now and then a whole array, replaced, shortened or lengthened."""
    if rng.random() < share:
        return poison(rng)
    if isinstance(value, list):
        inner = [poisoned(rng, item, share) for item in value]
        if rng.random() < share / 2:
            return inner[: rng.randrange(len(inner) + 1)]
        if rng.random() < share / 2:
            return [*inner, poison(rng)]
        return inner
    return value


def some(rng: random.Random, choices: Sequence[Any]) -> Any:
    return rng.choice(choices)
