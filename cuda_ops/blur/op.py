"""Gaussian blur on torch tensors."""

from __future__ import annotations

import torch

from cuda_ops.blur import host, reference
from cuda_ops.errors import CudaOpsError
from cuda_ops.runtime.checks import check, check_number
from cuda_ops.runtime.gpu import launcher
from cuda_ops.runtime.registry import register


def gaussian_blur(image: torch.Tensor, size: int, sigma: float = 0.0) -> torch.Tensor:
    """cv2.GaussianBlur of `image` (H, W) uint8 with a `size` x `size` kernel; every pixel is equal to OpenCV's.

    `size` is odd, 1 to 15; with sigma 0 it is derived from the size. Raises `CudaOpsError` for other values.
    """
    image = check("gaussian_blur", "image", image, [torch.uint8], ["H", "W"])
    if size not in range(1, 16, 2):
        raise CudaOpsError(f"gaussian_blur: size is {size}, allowed are 1, 3, 5 .. 15")
    check_number("gaussian_blur", "sigma", sigma, 0.0, 100.0)
    result: torch.Tensor = _blur(image, size, sigma)
    return result


def _gpu(image: torch.Tensor, size: int, sigma: float) -> torch.Tensor:
    out = torch.empty_like(image)
    host.run(launcher("blur", image.get_device()), image, out, size, sigma)
    return out


def _cpu(image: torch.Tensor, size: int, sigma: float) -> torch.Tensor:
    return torch.from_numpy(reference.gaussian_blur(image.numpy(), size, sigma))


_blur = register(
    "gaussian_blur(Tensor image, int size, float sigma) -> Tensor",
    _gpu,
    _cpu,
    lambda image, size, sigma: torch.empty_like(image),
)
