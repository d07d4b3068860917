"""Canny edge detection on torch tensors."""

from __future__ import annotations

import torch

from cuda_ops.canny import host, reference
from cuda_ops.runtime.checks import check, check_number
from cuda_ops.runtime.gpu import launcher
from cuda_ops.runtime.registry import register


def canny(image: torch.Tensor, low: float, high: float, l2_gradient: bool = False) -> torch.Tensor:
    """Canny edges (H, W) uint8, 0 or 255, of `image` (H, W) uint8; every pixel equals cv2.Canny's with aperture 3.

    `low` and `high` are compared with |dx| + |dy|, or with the Euclidean norm of (dx, dy) if `l2_gradient`. Raises
    `CudaOpsError` for another shape, dtype or threshold.
    """
    image = check("canny", "image", image, [torch.uint8], ["H", "W"])
    limit = 1e12
    check_number("canny", "low", low, -limit, limit)
    check_number("canny", "high", high, -limit, limit)
    result: torch.Tensor = _canny(image, low, high, l2_gradient)
    return result


def _gpu(image: torch.Tensor, low: float, high: float, l2_gradient: bool) -> torch.Tensor:
    out = torch.empty_like(image)
    words = torch.empty(host.words_shape(*image.shape), dtype=torch.int32, device=image.device)
    parents = words.new_empty(words.numel() * 32 + 1)
    host.run(launcher("canny", image.get_device()), image, out, words, parents, low, high, l2_gradient)
    return out


def _cpu(image: torch.Tensor, low: float, high: float, l2_gradient: bool) -> torch.Tensor:
    return torch.from_numpy(reference.canny(image.numpy(), low, high, l2_gradient))


def _fake(image: torch.Tensor, low: float, high: float, l2_gradient: bool) -> torch.Tensor:
    return torch.empty_like(image)


_canny = register("canny(Tensor image, float low, float high, bool l2_gradient) -> Tensor", _gpu, _cpu, _fake)
