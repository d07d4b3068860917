"""Colour mask by ranges of L*a*b*, on torch tensors."""

from __future__ import annotations

from functools import lru_cache

import torch

from cuda_ops.errors import CudaOpsError
from cuda_ops.lab import host, reference
from cuda_ops.lab.host import LabRange
from cuda_ops.runtime.checks import check
from cuda_ops.runtime.gpu import launcher
from cuda_ops.runtime.registry import register


def lab_mask(image: torch.Tensor, first: LabRange, second: LabRange) -> torch.Tensor:
    """Mask (H, W) uint8 of `image` (H, W, 3 or 4) uint8 BGR(A): 1 in the first Lab range, 2 in the second, 3 in both.

    L, a and b are CIE's, scaled like OpenCV's bytes but not rounded. OpenCV's bytes come from coarse tables; one in a
    hundred differs by up to 2.3. Raises `CudaOpsError` for another shape or dtype.
    """
    image = check("lab_mask", "image", image, [torch.uint8], ["H", "W", "3 or 4"])
    if image.shape[2] not in (3, 4):
        raise CudaOpsError(f"lab_mask: image has shape {tuple(image.shape)}, expected (H, W, 3 or 4)")
    result: torch.Tensor = _mask(image, [*first.low, *first.high, *second.low, *second.high])
    return result


@lru_cache(maxsize=16)
def _linear(device: torch.device) -> torch.Tensor:
    return torch.from_numpy(host.linear_light()).to(device)


def _ranges(numbers: list[float]) -> tuple[LabRange, LabRange]:
    a, b, c, d, e, f, g, h, i, j, k, m = numbers
    return LabRange((a, b, c), (d, e, f)), LabRange((g, h, i), (j, k, m))


def _gpu(image: torch.Tensor, ranges: list[float]) -> torch.Tensor:
    mask = image.new_empty(image.shape[:2])
    host.run(launcher("lab", image.get_device()), image, _linear(image.device), *_ranges(ranges), mask)
    return mask


def _cpu(image: torch.Tensor, ranges: list[float]) -> torch.Tensor:
    return torch.from_numpy(reference.lab_mask(image.numpy(), *_ranges(ranges)))


_mask = register(
    "lab_mask(Tensor image, float[] ranges) -> Tensor",
    _gpu,
    _cpu,
    lambda image, ranges: image.new_empty(image.shape[:2]),
)
