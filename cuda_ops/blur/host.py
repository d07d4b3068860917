"""Computes the weights of the Gaussian blur and launches its kernel."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from cuda_ops.runtime.launcher import I32, Launcher, Ptr, ceil_div

RADIUS_MAX = 7


def weights(size: int, sigma: float) -> list[int]:
    """The Gaussian's weights in 1/256, from its middle outwards.

    They are rounded like OpenCV's for 8-bit pictures: from outside to inside, with the rounding error carried on.
    """
    exact = cv2.getGaussianKernel(size, sigma, cv2.CV_64F).ravel() * 256.0
    radius, carried = size // 2, 0.0
    outer: list[int] = []
    for value in exact[:radius]:
        rounded = int(np.rint(value + carried))
        carried += float(value) - rounded
        outer.append(rounded)
    return [256 - 2 * sum(outer), *outer[::-1]]


def run(launcher: Launcher, image: Any, out: Any, size: int, sigma: float) -> None:
    """Blur `image` (H, W) uint8 into `out`; `size` is odd and at most 15."""
    height, width = (int(value) for value in image.shape)
    values = weights(size, sigma)
    values += [0] * (RADIUS_MAX + 1 - len(values))
    numbers = [I32(value) for value in (width, height, size // 2, *values)]
    launcher.launch(
        "gaussian_blur",
        (ceil_div(width, 128), ceil_div(height, 16), 1),
        256,
        [Ptr(image), Ptr(out), *numbers],
        early=True,
    )
