"""Requests for pictures (Shot), their results (Picture), shader features by weather, and read-back from OpenGL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embedded_carla.compiled import compiled
from embedded_carla.render.atmosphere import Atmosphere
from embedded_carla.render.frame import FAR_M
from embedded_carla.render.targets import Target
from embedded_carla.scene import ActorView, CameraView

NIGHT_FROM = 0.02  # night (0 to 1) above which lamps and headlights shine


@dataclass(frozen=True, slots=True)
class Shot:
    """A requested picture: camera, actors in the scene, and the outputs to make.

    Some objects further away than `far_m` (for example a LiDAR's range) are skipped to save time. `gain` multiplies the
    exposure, which is the weather's with `adapts` and otherwise that of a clear day.
    """

    camera: CameraView
    actors: Sequence[ActorView]
    rgb: bool = False
    depth: bool = False
    labels: bool = False
    far_m: float = FAR_M
    gain: float = 1.0
    adapts: bool = True


@dataclass(frozen=True, slots=True)
class Picture:
    """A rendered picture, rows top-down.

    `bgra` (H, W, 4) uint8; `depth_m` (H, W) planar depth, 1000 in the sky; `tag` (H, W) SemanticTag; `instance` (H, W)
    (actors: `ActorView.instance`; scenery: 0x8000 and up; ground: 0). Outputs that were not requested are None.
    """

    bgra: NDArray[np.uint8] | None
    depth_m: NDArray[np.float32] | None
    tag: NDArray[np.uint8] | None
    instance: NDArray[np.uint16] | None


def has_sun(air: Atmosphere) -> bool:
    """Whether the sun's light is strong enough to cast shadows."""
    return bool(air.sun_colour.max() > 0.02)


def features(air: Atmosphere) -> tuple[str, ...]:
    """The shader defines for effects that `air` needs.

    They select code at compile time because a software rasteriser also pays for code that a branch skips.
    """
    on = {
        "SUN": has_sun(air),
        "NIGHT": air.night > NIGHT_FROM,
        "FOG": air.fog_density > 0.0,
        "WET": max(air.wetness, air.puddles) > 0.0,
    }
    return tuple(name for name, needed in on.items() if needed)


def read_picture(target: Target) -> Picture:
    """Wait for OpenGL and read the outputs of `target`."""
    out = target.outputs
    bgra = target.read("rgb", 4, np.uint8) if out.rgb else None
    depth = target.read("depth", 1, np.float32)[..., 0] if out.depth else None
    if not out.labels:
        return Picture(bgra, depth, None, None)
    label = target.read("labels", 2, np.uint16)
    tag, instance = np.empty(label.shape[:2], dtype=np.uint8), np.empty(label.shape[:2], dtype=np.uint16)
    split_labels(label.view(np.uint32).reshape(-1), tag.reshape(-1), instance.reshape(-1))
    return Picture(bgra, depth, tag, instance)


@compiled
def split_labels(label: NDArray[np.uint32], tag: NDArray[np.uint8], instance: NDArray[np.uint16]) -> None:
    """Split labels (n,) into tag (n,) (low byte) and instance (n,) (high 16 bits)."""
    for i in range(len(label)):
        tag[i] = label[i] & np.uint32(0xFF)
        instance[i] = label[i] >> np.uint32(16)


def warm_up() -> None:
    """Compile this kernel, or load it from disk, so that no picture waits for the compiler."""
    split_labels(np.zeros(1, np.uint32), np.zeros(1, np.uint8), np.zeros(1, np.uint16))
