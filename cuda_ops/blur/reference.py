"""CPU reference of the Gaussian blur: OpenCV."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray


def gaussian_blur(image: NDArray[np.uint8], size: int, sigma: float) -> NDArray[np.uint8]:
    """`image` (H, W) uint8 blurred by a `size` x `size` Gaussian and mirrored at its border."""
    return np.asarray(cv2.GaussianBlur(image, (size, size), sigma), dtype=np.uint8)
