"""Corner score (Shi and Tomasi) on torch tensors."""

from __future__ import annotations

import torch

from cuda_ops.corner import host, reference
from cuda_ops.errors import CudaOpsError
from cuda_ops.runtime.checks import check
from cuda_ops.runtime.gpu import launcher
from cuda_ops.runtime.registry import register


def corner_score(image: torch.Tensor, window: int = 3) -> torch.Tensor:
    """cv2.cornerMinEigenVal of `image` (H, W) uint8 with Sobel aperture 3: (H, W) float32.

    `window` is 1 to 7 px. Raises `CudaOpsError` for other values, shapes or dtypes.
    """
    image = check("corner_score", "image", image, [torch.uint8], ["H", "W"])
    if window not in range(1, host.WINDOW_MAX + 1):
        raise CudaOpsError(f"corner_score: window is {window}, allowed is 1 to {host.WINDOW_MAX}")
    result: torch.Tensor = _corner(image, window)
    return result


def _gpu(image: torch.Tensor, window: int) -> torch.Tensor:
    out = torch.empty(image.shape, dtype=torch.float32, device=image.device)
    host.run(launcher("corner", image.get_device()), image, out, window)
    return out


def _cpu(image: torch.Tensor, window: int) -> torch.Tensor:
    return torch.from_numpy(reference.corner_score(image.numpy(), window))


_corner = register(
    "corner_score(Tensor image, int window) -> Tensor",
    _gpu,
    _cpu,
    lambda image, window: image.new_empty(image.shape, dtype=torch.float32),
)
