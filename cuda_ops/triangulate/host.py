"""Launches the update of inverse depths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cuda_ops.runtime.launcher import F32, I32, Argument, Launcher, Ptr, ceil_div


def run(
    launcher: Launcher, rays: Any, seen: Any, state: Any, used: Any, variance: float, pose: Sequence[float]
) -> None:
    """Update `state` (N, 2) float32 in place; `pose`, anchor to camera, is a row-major rotation, then a translation."""
    count = int(rays.shape[0])
    arguments: list[Argument] = [
        Ptr(rays),
        Ptr(seen),
        Ptr(state),
        Ptr(used),
        I32(count),
        F32(variance),
        *(F32(v) for v in pose),
    ]
    launcher.launch("update_depths", (ceil_div(count, 256), 1, 1), 256, arguments, early=True)
