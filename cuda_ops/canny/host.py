"""Host code of the Canny kernel: thresholds, grid and scratch, for a GPU and for the CPU shim of the tests."""

from __future__ import annotations

from math import floor
from typing import Any

from cuda_ops.errors import CudaOpsError
from cuda_ops.runtime.launcher import I32, Launcher, Ptr, ceil_div

TILE_W, TILE_H = 64, 56
STATE_BYTES = TILE_W * TILE_H // 8
THREADS = 512
SHARED_MAX_BYTES = 16 * 1024
"""Maximum dynamic shared memory of a block; with 22 KB of static memory it is within the 48 KB of every GPU."""


def words_shape(height: int, width: int) -> tuple[int, int]:
    """Shape of the uint32 scratch array with which tiles exchange their candidates, one bit per pixel."""
    return ceil_div(height, TILE_H) * TILE_H, ceil_div(width, TILE_W) * TILE_W // 32


def thresholds(low: float, high: float, l2_gradient: bool) -> tuple[int, int]:
    """The thresholds as integers, rounded like cv2.Canny's; squared for `l2_gradient`."""
    low, high = min(low, high), max(low, high)
    if l2_gradient:
        low, high = (min(32767.0, value) for value in (low, high))
        low, high = (value * value if value > 0.0 else value for value in (low, high))
    limit = 2.0**31 - 1.0
    return floor(max(-limit, min(limit, low))), floor(max(-limit, min(limit, high)))


def run(
    launcher: Launcher, image: Any, out: Any, words: Any, parents: Any, low: float, high: float, l2_gradient: bool
) -> None:
    """Write the edges of `image` (H, W) uint8 to `out` (H, W) uint8 as 0 or 255.

    The content of the scratch arrays does not matter: `words` has the shape `words_shape`, and `parents`, uint32, has
    32 elements for each word and one more. Raises `CudaOpsError` if the picture is too large for the GPU (more than 36
    tiles per block).
    """
    height, width = image.shape
    kernel = "canny_l2" if l2_gradient else "canny_l1"
    across, down = ceil_div(width, TILE_W), ceil_div(height, TILE_H)
    resident = launcher.resident_blocks(kernel, THREADS, SHARED_MAX_BYTES)
    columns = min(across, resident)
    rows = min(down, resident // columns)
    held = ceil_div(across, columns) * ceil_div(down, rows)
    if held * STATE_BYTES > SHARED_MAX_BYTES:
        raise CudaOpsError(
            f"canny: {width}x{height} is too large for this GPU: {held} tiles of {TILE_W}x{TILE_H} for a block, "
            f"allowed are {SHARED_MAX_BYTES // STATE_BYTES}"
        )
    limits = thresholds(low, high, l2_gradient)
    launcher.launch(
        kernel,
        (columns, rows, 1),
        THREADS,
        [Ptr(image), Ptr(out), Ptr(words), Ptr(parents), Ptr(launcher.control_words())]
        + [I32(value) for value in (width, height, width, *limits)],
        shared_bytes=held * STATE_BYTES,
        cooperative=True,
    )
