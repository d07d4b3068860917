"""Oracle of object detection: takes the road users near the ego from the simulator's truth. For diagnosis only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from av_core.frames import map_to_vehicle, vehicle_to_image
from av_core.types import CameraModel, TrackedObject, Truth

BEHIND_M = 30.0
"""Range behind the ego, m; shorter than ahead, because road users behind only matter for lane changes."""


def oracle_objects(truth: Truth, range_m: float = 80.0, camera: CameraModel | None = None) -> tuple[TrackedObject, ...]:
    """Road users at most `range_m` away and not more than `BEHIND_M` behind, nearest first; ids are the truth's.

    With `camera`, road users in its picture carry `box_px`, computed as if they stood on the ego's ground plane;
    occluded ones have a box too.
    """
    if not truth.objects:
        return ()
    at = map_to_vehicle([[o.x_m, o.y_m] for o in truth.objects], truth.ego)
    distance = np.hypot(at[:, 0], at[:, 1])
    kept = [i for i in np.argsort(distance, kind="stable") if distance[i] <= range_m and at[i, 0] >= -BEHIND_M]
    objects = [truth.objects[i] for i in kept]
    if camera is None:
        return tuple(objects)
    return tuple(replace(o, box_px=box_in_image(o, truth, camera)) for o in objects)


def box_in_image(thing: TrackedObject, truth: Truth, camera: CameraModel) -> tuple[float, float, float, float] | None:
    """The rectangle (u0, v0, u1, v1) px around the projected box, clipped to the picture.

    None if a part of the box is behind the camera or all of it is outside the picture.
    """
    signs = np.array([[x, y] for x in (-0.5, 0.5) for y in (-0.5, 0.5)])
    local = signs * [thing.length_m, thing.width_m]
    c, s = np.cos(thing.yaw_rad), np.sin(thing.yaw_rad)
    corners = np.array([thing.x_m, thing.y_m]) + local @ np.array([[c, s], [-s, c]])
    foot = map_to_vehicle(corners, truth.ego)
    points = np.concatenate([np.column_stack([foot, np.full(4, z)]) for z in (0.0, thing.height_m)])
    pixels, _ = vehicle_to_image(points, camera)
    if np.isnan(pixels).any():
        return None
    (u0, v0), (u1, v1) = pixels.min(axis=0), pixels.max(axis=0)
    u0, u1 = np.clip([u0, u1], 0.0, camera.width_px - 1.0)
    v0, v1 = np.clip([v0, v1], 0.0, camera.height_px - 1.0)
    if u1 - u0 < 1.0 or v1 - v0 < 1.0:
        return None
    return float(u0), float(v0), float(u1), float(v1)
