"""Finds the lit lamps of traffic lights where the map has a light but no head is detected.

A lamp is a small spot that is brighter than its surroundings. Haze and rain add the same brightness (the veil) to lamp
and housing. So colours are measured on the difference to the surroundings, in which red stays red in any weather
(morphological top-hat: Serra, "Image Analysis and Mathematical Morphology", 1982).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from av_core.types import Image, LightState
from perception.detection.classes import LIGHT_STATES
from perception.lights.head_states import Box
from perception.lights.lamp_states import LampAppearance, state_probabilities

Float = NDArray[np.float64]

LAMP_M = 0.27
"""Apparent diameter of a lamp of 200 to 300 mm, m."""

SPOT_MAX_PX = 6.0
"""Maximum lamp diameter, px; larger lamps are searched in a downscaled copy of the picture to save time."""

CHROMA_MIN = 12
"""Minimum chroma of a spot's peak, grey levels."""

RED_BLUE_MAX, GREEN_RED_MAX = 0.5, 0.6
"""Maximum ratio of blue to red in warm light, and of red to green in green light."""

SIZE_SPREAD = 0.5
"""Standard deviation of the log of a spot's size relative to a lamp's."""

LIT_OVER_MEAN = 1.05
"""Minimum brightness of a lit lamp relative to the picture's mean; unlit glass in the sun stays below it."""

DAY_MEAN = 90.0
"""Minimum mean brightness of a picture by day, grey levels."""

PURE_MIN, PURE_SURE = 0.1, 0.6
"""Coloured light of a spot as a fraction of its brightness: up to `PURE_MIN` it is not a lamp, from `PURE_SURE` surely.

A lamp in a dark housing has nearly 1."""

GLOW_MIN = 0.12
"""Minimum strength of the glow around a lamp, as a fraction of the lamp's coloured light."""

VEIL_PERCENTILE = 3.0
"""Percentile of the background's brightness that gives the veil."""

LAMPS_MAX = 12
"""Maximum number of spots per region."""


@dataclass(frozen=True, slots=True)
class Lamp:
    """A lamp at (u, v) in the image frame.

    * `lit_score`: similarity to a lit lamp of the expected size, 0 to 1.
    * `probabilities`: the probabilities of `LIGHT_STATES`; `appearance` is the input of their classifier.
    """

    u: float
    v: float
    lit_score: float
    probabilities: tuple[float, ...]
    appearance: LampAppearance

    @property
    def state(self) -> LightState:
        """The most probable state."""
        return LIGHT_STATES[int(np.argmax(self.probabilities))]


def find_lamps(bgr: Image, region_px: Box, px_per_m: float, mean: float) -> tuple[Lamp, ...]:
    """Lit lamps whose middle lies in `region_px` (u0, v0, u1, v1; image frame), where `px_per_m` px are a metre.

    `mean` is the picture's mean brightness, from `brightness`.
    """
    spot_px = LAMP_M * px_per_m
    if spot_px > SPOT_MAX_PX:
        return _find_downscaled(bgr, region_px, px_per_m, mean, int(np.ceil(spot_px / SPOT_MAX_PX)))
    pad = int(np.ceil(2.0 * spot_px)) + 2
    window = _window(bgr, region_px, pad)
    if window is None:
        return ()
    (left, top), part = window
    stands_out, veil = _top_hat(part, spot_px)
    chroma = _chroma(stands_out)
    found: list[tuple[float, float, float, float, LampAppearance]] = []
    for rows, columns in _spots(chroma, spot_px):
        weight = chroma[rows, columns].astype(np.float64)
        share = weight / weight.sum()
        u, v = left + float(share @ columns), top + float(share @ rows)
        if not (region_px[0] <= u <= region_px[2] and region_px[1] <= v <= region_px[3]):
            continue
        lum = float(share @ part[rows, columns].max(axis=1))
        if lum - veil < LIT_OVER_MEAN * (mean - veil):
            continue
        # 0.3 is added because a spot smaller than a pixel still lights one pixel.
        ratio = (np.sqrt(len(rows)) + 0.3) / (0.886 * spot_px + 0.3)
        purity = float(weight.mean()) / max(lum - veil, 1.0)
        pure = np.clip((purity - PURE_MIN) / (PURE_SURE - PURE_MIN), 0.0, 1.0)
        lit_score = pure * np.exp(-0.5 * (np.log(ratio) / SIZE_SPREAD) ** 2)
        appearance = LampAppearance(
            core=share @ stands_out[rows, columns],
            glow=_glow(stands_out, rows, columns, spot_px),
            level=lum / 255.0,
            darkness=float(np.clip(1.0 - mean / DAY_MEAN, 0.0, 1.0)),
        )
        found.append((u, v, float(lit_score), float(weight.mean()), appearance))
    strongest = max((strength for _, _, _, strength, _ in found), default=1.0)
    return tuple(
        Lamp(u, v, lit_score * strength / strongest, tuple(state_probabilities(appearance).tolist()), appearance)
        for u, v, lit_score, strength, appearance in found
    )


def _glow(stands_out: NDArray[np.int16], rows: NDArray[np.intp], columns: NDArray[np.intp], spot_px: float) -> Float:
    """Mean colour (3,) of the ring around a spot, weighted by chroma; zeros if there is no glow.

    A saturated lamp, which looks orange or white, has its true colour in this ring.
    """
    reach = int(np.ceil(0.4 * spot_px))
    v0, u0 = max(int(rows.min()) - reach, 0), max(int(columns.min()) - reach, 0)
    part = stands_out[v0 : int(rows.max()) + reach + 1, u0 : int(columns.max()) + reach + 1]
    is_spot = np.zeros(part.shape[:2], dtype=np.uint8)
    is_spot[rows - v0, columns - u0] = 1
    near = np.asarray(cv2.dilate(is_spot, np.ones((2 * reach + 1, 2 * reach + 1), np.uint8)))
    ring = part[(near > 0) & (is_spot == 0)]
    weight = _chroma(ring[None])[0].astype(np.float64)
    bound = GLOW_MIN * float(_chroma(stands_out[rows, columns][None]).max())
    weight[weight < max(bound, CHROMA_MIN / 2.0)] = 0.0
    if weight.sum() == 0.0:
        return np.zeros(3)
    return np.asarray(weight @ ring / weight.sum(), dtype=np.float64)


def brightness(bgr: Image) -> float:
    """Mean of each pixel's brightest channel."""
    return float(_brightest(bgr[::4, ::4]).mean()) if bgr.size else 0.0


def _brightest(bgr: Image) -> Image:
    """The brightest channel of each pixel, (H, W); eight times faster than numpy's `max` over an axis of three."""
    brightest: Image = np.maximum(np.maximum(bgr[:, :, 0], bgr[:, :, 1]), bgr[:, :, 2])
    return brightest


def _find_downscaled(bgr: Image, region: Box, px_per_m: float, mean: float, factor: int) -> tuple[Lamp, ...]:
    """Call `find_lamps` on a copy of the region, downscaled by `factor`; returns positions in the original picture."""
    window = _window(bgr, region, int(np.ceil(0.6 * px_per_m)) + factor)
    if window is None:
        return ()
    (left, top), part = window
    size = (part.shape[1] // factor, part.shape[0] // factor)
    if min(size) < 3:
        return ()
    whole = part[: size[1] * factor, : size[0] * factor]
    small = np.asarray(cv2.resize(whole, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)

    u0, v0, u1, v1 = ((edge - start + 0.5) / factor - 0.5 for edge, start in zip(region, (left, top) * 2, strict=True))
    found = find_lamps(small, (u0, v0, u1, v1), px_per_m / factor, mean)
    return tuple(
        replace(one, u=(one.u + 0.5) * factor - 0.5 + left, v=(one.v + 0.5) * factor - 0.5 + top) for one in found
    )


def _window(bgr: Image, region: Box, pad: int) -> tuple[tuple[int, int], Image] | None:
    """((first column, first row), part of the picture around the region); None if the region is outside the picture."""
    height, width = bgr.shape[:2]
    if not np.isfinite(region).all():
        return None
    u0, v0 = max(int(max(region[0], -1e6)) - pad, 0), max(int(max(region[1], -1e6)) - pad, 0)
    u1, v1 = min(int(min(region[2], 1e6)) + pad + 1, width), min(int(min(region[3], 1e6)) + pad + 1, height)
    return ((u0, v0), bgr[v0:v1, u0:u1]) if u1 - u0 >= 3 and v1 - v0 >= 3 else None


def _top_hat(part: Image, spot_px: float) -> tuple[NDArray[np.int16], float]:
    """(white top-hat of each channel, brightness of the veil).

    The top-hat keeps spots that are no larger than a lamp with its glow. The veil is a low percentile of the
    background: housings are black, so by day their brightness comes from the haze in front of them.
    """
    side = 2 * int(0.75 * spot_px) + 3
    kernel = cv2.getStructuringElement(cv2.MORPH_RECT, (side, side))
    opened = np.asarray(cv2.morphologyEx(part, cv2.MORPH_OPEN, kernel), dtype=np.uint8)
    veil = float(np.percentile(_brightest(opened).astype(np.float64), VEIL_PERCENTILE))
    return part.astype(np.int16) - opened.astype(np.int16), veil


def _chroma(stands_out: NDArray[np.int16]) -> NDArray[np.int16]:
    """Strength of each pixel's lamp-like colour (warm or green); 0 for other hues."""
    blue, green, red = (stands_out[:, :, i] for i in range(3))
    warm = np.where((red >= green) & (blue < RED_BLUE_MAX * red), red - blue, 0)
    cold = np.where((green > red) & (red < GREEN_RED_MAX * green), green - red, 0)
    return np.asarray(np.maximum(warm, cold), dtype=np.int16)


def _spots(chroma: NDArray[np.int16], spot_px: float) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """(rows, columns) of the pixels of each spot, strongest spot first.

    A spot is a peak and the connected pixels with at least half its value.
    """
    side = 2 * int(0.5 * spot_px) + 3
    highest = np.asarray(cv2.dilate(chroma, np.ones((side, side), np.uint8)))
    rows, columns = np.nonzero((chroma >= CHROMA_MIN) & (chroma == highest))
    order = np.argsort(-chroma[rows, columns], kind="stable")
    taken = np.zeros(chroma.shape, dtype=bool)
    out: list[tuple[NDArray[np.intp], NDArray[np.intp]]] = []
    for row, column in zip(rows[order].tolist(), columns[order].tolist(), strict=True):
        if taken[row, column] or len(out) == LAMPS_MAX:
            continue
        v0, u0 = max(row - side, 0), max(column - side, 0)
        near = chroma[v0 : row + side + 1, u0 : column + side + 1]
        half = (2 * near >= chroma[row, column]).astype(np.uint8)
        _, labels = cv2.connectedComponents(half, connectivity=4)
        spot = np.nonzero(np.asarray(labels) == labels[row - v0, column - u0])
        spot_rows, spot_columns = spot[0] + v0, spot[1] + u0
        taken[spot_rows, spot_columns] = True
        out.append((spot_rows, spot_columns))
    return out
