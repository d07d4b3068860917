"""Colour ranges in L*a*b*, sRGB's transfer curve, and the launch of the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cuda_ops.runtime.launcher import F32, I32, Argument, Launcher, Ptr, ceil_div

THREADS = 256


@dataclass(frozen=True, slots=True)
class LabRange:
    """An inclusive range in OpenCV's 8-bit units: L is 0..255 (2.55 times CIE's), a and b are 128 for grey."""

    low: tuple[float, float, float]
    high: tuple[float, float, float]


def linear_light() -> NDArray[np.float32]:
    """Linear light 0..1 of each byte value by sRGB's transfer curve (IEC 61966-2-1), (256,) float32."""
    value = np.arange(256) / 255.0
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4).astype(np.float32)


def run(launcher: Launcher, image: Any, linear: Any, first: LabRange, second: LabRange, mask: Any) -> None:
    """Write the mask (H, W) uint8 of `image` (H, W, 3 or 4) uint8; `linear` is the table of `linear_light`."""
    height, width, channels = (int(size) for size in image.shape)
    size = height * width
    numbers = [value for part in (first, second) for value in (*part.low, *part.high)]
    arguments: list[Argument] = [Ptr(image), I32(size), Ptr(mask), Ptr(linear), *(F32(value) for value in numbers)]
    name, each = ("lab_mask_bgr", 1) if channels == 3 else ("lab_mask_bgra", 4)
    launcher.launch(name, (ceil_div(size, THREADS * each), 1, 1), THREADS, arguments, early=True)
