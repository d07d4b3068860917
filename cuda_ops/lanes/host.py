"""Camera model, ground grid and colour ranges of the lane kernels, and their launches."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor
from typing import Any

from cuda_ops.runtime.launcher import F32, I32, Argument, Launcher, Ptr, ceil_div

THREADS = 256
GROUND_THREADS_MAX = 192
ROWS_MAX, SIZE_MAX = 65535, 32767


@dataclass(frozen=True, slots=True)
class HlsRange:
    """An inclusive range of hue, lightness, saturation in OpenCV's 8-bit units.

    Hue is 0..180, where 180 equals 0; a range with low > high passes through 0. Lightness and saturation are 0..255.
    """

    low: tuple[float, float, float]
    high: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class GroundCamera:
    """Pinhole camera above the ground plane.

    `ground_to_camera` is a row-major 3x3 matrix from ground (x, y, 1), m, to the camera's frame (right, down, forward).
    Intrinsics are in px; `distortion` is k1, k2, p1, p2, k3 as OpenCV defines them.
    """

    ground_to_camera: tuple[float, ...]
    fx: float
    fy: float
    cx: float
    cy: float
    distortion: tuple[float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class GroundGrid:
    """Ground grid (bird's-eye view) with cells of `cell_m`, in the vehicle frame (ISO 8855).

    Row 0 is the farthest, at `x_far_m`; column 0 is the leftmost, at `y_left_m`.
    """

    rows: int
    columns: int
    x_far_m: float
    y_left_m: float
    cell_m: float


WHITE = HlsRange((0.0, 160.0, 0.0), (180.0, 255.0, 255.0))
YELLOW = HlsRange((12.0, 60.0, 60.0), (35.0, 230.0, 255.0))


def scaled(wanted: HlsRange) -> tuple[float, ...]:
    """A range in the kernel's units.

    Start of the hue (-60 to 300) and its span, deg; twice the lightness, low and high; saturation, low and high.
    """
    (h0, l0, s0), (h1, l1, s1) = wanted.low, wanted.high
    start = 2.0 * h0 - (360.0 if h0 >= 150.0 else 0.0)
    return start, 2.0 * (h1 - h0) + (0.0 if h0 <= h1 else 360.0), 2.0 * l0, 2.0 * l1, s0, s1


def is_usual(first: HlsRange, second: HlsRange) -> bool:
    """Whether the kernel's shorter form gives the same result for these ranges.

    The first range must include every hue and saturation, as for white. The second must exclude grey, black and white,
    and have hues in quarter steps that do not pass through 150, so that all its products are exact.
    """
    any_hue, most = (0.0, 180.0), 255.0
    is_any = (first.low[0], first.high[0]) == any_hue and first.low[2] <= 0.0 and first.high[2] >= most
    hues = second.low[0], second.high[0]
    is_unbroken = hues[0] <= hues[1] < 150.0 or 150.0 <= hues[0] <= hues[1]
    is_plain = is_unbroken and all((4.0 * hue).is_integer() for hue in hues)
    is_coloured = second.low[2] > 0.0 and second.high[2] >= most and second.low[1] > 0.0 and second.high[1] < most
    return is_any and is_plain and is_coloured


def _ranges(first: HlsRange, second: HlsRange, in_usual_form: bool = False) -> list[Argument]:
    """The kernel arguments of both ranges. Lightness, doubled to integers, is given as centre and half width.

    In the usual form the hue of the second range is given as centre and half width too.
    """
    found = []
    for number, part in enumerate((first, second)):
        hue, span, *lightness, s0, s1 = scaled(part)
        if number == 1 and in_usual_form:
            span /= 2.0
            hue += span
        low, high = (min(max(value, -1.0), 511.0) for value in lightness)
        l0, l1 = ceil(low), floor(high)
        found += [hue, span, (l0 + l1) / 2.0, (l1 - l0) / 2.0, s0, s1]
    return [F32(value) for value in found]


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
    """Write the ground `mask` (rows, columns) uint8 of `image` (H, W, 3 or 4) uint8, and its `view`.

    `view` is (rows, columns, 3) BGR or None.
    """
    height, width, channels = (int(size) for size in image.shape)
    numbers = (
        grid.x_far_m, grid.y_left_m, grid.cell_m, *camera.ground_to_camera,
        camera.fx, camera.fy, camera.cx, camera.cy, *camera.distortion,
    )  # fmt: skip
    form = "thin_" if min(height, width) < 2 else "usual_" if is_usual(first, second) else ""
    arguments: list[Argument] = [
        Ptr(image), I32(width), I32(height), Ptr(mask), Ptr(view), I32(grid.rows), I32(grid.columns),
        *(F32(value) for value in numbers), *_ranges(first, second, form == "usual_"),
    ]  # fmt: skip
    fours = ceil_div(grid.columns, 4)
    threads = 32 * ceil_div(fours, 32 * ceil_div(fours, GROUND_THREADS_MAX))  # all blocks of a row have the same size
    shape = (ceil_div(fours, threads), grid.rows, 1)
    name = f"ground_mask_{form}{'bgr' if channels == 3 else 'bgra'}"
    launcher.launch(name, shape, threads, arguments, early=True)


def run_colour(launcher: Launcher, image: Any, first: HlsRange, second: HlsRange, mask: Any) -> None:
    """Write the colour `mask` (H, W) uint8 of `image` (H, W, 3 or 4) uint8."""
    height, width, channels = (int(size) for size in image.shape)
    size = height * width
    arguments: list[Argument] = [Ptr(image), I32(size), Ptr(mask), *_ranges(first, second)]
    name, each = ("colour_mask_bgr", 1) if channels == 3 else ("colour_mask_bgra", 4)
    launcher.launch(name, (ceil_div(size, THREADS * each), 1, 1), THREADS, arguments, early=True)
