"""Motion blur: each pixel becomes the mean of the picture along the path of its surface."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SAMPLES = 9
F32 = NDArray[np.float32]


def blur(bgra: NDArray[np.uint8], flow: F32, intensity: float, most_percent: float) -> NDArray[np.uint8]:
    """Blur a picture (H, W, 4) along `intensity` (0 to 1) of the path given by `flow` (H, W, 2; see flow.py).

    The path is centred on the pixel and at most `most_percent` of the picture's width long.
    """
    height, width = bgra.shape[:2]
    way = flow * np.array([width / 2.0, -height / 2.0], dtype=np.float32) * np.float32(intensity)
    length = np.linalg.norm(way, axis=-1)
    way *= np.minimum(1.0, most_percent / 100.0 * width / np.maximum(length, 1e-6))[..., None]
    moving = np.flatnonzero(np.linalg.norm(way, axis=-1) > 0.5)
    if not len(moving):
        return bgra
    rows, columns = np.divmod(moving, width)
    step = way.reshape(-1, 2)[moving]
    total = np.zeros((len(moving), 3), dtype=np.float32)
    for share in np.linspace(-0.5, 0.5, SAMPLES):
        x = np.clip(np.rint(columns + share * step[:, 0]), 0, width - 1).astype(np.intp)
        y = np.clip(np.rint(rows + share * step[:, 1]), 0, height - 1).astype(np.intp)
        total += bgra[y, x, :3]
    out = bgra.copy()
    out[rows, columns, :3] = np.rint(total / SAMPLES)
    return out
