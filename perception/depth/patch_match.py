"""One patch laid onto an older picture: how much it grew and where it went.

Gauss and Newton over growth, shift, gain and offset, with the older patch's gradients (inverse compositional: Baker and
Matthews, "Lucas-Kanade 20 years on", IJCV 56, 2004), pixels that disagree counting less.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import cv2
import numpy as np

from av_stack.types import Float, Image

PIXELS_MIN, PIXELS_MAX = 8, 32
"""A side of the patch is sampled at so many points at most."""

ROUNDS = 8
DONE_PX, DONE_GROWTH = 0.01, 3e-4
STEP_MAX = 0.15
CONTRAST_MIN = 3.0
SOFT = 2.5
GREY_SIGMA = 1.0
"""Grey levels that a pixel is good for at least."""

ALIKE = 8.0
"""Errors of neighbouring pixels are alike: sigma is so much larger than if each told something new."""

CENTRE_SIGMA_PX, EDGE_SIGMA_PX = 0.03, 0.03


class Region(NamedTuple):
    """A part of a picture: centre and sides in pixels."""

    u: float
    v: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Match:
    """Where the patch is now; natural logarithm of its growth; covariance (3, 3) of (u px, v px, growth); how alike the
    two looks are (normalised cross-correlation)."""

    region: Region
    growth: float
    covariance: Float
    likeness: float


def match(then: list[Image], region: Region, now: list[Image], guess: Region) -> Match | None:
    """Where what was seen in `region` of the picture `then` is in `now`; both as pyramids, halved from level to level.

    None where there is no texture, or the patch leaves the picture.
    """
    level = _level(region, len(then))
    shrink = 0.5**level
    columns, rows = (int(np.clip(round(side * shrink), PIXELS_MIN, PIXELS_MAX)) for side in region[2:])
    old = _sampled(then[level], region, shrink, columns, rows)
    if float(old.std()) < CONTRAST_MIN:
        return None
    slopes = _slopes(old, region)
    growth, u, v = float(np.log(guess.width / region.width)), guess.u, guess.v
    for _ in range(ROUNDS):
        scale = float(np.exp(growth))
        here = Region(u, v, region.width * scale, region.height * scale)
        if not _is_inside(here, now[0]):
            return None
        new = _sampled(now[level], here, shrink, columns, rows)
        off = (new - old).ravel()
        centred = off - np.median(off)
        spread = 1.5 * float(np.median(np.abs(centred))) + GREY_SIGMA
        weight = 1.0 / (1.0 + (centred / (SOFT * spread)) ** 2)
        weighted = slopes * weight[:, None]
        information = weighted.T @ slopes + 1e-3 * np.eye(5)
        step = np.linalg.solve(information, weighted.T @ off)
        u, v = u - scale * float(step[0]), v - scale * float(step[1])
        growth -= float(np.clip(step[2], -STEP_MAX, STEP_MAX))
        if np.hypot(step[0], step[1]) < DONE_PX and abs(step[2]) < DONE_GROWTH:
            break
    left = off - slopes @ step
    sigma = np.hypot(GREY_SIGMA, np.sqrt(float((weight * left**2).sum() / weight.sum())))
    covariance = np.linalg.inv(information)[:3, :3] * (ALIKE * sigma) ** 2
    edge = EDGE_SIGMA_PX / (0.3 * min(region.width, region.height))
    covariance += np.diag([CENTRE_SIGMA_PX**2, CENTRE_SIGMA_PX**2, edge**2])
    likeness = float(np.corrcoef(new.ravel(), old.ravel())[0, 1]) if float(new.std()) > 0.0 else 0.0
    scale = float(np.exp(growth))
    return Match(Region(u, v, region.width * scale, region.height * scale), growth, covariance, likeness)


def pyramid(grey: Image, levels: int) -> list[Image]:
    """The picture, and halved again and again."""
    out = [grey]
    for _ in range(levels - 1):
        out.append(np.asarray(cv2.pyrDown(out[-1]), dtype=np.uint8))
    return out


def _level(region: Region, levels: int) -> int:
    """The finest level on which the patch has no more pixels than are sampled."""
    side = max(region.width, region.height)
    return int(np.clip(np.ceil(np.log2(side / (1.3 * PIXELS_MAX))), 0, levels - 1))


def _is_inside(region: Region, picture: Image) -> bool:
    rows, columns = picture.shape
    du, dv = region.width / 2.0, region.height / 2.0
    inside = du <= region.u <= columns - 1.0 - du and dv <= region.v <= rows - 1.0 - dv
    return inside and bool(region.width >= 4.0 and region.height >= 4.0)


def _sampled(picture: Image, region: Region, shrink: float, columns: int, rows: int) -> Float:
    """(rows, columns) grey levels evenly over the region."""
    across, down = region.width * shrink / columns, region.height * shrink / rows
    left = region.u * shrink - across * (columns - 1) / 2.0
    top = region.v * shrink - down * (rows - 1) / 2.0
    to_picture = np.array([[across, 0.0, left], [0.0, down, top]])
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    sampled = cv2.warpAffine(picture, to_picture, (columns, rows), flags=flags, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(sampled, dtype=np.float64)


def _slopes(old: Float, region: Region) -> Float:
    """(pixels, 5): how grey levels change with a shift by a pixel right and down, with growth, gain and offset."""
    rows, columns = old.shape
    down, right = np.gradient(old)
    right, down = right * (columns / region.width), down * (rows / region.height)
    across = ((np.arange(columns) + 0.5) / columns - 0.5) * region.width
    along = ((np.arange(rows) + 0.5) / rows - 0.5) * region.height
    growth = right * across[None, :] + down * along[:, None]
    return np.stack([x.ravel() for x in (right, down, growth, old - old.mean(), np.ones_like(old))], axis=1)
