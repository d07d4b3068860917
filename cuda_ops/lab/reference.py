"""CPU reference of the Lab kernel: the same float32 operations in numpy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cuda_ops.lab.host import LabRange, linear_light

Float = NDArray[np.float32]
F = np.float32


def to_lab(image: NDArray[np.uint8]) -> Float:
    """Convert (H, W, 3 or 4) uint8 BGR(A) to L*a*b*: (H, W, 3) float32 in OpenCV's 8-bit units, before rounding."""
    linear = linear_light()
    b, g, r = (linear[image[..., channel]] for channel in range(3))
    y = F(0.212671) * r + F(0.715160) * g + F(0.072169) * b
    fx = _bent(F(0.43395275) * r + F(0.37621944) * g + F(0.18982783) * b)
    fy, fz = _bent(y), _bent(F(0.01775791) * r + F(0.10947652) * g + F(0.87276557) * b)
    lightness = np.where(y > F(0.008856), F(116.0) * fy - F(16.0), F(903.3) * y) * F(2.55)
    return np.stack([lightness, F(500.0) * (fx - fy) + F(128.0), F(200.0) * (fy - fz) + F(128.0)], axis=-1)


def lab_mask(image: NDArray[np.uint8], first: LabRange, second: LabRange) -> NDArray[np.uint8]:
    """Mask (H, W) uint8: 1 in the first range, 2 in the second, 3 in both."""
    lab, mask = to_lab(image), np.zeros(image.shape[:2], np.uint8)
    for bit, part in ((1, first), (2, second)):
        low, high = np.array(part.low, np.float32), np.array(part.high, np.float32)
        mask |= np.uint8(bit) * ((lab >= low) & (lab <= high)).all(axis=-1)
    return mask


def _bent(t: Float) -> Float:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        root = _cube_root(t)
    return np.where(t > F(0.008856), root, F(7.787) * t + F(0.13793103))


def _cube_root(x: Float) -> Float:
    y = (x.view(np.int32) // 3 + np.int32(709921077)).view(np.float32)
    for _ in range(3):
        y = (y + y + x / (y * y)) / F(3.0)
    return y
