"""Lens distortion of camera pictures by CARLA's lens_* attributes.

CARLA's formula is not published. This one has its known properties: with the defaults (k -1, kcube 0, sizes 0.08) it is
a pinhole picture, k and kcube distort radially, the sizes scale the picture, and with all zeros it has one colour. A
pixel at p, in half widths from the centre, shows the pinhole picture at

    p * (x_size, y_size) / 0.08 * (1 + (k + 1) r^2 + kcube r^3),   r = |p|

clamped to the picture's edge. `lens_circle_multiplier` darkens the rim of a colour picture: the colour is multiplied by
1 - multiplier * r^falloff.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]
T = TypeVar("T", np.uint8, np.float32)
PLAIN_SIZE = 0.08


@dataclass(frozen=True, slots=True)
class Lens:
    """The blueprint's lens_* attributes, with CARLA's defaults."""

    k: float = -1.0
    kcube: float = 0.0
    x_size: float = PLAIN_SIZE
    y_size: float = PLAIN_SIZE
    circle_falloff: float = 5.0
    circle_multiplier: float = 0.0

    @staticmethod
    def of(number: Callable[[str, float], float]) -> Lens:
        """From a blueprint's attributes; `number(name, default)` reads one."""
        return Lens(
            number("lens_k", -1.0), number("lens_kcube", 0.0), number("lens_x_size", PLAIN_SIZE),
            number("lens_y_size", PLAIN_SIZE), number("lens_circle_falloff", 5.0),
            number("lens_circle_multiplier", 0.0),
        )  # fmt: skip

    @property
    def bends(self) -> bool:
        return (self.k, self.kcube, self.x_size, self.y_size) != (-1.0, 0.0, PLAIN_SIZE, PLAIN_SIZE)


def bend(picture: NDArray[T], lens: Lens, smooth: bool) -> NDArray[T]:
    """Distort a picture (H, W, ...), bilinearly with `smooth` (uint8 colours), otherwise by the nearest pixel."""
    if not lens.bends:
        return picture
    x, y = _source(picture.shape[1], picture.shape[0], lens)
    if not smooth:
        return picture[np.rint(y).astype(np.intp), np.rint(x).astype(np.intp)]
    left, top = np.floor(x).astype(np.intp), np.floor(y).astype(np.intp)
    right, low = np.minimum(left + 1, picture.shape[1] - 1), np.minimum(top + 1, picture.shape[0] - 1)
    across, down = (x - left)[..., None], (y - top)[..., None]
    colours = picture.astype(np.float32)
    upper = colours[top, left] * (1.0 - across) + colours[top, right] * across
    lower = colours[low, left] * (1.0 - across) + colours[low, right] * across
    mixed: NDArray[T] = np.rint(upper * (1.0 - down) + lower * down).astype(picture.dtype)
    return mixed


def darken_rim(bgra: NDArray[np.uint8], lens: Lens) -> NDArray[np.uint8]:
    """Darken the rim of a colour picture by the lens circle."""
    if lens.circle_multiplier == 0.0:
        return bgra
    x, y = _half_widths(bgra.shape[1], bgra.shape[0])
    share = np.clip(1.0 - lens.circle_multiplier * np.hypot(x, y) ** lens.circle_falloff, 0.0, 1.0)
    out = bgra.copy()
    out[..., :3] = np.rint(bgra[..., :3] * share[..., None])
    return out


def _half_widths(width: int, height: int) -> tuple[F32, F32]:
    """Pixel centres relative to the picture's centre, in half widths: x (1, W) to the right, y (H, 1) down."""
    x = (np.arange(width, dtype=np.float32) + 0.5 - width / 2.0) / (width / 2.0)
    y = (np.arange(height, dtype=np.float32) + 0.5 - height / 2.0) / (width / 2.0)
    return x[None, :], y[:, None]


@lru_cache(maxsize=8)
def _source(width: int, height: int, lens: Lens) -> tuple[F32, F32]:
    """(H, W) columns and rows, in pixels, from which each output pixel is taken."""
    x, y = _half_widths(width, height)
    r = np.hypot(x, y)
    stretch = 1.0 + (lens.k + 1.0) * r**2 + lens.kcube * r**3
    column = x * stretch * (lens.x_size / PLAIN_SIZE) * (width / 2.0) + width / 2.0 - 0.5
    row = y * stretch * (lens.y_size / PLAIN_SIZE) * (width / 2.0) + height / 2.0 - 0.5
    return np.clip(column, 0.0, width - 1.0), np.clip(row, 0.0, height - 1.0)
