"""CPU reference of the lane kernels: the same float32 operations in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cuda_ops.lanes.host import GroundCamera, GroundGrid, HlsRange, scaled

Float = NDArray[np.float32]
Bytes = NDArray[np.uint8]
_F = np.float32
_Number = NDArray[np.floating[Any]] | np.floating[Any]
WEIGHTS = 256
"""Number of steps between two pixels in bilinear interpolation."""


def quotients(bgr: Float) -> tuple[Float, Float, Float, Float, Float]:
    """HLS of BGR 0..255 without division: (hue * divisor, divisor, lightness, saturation * divisor, divisor).

    Hue is -60 to 300 degrees; lightness and saturation are 0..255.
    """
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


def classify(bgr: Float, first: HlsRange, second: HlsRange) -> Bytes:
    """Class of each colour: 1 in the first range, 2 in the second, 3 in both, else 0."""
    parts = quotients(bgr)
    return (_inside(parts, first) + 2 * _inside(parts, second)).astype(np.uint8)


def colour_mask(image: Bytes, first: HlsRange, second: HlsRange) -> Bytes:
    return classify(image[..., :3].astype(np.float32), first, second)


def ground_mask(
    image: Bytes, camera: GroundCamera, grid: GroundGrid, first: HlsRange, second: HlsRange
) -> tuple[Bytes, Bytes]:
    """(colour mask (rows, columns), view (rows, columns, 3) BGR), interpolated with weights in 1/256.

    Both are 0 for cells that the camera does not see: cells behind it, or at a position (rounded down to 1/256 px)
    outside the picture.
    """
    px, py, seen = places(camera, grid)
    height, width = image.shape[:2]
    across, down = np.floor(px * _F(WEIGHTS)), np.floor(py * _F(WEIGHTS))
    seen = seen & (across >= 0) & (across <= (width - 1) * WEIGHTS) & (down >= 0) & (down <= (height - 1) * WEIGHTS)
    x0, tx = np.divmod(np.where(seen, across, 0).astype(np.intp), WEIGHTS)
    y0, ty = np.divmod(np.where(seen, down, 0).astype(np.intp), WEIGHTS)
    x1, y1 = np.minimum(x0 + 1, width - 1), np.minimum(y0 + 1, height - 1)
    tx, ty = tx[..., None], ty[..., None]
    colour = image[..., :3].astype(np.intp)
    top = colour[y0, x0] * (WEIGHTS - tx) + colour[y0, x1] * tx
    low = colour[y1, x0] * (WEIGHTS - tx) + colour[y1, x1] * tx
    blended = (top * (WEIGHTS - ty) + low * ty + WEIGHTS**2 // 2) // WEIGHTS**2
    view = np.where(seen[..., None], blended, 0).astype(np.uint8)
    mask = np.where(seen, colour_mask(view, first, second), np.uint8(0))
    return mask.astype(np.uint8), view


def places(camera: GroundCamera, grid: GroundGrid) -> tuple[Float, Float, NDArray[np.bool_]]:
    """(x, y, whether in front of the camera) of the projection of each cell's centre, px; each (rows, columns)."""
    x = _fma(-(np.arange(grid.rows, dtype=np.float32)[:, None] + _F(0.5)), _F(grid.cell_m), _F(grid.x_far_m))
    y = _fma(-(np.arange(grid.columns, dtype=np.float32)[None, :] + _F(0.5)), _F(grid.cell_m), _F(grid.y_left_m))
    m = [_F(value) for value in camera.ground_to_camera]
    k1, k2, p1, p2, k3 = (_F(value) for value in camera.distortion)
    one, two = _F(1.0), _F(2.0)
    right, down, forward = (_fma(m[i + 1], y, m[i] * x + m[i + 2]) for i in (0, 3, 6))
    before = forward > _F(1e-3)
    scale = one / np.where(before, forward, one)
    u, v = right * scale, down * scale
    r2 = _fma(v, v, u * u)
    radial = _fma(r2, _fma(r2, _fma(r2, k3, k2), k1), one)
    factor = _fma(two * p1, v, _fma(two * p2, u, radial))
    fx, fy, cx, cy = (_F(value) for value in (camera.fx, camera.fy, camera.cx, camera.cy))
    return _fma(fx * u, factor, _fma(fx * p2, r2, cx)), _fma(fy * v, factor, _fma(fy * p1, r2, cy)), before


def _fma(a: _Number, b: _Number, c: _Number) -> Float:
    """Fused multiply-add a * b + c, rounded once to float32.

    It is computed in float64. In one of 2^29 cases the sum lies between two float64 numbers and may be rounded twice.
    """
    return np.asarray(np.multiply(a, b, dtype=np.float64) + c, dtype=np.float32)


def _inside(parts: tuple[Float, Float, Float, Float, Float], wanted: HlsRange) -> NDArray[np.int64]:
    hue, hue_of, lightness, spread, spread_of = parts
    start, span, l0, l1, s0, s1 = (_F(value) for value in scaled(wanted))
    past = _fma(-start, hue_of, hue)
    past = np.where(past < 0.0, _fma(_F(360.0), hue_of, past), past)
    in_lightness = (_F(2.0) * lightness >= l0) & (_F(2.0) * lightness <= l1)
    in_saturation = (spread >= s0 * spread_of) & (spread <= s1 * spread_of)
    return np.asarray((past <= span * hue_of) & in_lightness & in_saturation, dtype=np.int64)
