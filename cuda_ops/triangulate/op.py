"""Kalman update of inverse depths from one more view, on torch tensors."""

from __future__ import annotations

import torch

from cuda_ops.runtime.checks import check, check_number
from cuda_ops.runtime.gpu import launcher
from cuda_ops.runtime.registry import register
from cuda_ops.triangulate import host, reference


def update_depths(
    rays: torch.Tensor,
    seen: torch.Tensor,
    state: torch.Tensor,
    rotation: torch.Tensor,
    translation: torch.Tensor,
    sigma: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Update inverse depths by one more view; returns (new state (N, 2) float32, used (N,) uint8).

    A state is the mean, 1/m, and the variance of an inverse depth. A point outside the 99 % gate around its prediction,
    or behind the camera, keeps its state, and its `used` is 0.

    * `rays` (N, 2) float32: x/z, y/z of each point in the anchor's camera; `seen`: the same in the new camera.
    * `state` (N, 2) float32: the states before.
    * `rotation` (3, 3), `translation` (3,): from the anchor's to the new camera's frame, CPU tensors.
    * `sigma`: standard deviation of `seen`.

    Raises `CudaOpsError` for other shapes or dtypes.
    """
    rays = check("update_depths", "rays", rays, [torch.float32], ["N", 2])
    seen = check("update_depths", "seen", seen, [torch.float32], [rays.shape[0], 2], rays)
    state = check("update_depths", "state", state, [torch.float32], [rays.shape[0], 2], rays)
    check_number("update_depths", "sigma", sigma, 1e-9, 1e3)
    pose = [*rotation.reshape(9).tolist(), *translation.reshape(3).tolist()]
    new, used = _update(rays, seen, state, sigma * sigma, pose)
    return new, used


def _gpu(
    rays: torch.Tensor, seen: torch.Tensor, state: torch.Tensor, variance: float, pose: list[float]
) -> tuple[torch.Tensor, torch.Tensor]:
    new, used = state.clone(), rays.new_empty(rays.shape[0], dtype=torch.uint8)
    host.run(launcher("triangulate", rays.get_device()), rays, seen, new, used, variance, pose)
    return new, used


def _cpu(
    rays: torch.Tensor, seen: torch.Tensor, state: torch.Tensor, variance: float, pose: list[float]
) -> tuple[torch.Tensor, torch.Tensor]:
    new, used = reference.update_depths(rays.numpy(), seen.numpy(), state.numpy(), variance, pose)
    return torch.from_numpy(new), torch.from_numpy(used)


_update = register(
    "update_depths(Tensor rays, Tensor seen, Tensor state, float variance, float[] pose) -> (Tensor, Tensor)",
    _gpu,
    _cpu,
    lambda rays, seen, state, variance, pose: (
        torch.empty_like(state),
        rays.new_empty(rays.shape[0], dtype=torch.uint8),
    ),
)
