"""CPU reference of the preprocess kernel: the same float32 operations in numpy; OpenCV differs by at most one level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cuda_ops.preprocess.host import BT601, Format, letterbox, size_of

Float = NDArray[np.float32]
BORDER = np.float32(114.0)


def preprocess(
    pictures: Sequence[NDArray[np.uint8]],
    height: int,
    width: int,
    picture_format: Format,
    dtype: Any,
    matrix: Sequence[float] = BT601,
    corner: Sequence[int] = (),
) -> NDArray[Any]:
    """RGB in 0..1 on grey 114, letterboxed or scaled to `corner` at the top left, (N, 3, height, width) of `dtype`."""
    out = np.full((len(pictures), 3, height, width), BORDER, np.float32)
    for picture, target in zip(pictures, out, strict=True):
        box = letterbox(*size_of(picture, picture_format), width, height, corner)
        rgb = _rgb_of_nv12(picture, matrix) if picture_format == "nv12" else picture[..., 2::-1].astype(np.float32)
        columns = slice(box.left, box.left + box.fit_width)
        scaled = _resized(rgb, box.fit_height, box.fit_width)
        scaled = np.floor(scaled + np.float32(0.5)) if corner else scaled
        target[:, box.top : box.top + box.fit_height, columns] = scaled
    return (out * np.float32(1.0 / 255.0)).astype(dtype)


def _resized(rgb: Float, height: int, width: int) -> Float:
    y0, y1, ty = _taps(height, rgb.shape[0])
    x0, x1, tx = _taps(width, rgb.shape[1])
    tx, ty = tx[None, :, None], ty[:, None, None]
    top = _mix(rgb[y0][:, x0], rgb[y0][:, x1], tx)
    low = _mix(rgb[y1][:, x0], rgb[y1][:, x1], tx)
    return _mix(top, low, ty).transpose(2, 0, 1)


def _taps(size: int, source: int) -> tuple[NDArray[np.intp], NDArray[np.intp], Float]:
    step = np.float32(source) / np.float32(size)
    at = (np.arange(size, dtype=np.float32) + np.float32(0.5)) * step - np.float32(0.5)
    low = np.floor(at)
    first = low.astype(np.intp)
    return np.clip(first, 0, source - 1), np.clip(first + 1, 0, source - 1), at - low


def _mix(a: Float, b: Float, t: Float) -> Float:
    return np.asarray(a + (b - a) * t, dtype=np.float32)


def _rgb_of_nv12(picture: NDArray[np.uint8], matrix: Sequence[float]) -> Float:
    height = picture.shape[0] * 2 // 3
    gain, red_v, green_u, green_v, blue_u = (np.float32(value) for value in matrix)
    luma = np.maximum(picture[:height].astype(np.float32) - np.float32(16.0), np.float32(0.0)) * gain
    chroma = picture[height:].astype(np.float32).reshape(height // 2, -1, 2) - np.float32(128.0)
    u, v = (chroma[..., i].repeat(2, axis=0).repeat(2, axis=1) for i in (0, 1))
    rgb = np.stack([luma + red_v * v, luma - green_u * u - green_v * v, luma + blue_u * u], axis=-1)
    return np.asarray(np.clip(rgb, np.float32(0.0), np.float32(255.0)), dtype=np.float32)
