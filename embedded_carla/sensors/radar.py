"""The radar: casts random rays within an elliptic cone and measures the radial velocity of the objects they hit.

Message body: 16 bytes for each detection, four f32: velocity m/s (positive away from the sensor), azimuth rad (positive
to the right), altitude rad (positive up), depth m (along the ray).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import numpy as np

from embedded_carla.errors import EmbeddedCarlaError
from embedded_carla.raytracing.scene import RayScene
from embedded_carla.sensors.lidar import FARTHEST_M
from embedded_carla.types import Float, Transform

RADAR = "sensor.other.radar"
WIDEST_DEG = 170.0
MOST_POINTS = 1_000_000  # largest number of rays of one measurement


@dataclass(frozen=True, slots=True)
class RadarSpec:
    """The blueprint's attributes, with CARLA's defaults."""

    horizontal_fov_deg: float = 30.0
    vertical_fov_deg: float = 30.0
    points_per_second: int = 1500
    range_m: float = 100.0

    @staticmethod
    def of(number: Callable[[str, float], float]) -> RadarSpec:
        """From a blueprint's attributes; raises EmbeddedCarlaError naming an attribute out of bounds."""
        d = RadarSpec()
        spec = RadarSpec(
            number("horizontal_fov", d.horizontal_fov_deg), number("vertical_fov", d.vertical_fov_deg),
            int(number("points_per_second", d.points_per_second)), number("range", d.range_m),
        )  # fmt: skip
        for name, value, low, high in (
            ("horizontal_fov", spec.horizontal_fov_deg, 0.0, WIDEST_DEG), ("range", spec.range_m, 0.0, math.inf),
            ("vertical_fov", spec.vertical_fov_deg, 0.0, WIDEST_DEG),
            ("points_per_second", spec.points_per_second, 0, 10_000_000),
        ):  # fmt: skip
            if not low <= value <= high:
                raise EmbeddedCarlaError(f"radar attribute {name} is {value:g}; it must lie in {low:g} to {high:g}")
        return replace(spec, range_m=min(spec.range_m, FARTHEST_M))


def radar_rays(spec: RadarSpec, dt_s: float, rng: np.random.Generator) -> Float:
    """Unit directions (N, 3), sensor frame, of the rays cast in `dt_s`; denser towards the axis, as in CARLA."""
    count = min(int(spec.points_per_second * dt_s + 1e-6), MOST_POINTS)
    radius, turn = rng.random(count), rng.random(count) * 2.0 * np.pi
    wide, tall = (np.tan(np.radians(fov) / 2.0) for fov in (spec.horizontal_fov_deg, spec.vertical_fov_deg))
    rays = np.stack([np.ones(count), wide * radius * np.cos(turn), tall * radius * np.sin(turn)], axis=1)
    unit: Float = rays / np.linalg.norm(rays, axis=1, keepdims=True)
    return unit


def radar_body(
    scene: RayScene, spec: RadarSpec, pose: Transform, own_velocity: Float, velocities: Float,
    ignored: Collection[int], rays: Float,
) -> bytes:  # fmt: skip
    """The message body of a radar at `pose` that moves with `own_velocity` (3,) m/s in the world frame.

    `velocities` (A, 3) are the world velocities of the scene's actors; rays pass through those with the ids `ignored`.
    """
    matrix = pose.matrix()
    along = rays @ matrix[:3, :3].T
    hits = scene.cast(matrix[:3, 3], along, spec.range_m, ignored)
    hit = np.flatnonzero(np.isfinite(hits.distance_m))
    ray, along, actor = rays[hit], along[hit], hits.actor[hit]
    of_target = np.vstack([velocities, np.zeros((1, 3))])[actor]  # the last row is the scenery's, number -1
    detections = np.empty((len(hit), 4), dtype="<f4")
    detections[:, 0] = np.sum((of_target - own_velocity) * along, axis=1)
    detections[:, 1] = np.arctan2(ray[:, 1], ray[:, 0])
    detections[:, 2] = np.arcsin(np.clip(ray[:, 2], -1.0, 1.0))
    detections[:, 3] = hits.distance_m[hit]
    return detections.tobytes()
