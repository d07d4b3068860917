"""Camera, ground grid, colour ranges, and the launches of the lane kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cuda_ops.runtime.launcher import F32, I32, Argument, Launcher, Ptr, ceil_div

THREADS = 256
GROUND_THREADS = 64
ROWS_MAX, SIZE_MAX = 65535, 32767


@dataclass(frozen=True, slots=True)
class HlsRange:
    """Inclusive, in OpenCV's 8-bit units: hue 0..180, which is 0 again (low > high passes through it), lightness and
    saturation 0..255.
    """

    low: tuple[float, float, float]
    high: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class GroundCamera:
    """Row-major 3x3 from ground (x, y, 1), m, to the camera's frame (right, down, forward); intrinsics px; k1, k2, p1,
    p2, k3 as OpenCV defines them.
    """

    ground_to_camera: tuple[float, ...]
    fx: float
    fy: float
    cx: float
    cy: float
    distortion: tuple[float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class GroundGrid:
    """Cells of `cell_m`; row 0 is farthest, at x_far_m, column 0 leftmost, at y_left_m (vehicle frame, ISO 8855)."""

    rows: int
    columns: int
    x_far_m: float
    y_left_m: float
    cell_m: float


WHITE = HlsRange((0.0, 160.0, 0.0), (180.0, 255.0, 255.0))
YELLOW = HlsRange((12.0, 60.0, 60.0), (35.0, 230.0, 255.0))


def scaled(wanted: HlsRange) -> tuple[float, ...]:
    """What the kernel compares with: where hue begins, -60 to 300, how far it reaches, degrees; lightness doubled;
    saturation."""
    (h0, l0, s0), (h1, l1, s1) = wanted.low, wanted.high
    start = 2.0 * h0 - (360.0 if h0 >= 150.0 else 0.0)
    return start, 2.0 * (h1 - h0) + (0.0 if h0 <= h1 else 360.0), 2.0 * l0, 2.0 * l1, s0, s1


def is_usual(first: HlsRange, second: HlsRange) -> bool:
    """Whether the first range takes any hue and saturation, as white does, and the second any that is high enough."""
    any_hue, most = (0.0, 180.0), 255.0
    return (
        (first.low[0], first.high[0]) == any_hue and first.low[2] <= 0.0 and min(first.high[2], second.high[2]) >= most
    )


def _ranges(first: HlsRange, second: HlsRange) -> list[Argument]:
    return [F32(value) for part in (first, second) for value in scaled(part)]


def run_ground(
    launcher: Launcher,
    image: Any,
    camera: GroundCamera,
    grid: GroundGrid,
    first: HlsRange,
    second: HlsRange,
    mask: Any,
    view: Any,
) -> None:
    """`image` (H, W, 3 or 4) uint8 -> `mask` (rows, columns) uint8 and, unless None, `view` (rows, columns, 3) BGR."""
    height, width, channels = (int(size) for size in image.shape)
    numbers = (
        grid.x_far_m, grid.y_left_m, grid.cell_m, *camera.ground_to_camera,
        camera.fx, camera.fy, camera.cx, camera.cy, *camera.distortion,
    )  # fmt: skip
    arguments: list[Argument] = [
        Ptr(image), I32(width), I32(height), Ptr(mask), Ptr(view), I32(grid.rows), I32(grid.columns),
        *(F32(value) for value in numbers), *_ranges(first, second),
    ]  # fmt: skip
    shape = (ceil_div(grid.columns, 4 * GROUND_THREADS), grid.rows, 1)
    form = "thin_" if min(height, width) < 2 else "usual_" if is_usual(first, second) else ""
    name = f"ground_mask_{form}{'bgr' if channels == 3 else 'bgra'}"
    launcher.launch(name, shape, GROUND_THREADS, arguments, early=True)


def run_colour(launcher: Launcher, image: Any, first: HlsRange, second: HlsRange, mask: Any) -> None:
    """`image` (H, W, 3 or 4) uint8 -> `mask` (H, W) uint8."""
    height, width, channels = (int(size) for size in image.shape)
    size = height * width
    arguments: list[Argument] = [Ptr(image), I32(size), Ptr(mask), *_ranges(first, second)]
    name, each = ("colour_mask_bgr", 1) if channels == 3 else ("colour_mask_bgra", 4)
    launcher.launch(name, (ceil_div(size, THREADS * each), 1, 1), THREADS, arguments, early=True)
