"""Colour masks by hue, lightness and saturation, in the picture and on the ground (IPM), on torch tensors."""

from __future__ import annotations

import torch

from cuda_ops.errors import CudaOpsError
from cuda_ops.lanes import host, reference
from cuda_ops.lanes.host import WHITE, YELLOW, GroundCamera, GroundGrid, HlsRange
from cuda_ops.runtime.checks import check, check_number
from cuda_ops.runtime.gpu import launcher
from cuda_ops.runtime.registry import register


def colour_mask(image: torch.Tensor, first: HlsRange = WHITE, second: HlsRange = YELLOW) -> torch.Tensor:
    """Mask (H, W) uint8 of `image` (H, W, 3 or 4) uint8 BGR(A): 1 in the first HLS range, 2 in the second, 3 in both.

    Hue, lightness and saturation are OpenCV's before rounding. Raises `CudaOpsError` for another shape or dtype.
    """
    image = _picture("colour_mask", image)
    result: torch.Tensor = _colour(image, _packed(first, second))
    return result


def ground_mask(
    image: torch.Tensor,
    camera: GroundCamera,
    grid: GroundGrid,
    first: HlsRange = WHITE,
    second: HlsRange = YELLOW,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Inverse perspective mapping onto `grid`: the colour mask (rows, columns) and the view (rows, columns, 3) BGR.

    The mask is that of `colour_mask`. Colours are interpolated bilinearly at the cells' projections through the lens
    distortion; cells that the camera does not see are 0. Raises `CudaOpsError` for another image shape or dtype, or a
    wrong grid or camera.
    """
    image = _picture("ground_mask", image)
    if not 1 <= grid.rows <= host.ROWS_MAX or grid.columns < 1 or len(camera.ground_to_camera) != 9:
        raise CudaOpsError(f"ground_mask: {grid} needs rows 1 to {host.ROWS_MAX} and columns, the camera 9 numbers")
    numbers = [*camera.ground_to_camera, camera.fx, camera.fy, camera.cx, camera.cy, *camera.distortion]
    place = [grid.x_far_m, grid.y_left_m, grid.cell_m]
    mask, view = _ground(image, grid.rows, grid.columns, place, numbers, _packed(first, second))
    return mask, view


def _picture(operator: str, image: torch.Tensor) -> torch.Tensor:
    image = check(operator, "image", image, [torch.uint8], ["H", "W", "3 or 4"])
    if image.shape[2] not in (3, 4):
        raise CudaOpsError(f"{operator}: image has shape {tuple(image.shape)}, expected (H, W, 3 or 4)")
    check_number(operator, "the larger side of image", max(image.shape[:2]), 1, host.SIZE_MAX)
    return image


def _packed(first: HlsRange, second: HlsRange) -> list[float]:
    return [*first.low, *first.high, *second.low, *second.high]


def _unpacked(values: list[float]) -> tuple[HlsRange, HlsRange]:
    a, b, c, d, e, f, g, h, i, j, k, m = values
    return HlsRange((a, b, c), (d, e, f)), HlsRange((g, h, i), (j, k, m))


def _geometry(rows: int, columns: int, place: list[float], numbers: list[float]) -> tuple[GroundCamera, GroundGrid]:
    fx, fy, cx, cy, k1, k2, p1, p2, k3 = numbers[9:18]
    camera = GroundCamera(tuple(numbers[:9]), fx, fy, cx, cy, (k1, k2, p1, p2, k3))
    return camera, GroundGrid(rows, columns, *place)


def _colour_gpu(image: torch.Tensor, ranges: list[float]) -> torch.Tensor:
    mask = image.new_empty(image.shape[:2])
    host.run_colour(launcher("lanes", image.get_device()), image, *_unpacked(ranges), mask)
    return mask


def _colour_cpu(image: torch.Tensor, ranges: list[float]) -> torch.Tensor:
    return torch.from_numpy(reference.colour_mask(image.numpy(), *_unpacked(ranges)))


def _ground_gpu(
    image: torch.Tensor, rows: int, columns: int, place: list[float], numbers: list[float], ranges: list[float]
) -> tuple[torch.Tensor, torch.Tensor]:
    mask, view = image.new_empty((rows, columns)), image.new_empty((rows, columns, 3))
    camera, grid = _geometry(rows, columns, place, numbers)
    host.run_ground(launcher("lanes", image.get_device()), image, camera, grid, *_unpacked(ranges), mask, view)
    return mask, view


def _ground_cpu(
    image: torch.Tensor, rows: int, columns: int, place: list[float], numbers: list[float], ranges: list[float]
) -> tuple[torch.Tensor, torch.Tensor]:
    camera, grid = _geometry(rows, columns, place, numbers)
    mask, view = reference.ground_mask(image.numpy(), camera, grid, *_unpacked(ranges))
    return torch.from_numpy(mask), torch.from_numpy(view)


_colour = register(
    "colour_mask(Tensor image, float[] ranges) -> Tensor",
    _colour_gpu,
    _colour_cpu,
    lambda image, ranges: image.new_empty(image.shape[:2]),
)
_ground = register(
    "ground_mask(Tensor image, int rows, int columns, float[] place, float[] numbers, float[] ranges) "
    "-> (Tensor, Tensor)",
    _ground_gpu,
    _ground_cpu,
    lambda image, rows, columns, place, numbers, ranges: (
        image.new_empty((rows, columns)),
        image.new_empty((rows, columns, 3)),
    ),
)
