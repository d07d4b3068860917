"""Do the pixels in a vehicle's box differ from those around it?

A vehicle has windows, wheels, a body and a shadow: several tones, most of them unlike the road beside it. Two mistakes
of a detector have none of that. A box on the empty road holds one tone, which goes on outside. A box on a wall, a
fence or a hedge has the colours of its left or right neighbourhood. The second is the cue "colour contrast" of Alexe,
Deselaers and Ferrari, "Measuring the objectness of image windows", PAMI 34 (2012).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from av_core.types import Float, Image
from perception.depth.view import Box

LIGHTNESS_FLOOR = 10.0
"""Added to the lightness (0 to 255) before the logarithm, so that noise in dark pixels counts little."""

TONE_LOG, CHROMA_MAX = 0.12, 6.0
"""Pixels have one tone if the logarithm of their lightness differs by at most `TONE_LOG`, and each chroma by at most
`CHROMA_MAX` (CIE Lab)."""

OUTSIDE_SLACK = 1.5
"""Factor on `TONE_LOG` outside the box: the road is shaded a little differently there."""

TONE_LIGHTNESS_MIN = 50.0
"""Minimum lightness (0 to 255) of a tone that is taken for road: in the dark all surfaces have one tone."""

PICTURE_CONTRAST_MIN = 0.9
"""Minimum spread (5 to 95 %) of the logarithm of lightness in a picture whose tones are compared. In dust, fog and dark
the whole picture has few tones."""

SIDE_SHARE = 0.3
"""Width of the strips beside the box, as a fraction of the box's width."""

SIDE_MIN_PX, SIDE_MAX_PX = 4.0, 60.0
"""Smallest and largest width of these strips, px."""

BELOW_SHARE = 0.2
"""Height of the strip below the box, as a share of its height."""

FOOT_SHARE = 0.4
"""Strips beside the box start below this share of its height where they are compared with the road."""

LIGHTNESS_BINS = 25
"""Number of bins of the colour histograms for lightness."""

CHROMA_BINS = 6
"""Number of bins of the colour histograms for each chroma."""

CHROMA_REACH = 30.0
"""Largest chroma, without its sign, of the outer bins; larger ones fall into these bins, too."""

SIDE_PIXELS_MIN = 20
"""Minimum number of pixels of a strip that is compared."""

SAMPLES_ACROSS = 96
"""A larger box is sampled at about this many columns and rows, to bound the time."""

Lab = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Patches:
    """Pixels of a box and around it (H, W, 3) uint8, CIE Lab as of OpenCV; None outside the picture."""

    inside: Lab
    left: Lab | None
    right: Lab | None
    left_foot: Lab | None
    right_foot: Lab | None
    below: Lab | None


def cut_patches(bgr: Image, box: Box) -> Patches | None:
    """The patches of `box`; None where the box is too small to compare."""
    u0, v0, u1, v1 = (edge + 0.5 for edge in box)
    wide, high = u1 - u0, v1 - v0
    side = min(max(SIDE_SHARE * wide, SIDE_MIN_PX), SIDE_MAX_PX)
    step = max(int(max(wide, high) / SAMPLES_ACROSS), 1)

    def patch(left: float, top: float, right: float, low: float) -> Lab | None:
        edges = [round(left), round(top), round(right), round(low)]
        part = bgr[max(edges[1], 0) : max(edges[3], 0) : step, max(edges[0], 0) : max(edges[2], 0) : step]
        if part.shape[0] * part.shape[1] < SIDE_PIXELS_MIN:
            return None
        return np.asarray(cv2.cvtColor(np.ascontiguousarray(part), cv2.COLOR_BGR2Lab), dtype=np.uint8)

    inside = patch(u0 + 0.05 * wide, v0 + 0.05 * high, u1 - 0.05 * wide, v1 - 0.05 * high)
    if inside is None:
        return None
    foot = v0 + FOOT_SHARE * high
    return Patches(
        inside,
        patch(u0 - side - 1.0, v0, u0 - 1.0, v1),
        patch(u1 + 1.0, v0, u1 + side + 1.0, v1),
        patch(u0 - side, foot, u0, v1),
        patch(u1, foot, u1 + side, v1),
        patch(u0, v1, u1, v1 + BELOW_SHARE * high),
    )


def picture_contrast(bgr: Image) -> float:
    """Spread (5 to 95 %) of the logarithm of lightness in a picture (H, W, 3)."""
    lightness = cv2.cvtColor(np.ascontiguousarray(bgr[::8, ::8]), cv2.COLOR_BGR2Lab)[:, :, 0]
    low, high = np.percentile(_log_lightness(lightness), [5.0, 95.0])
    return float(high - low)


def one_tone_share(patches: Patches) -> float:
    """How much the box looks like a plain surface that goes on outside, 0 to 1.

    It is the share of the box that has its most frequent tone, times the share of that tone in the most similar strip
    at its foot. 0 where the tone is dark or no strip lies in the picture.
    """
    logs = np.sort(_log_lightness(patches.inside[:, :, 0]).ravel())
    counts = np.searchsorted(logs, logs + TONE_LOG, "right") - np.searchsorted(logs, logs - TONE_LOG, "left")
    tone = logs[int(np.argmax(counts))]
    if tone < np.log(TONE_LIGHTNESS_MIN + LIGHTNESS_FLOOR):
        return 0.0
    chroma = np.median(
        patches.inside[np.abs(_log_lightness(patches.inside[:, :, 0]) - tone) <= TONE_LOG][:, 1:], axis=0
    )
    strips = [strip for strip in (patches.left_foot, patches.right_foot, patches.below) if strip is not None]
    outside = [_share_of_tone(strip, float(tone), chroma) for strip in strips]
    return float(counts.max()) / len(logs) * max(outside, default=0.0)


def side_contrast(patches: Patches) -> float:
    """Difference between the colours of the box and of its more similar side, 0 to 1; 1 if no side is in the picture.

    It is the chi-squared distance of their histograms.
    """
    inside = _histogram(patches.inside)
    sides = [_histogram(side) for side in (patches.left, patches.right) if side is not None]
    return min((_chi_squared(inside, side) for side in sides), default=1.0)


def _share_of_tone(strip: Lab, tone: float, chroma: Float) -> float:
    is_light = np.abs(_log_lightness(strip[:, :, 0]) - tone) <= OUTSIDE_SLACK * TONE_LOG
    is_chroma = (np.abs(strip[:, :, 1:] - chroma) <= CHROMA_MAX).all(axis=2)
    return float((is_light & is_chroma).mean())


def _log_lightness(lightness: NDArray[Any]) -> Float:
    return np.asarray(np.log(lightness + LIGHTNESS_FLOOR))


def _histogram(lab: Lab) -> Float:
    """Shares of the colour bins, flat; their sum is 1."""
    light = lab[:, :, 0].astype(np.int64) * LIGHTNESS_BINS // 256
    chroma = (lab[:, :, 1:].astype(np.float64) - 128.0 + CHROMA_REACH) / (2.0 * CHROMA_REACH) * CHROMA_BINS
    a, b = np.moveaxis(np.clip(chroma, 0, CHROMA_BINS - 1).astype(np.int64), 2, 0)
    bins = (light * CHROMA_BINS + a) * CHROMA_BINS + b
    counts = np.bincount(bins.ravel(), minlength=LIGHTNESS_BINS * CHROMA_BINS**2)
    return np.asarray(counts / counts.sum())


def _chi_squared(one: Float, other: Float) -> float:
    return float(0.5 * ((one - other) ** 2 / (one + other + 1e-12)).sum())
