"""Launches the kernel that selects the best detections of a one-to-one head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cuda_ops.runtime.launcher import F32, I32, Argument, Launcher, Ptr, ceil_div

THREADS, PAIRS_A_BLOCK = 256, 256 * 8 * 4
LEVELS_MAX, LIMIT_MAX, IMAGES_MAX = 4, 1024, 32
PAIRS_MAX = 2**24 - 1
"""Maximum number of pairs of place and class in an image: a key holds the index of a pair in 24 bits."""


@dataclass(frozen=True, slots=True)
class Level:
    """One level of the head: boxes (images, places, 4) and scores (images, places, classes), float16.

    The level has `places` pixels in rows of `width`; `stride` is the distance of two pixels, in px of the picture.
    """

    boxes: Any
    scores: Any
    width: int
    places: int
    stride: float


def run(
    launcher: Launcher,
    levels: Sequence[Level],
    images: int,
    classes: int,
    least: float,
    keys: Any,
    rows: Any,
    early: bool = False,
) -> None:
    """Write the best rows of `levels` to `rows` (images, limit, 6) float32; only scores above `least` count.

    `least` is compared with scores before the sigmoid. `keys` is scratch: one uint64 for each pair of place and class,
    of all levels and images.
    """
    arguments: list[Argument] = []
    for level in [*levels, *[Level(None, None, 1, 0, 0.0)] * (LEVELS_MAX - len(levels))]:
        arguments += [Ptr(level.boxes), Ptr(level.scores), I32(level.width), I32(level.places), F32(level.stride)]
    blocks = sum(ceil_div(level.places * classes, PAIRS_A_BLOCK) for level in levels)
    limit = int(rows.shape[1])
    arguments += [I32(classes), F32(least), I32(limit), Ptr(keys), Ptr(launcher.control_words()), Ptr(rows)]
    launcher.launch("best_rows", (blocks, images, 1), THREADS, arguments, early=early)
