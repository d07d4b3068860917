"""CPU reference of the Canny kernel: OpenCV."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray


def canny(image: NDArray[np.uint8], low: float, high: float, l2_gradient: bool = False) -> NDArray[np.uint8]:
    """Edges (H, W) uint8, 0 or 255, of `image` (H, W) uint8, with Sobel aperture 3."""
    return np.asarray(cv2.Canny(image, low, high, apertureSize=3, L2gradient=l2_gradient), dtype=np.uint8)
