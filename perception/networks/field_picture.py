"""Draws effective receptive fields as heat maps."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray


def field_picture(field: NDArray[np.float64]) -> NDArray[np.uint8]:
    """A heat map (H, W, 3) BGR of a field (H, W); it shows the square root, so that faint parts are visible."""
    shown = np.sqrt(field / max(float(field.max()), 1e-30))
    return np.asarray(cv2.applyColorMap(np.round(255.0 * shown).astype(np.uint8), cv2.COLORMAP_INFERNO), np.uint8)
