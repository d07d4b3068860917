"""What the lane kernels must equal: the same float32 operations in numpy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cuda_ops.lanes.host import GroundCamera, GroundGrid, HlsRange

Float = NDArray[np.float32]
Bytes = NDArray[np.uint8]
_F = np.float32


def quotients(bgr: Float) -> tuple[Float, Float, Float, Float, Float]:
    """Hue in degrees times the second value, lightness 0..255, saturation 0..255 times the fifth; of BGR 0..255."""
    blue, green, red = (bgr[..., i] for i in range(3))
    high = np.maximum(np.maximum(blue, green), red)
    low = np.minimum(np.minimum(blue, green), red)
    diff, total = high - low, high + low
    hue = np.where(
        high == red,
        (green - blue) * _F(60.0),
        np.where(
            high == green,
            (blue - red) * _F(60.0) + _F(120.0) * diff,
            (red - green) * _F(60.0) + _F(240.0) * diff,
        ),
    )
    hue = np.where(hue < 0.0, hue + _F(360.0) * diff, hue)
    grey = diff <= 0.0
    zero, one = _F(0.0), _F(1.0)
    spread_of = np.where(total < _F(255.0), total, _F(510.0) - total)
    return (
        np.where(grey, zero, hue),
        np.where(grey, one, diff),
        total * _F(0.5),
        np.where(grey, zero, diff * _F(255.0)),
        np.where(grey, one, spread_of),
    )


def hls_of(bgr: Float) -> Float:
    """(..., 3) float32 hue 0..180, lightness and saturation 0..255 of (..., 3) BGR 0..255, before rounding."""
    hue, hue_of, lightness, spread, spread_of = quotients(bgr)
    return np.stack([hue / hue_of * _F(0.5), lightness, spread / spread_of], axis=-1).astype(np.float32)


def classify(bgr: Float, first: HlsRange, second: HlsRange) -> Bytes:
    """1 where in the first range, 2 where in the second, 3 in both."""
    parts = quotients(bgr)
    return (_inside(parts, first) + 2 * _inside(parts, second)).astype(np.uint8)


def colour_mask(image: Bytes, first: HlsRange, second: HlsRange) -> Bytes:
    return classify(image[..., :3].astype(np.float32), first, second)


def ground_mask(
    image: Bytes, camera: GroundCamera, grid: GroundGrid, first: HlsRange, second: HlsRange
) -> tuple[Bytes, Bytes]:
    """Mask (rows, columns) and view (rows, columns, 3) BGR; 0 where the camera does not see the cell."""
    px, py, seen = places(camera, grid)
    height, width = image.shape[:2]
    seen = seen & (px >= 0) & (px <= _F(width - 1)) & (py >= 0) & (py <= _F(height - 1))
    px, py = np.where(seen, px, _F(0.0)), np.where(seen, py, _F(0.0))
    x0, y0 = px.astype(np.intp), py.astype(np.intp)
    x1, y1 = np.minimum(x0 + 1, width - 1), np.minimum(y0 + 1, height - 1)
    tx, ty = (px - x0.astype(np.float32))[..., None], (py - y0.astype(np.float32))[..., None]
    colour = image[..., :3].astype(np.float32)
    top = _blend(colour[y0, x0], colour[y0, x1], tx)
    low = _blend(colour[y1, x0], colour[y1, x1], tx)
    view = np.where(seen[..., None], _blend(top, low, ty), _F(0.0))
    mask = np.where(seen, classify(view, first, second), np.uint8(0))
    return mask.astype(np.uint8), (view + _F(0.5)).astype(np.uint8)


def places(camera: GroundCamera, grid: GroundGrid) -> tuple[Float, Float, NDArray[np.bool_]]:
    """Where each cell's centre lies in the picture, px, (rows, columns) each, and whether it is before the camera."""
    x = _F(grid.x_far_m) - (np.arange(grid.rows, dtype=np.float32)[:, None] + _F(0.5)) * _F(grid.cell_m)
    y = _F(grid.y_left_m) - (np.arange(grid.columns, dtype=np.float32)[None, :] + _F(0.5)) * _F(grid.cell_m)
    m = [_F(value) for value in camera.ground_to_camera]
    k1, k2, p1, p2, k3 = (_F(value) for value in camera.distortion)
    right, down, forward = (m[i] * x + m[i + 1] * y + m[i + 2] for i in (0, 3, 6))
    before = forward > _F(1e-3)
    scale = _F(1.0) / np.where(before, forward, _F(1.0))
    u, v = right * scale, down * scale
    uu, vv, uv = u * u, v * v, u * v
    r2 = uu + vv
    radial = _F(1.0) + r2 * (k1 + r2 * (k2 + r2 * k3))
    px = _F(camera.fx) * (u * radial + _F(2.0) * p1 * uv + p2 * (r2 + _F(2.0) * uu)) + _F(camera.cx)
    py = _F(camera.fy) * (v * radial + p1 * (r2 + _F(2.0) * vv) + _F(2.0) * p2 * uv) + _F(camera.cy)
    return px.astype(np.float32), py.astype(np.float32), before


def _blend(a: Float, b: Float, t: Float) -> Float:
    return np.asarray(a + (b - a) * t, dtype=np.float32)


def _inside(parts: tuple[Float, Float, Float, Float, Float], wanted: HlsRange) -> NDArray[np.int64]:
    hue, hue_of, lightness, spread, spread_of = parts
    (h0, l0, s0), (h1, l1, s1) = (tuple(_F(value) for value in end) for end in (wanted.low, wanted.high))
    above, below = hue >= _F(2.0) * h0 * hue_of, hue <= _F(2.0) * h1 * hue_of
    in_hue = above & below if h0 <= h1 else above | below
    in_lightness = (lightness >= l0) & (lightness <= l1)
    return np.asarray(in_hue & in_lightness & (spread >= s0 * spread_of) & (spread <= s1 * spread_of), dtype=np.int64)
