"""CPU reference of the corner score: OpenCV; the kernel is within 1e-6 of the picture's largest eigenvalue."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray


def corner_score(image: NDArray[np.uint8], window: int) -> NDArray[np.float32]:
    """The smaller eigenvalue of the gradients' covariance in a `window` x `window` neighbourhood, (H, W) float32."""
    return np.asarray(cv2.cornerMinEigenVal(image, window, ksize=3), dtype=np.float32)
