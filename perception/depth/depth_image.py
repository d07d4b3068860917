"""Builds the semi-dense depth image of one camera: the ego lane's road, objects, and patches around tracked corners.

`depth_image` takes the lane estimate, the ranged objects and the triangulated corners. It returns the depth of each
pixel with its standard deviation. It serves to evaluate perception; driving does not use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from av_core.frames import intrinsics, optical_to_vehicle_rotation
from av_core.types import CameraModel, LaneEstimate, LaneLine, RangedObject
from perception.depth.parallax import DepthPoints
from perception.depth.ranging import face_depth_m
from perception.depth.view import View

Float32 = NDArray[np.float32]

FAR_M = 40.0
"""Maximum depth of road in the depth image, m."""

PATCH_PX = 2
"""Half side of the patch around a triangulated corner, px."""

BLIND_FAR_M, BLIND_HALF_M = 12.0, 1.0
"""Length and half width, m, of the area ahead that counts as road where no lane line is seen."""

LINE_MARGIN_M = 0.1
"""Margin beside the lane lines that does not count as road, m."""

FOOT_SIGMA_PX = 1.0
"""Standard deviation of a road pixel's vertical position, px."""

BOX_INSET = 0.15
"""Fraction of a box left out at its sides and top; half of it at the bottom."""

CAMERA_HEIGHT_MIN_M = 0.05
"""Minimum height of a camera that can see the ground plane, m."""


@dataclass(frozen=True, slots=True)
class DepthImage:
    """Depth along the camera's axis and its standard deviation, `depth_m` and `sigma_m` (H, W), NaN where unknown."""

    depth_m: Float32
    sigma_m: Float32


def depth_image(
    camera: CameraModel,
    pitch_sigma_rad: float,
    lanes: LaneEstimate | None,
    objects: Sequence[RangedObject],
    points: DepthPoints,
) -> DepthImage:
    """Combine road, objects and triangulated points; `camera` has its present attitude against the road.

    An object overrides the road behind it. A triangulated point overrides both where its sigma is smaller.
    """
    shape = (camera.height_px, camera.width_px)
    depth, sigma = np.full(shape, np.nan, dtype=np.float32), np.full(shape, np.nan, dtype=np.float32)
    _put_road(depth, sigma, camera, pitch_sigma_rad, lanes)
    view = View.of(camera)
    for thing in sorted(objects, key=lambda one: -one.near_m):
        _put_object(depth, sigma, view, thing)
    _put_points(depth, sigma, points)
    return DepthImage(depth, sigma)


def road_depth(camera: CameraModel, rows: slice) -> tuple[Float32, Float32, Float32]:
    """Depth along the camera's axis, and x, y on the ground in the vehicle frame, of every pixel of `rows`.

    Depth is not positive at and above the horizon.
    """
    k, turn = intrinsics(camera), optical_to_vehicle_rotation(camera)
    u = ((np.arange(camera.width_px) - k[0, 2]) / k[0, 0]).astype(np.float32)[None, :]
    v = ((np.arange(rows.start, rows.stop) - k[1, 2]) / k[1, 1]).astype(np.float32)[:, None]
    ahead, left, up = (np.float32(r[0]) * u + (np.float32(r[1]) * v + np.float32(r[2])) for r in turn)
    down = -up
    level = np.abs(down) < 1e-6
    depth: Float32 = (max(camera.z_m, 0.0) / np.where(level, -1e-6, down)).astype(np.float32)
    return depth, np.float32(camera.x_m) + depth * ahead, np.float32(camera.y_m) + depth * left


def _put_road(
    depth: Float32, sigma: Float32, camera: CameraModel, pitch_sigma_rad: float, lanes: LaneEstimate | None
) -> None:
    rows = slice(0, camera.height_px)
    if camera.roll_rad == 0.0:  # no road above the horizon
        focal, middle = intrinsics(camera)[1, 1:]
        horizon = middle - focal * np.tan(camera.pitch_rad)
        rows = slice(int(np.clip(np.floor(horizon), 0, camera.height_px)), camera.height_px)
    if rows.start >= rows.stop or camera.z_m <= CAMERA_HEIGHT_MIN_M:
        return
    z, x, y = road_depth(camera, rows)
    left, right, far = _corridor(lanes, x)
    on_road = (z > 0.0) & (z < FAR_M) & (x < far) & (y < left) & (y > right)
    focal = float(intrinsics(camera)[1, 1])
    per_rad = z * z / np.float32(camera.z_m)
    depth[rows][on_road] = z[on_road]
    sigma[rows][on_road] = (per_rad * np.float32(np.hypot(FOOT_SIGMA_PX / focal, pitch_sigma_rad)))[on_road]


def _corridor(lanes: LaneEstimate | None, x: Float32) -> tuple[Float32 | float, Float32 | float, float]:
    """Left and right border of the road, y m at each x, and the distance up to which they hold."""
    left = None if lanes is None else lanes.left
    right = None if lanes is None else lanes.right
    if left is None and right is None:
        return BLIND_HALF_M, -BLIND_HALF_M, BLIND_FAR_M
    far = min(line.x_max_m for line in (left, right) if line is not None)
    one = left if left is not None else right
    assert one is not None
    shape = _line(one, x)
    if left is None or right is None:
        # one line only: a corridor of fixed width around the ego, parallel to that line
        here = float(one.y_at(0.0))
        return shape - here + BLIND_HALF_M, shape - here - BLIND_HALF_M, far
    return shape - LINE_MARGIN_M, _line(right, x) + LINE_MARGIN_M, far


def _line(line: LaneLine, x: Float32) -> Float32:
    y = np.zeros_like(x)
    for coefficient in reversed(line.coefficients):
        y = y * x + np.float32(coefficient)
    return y


def _put_object(depth: Float32, sigma: Float32, view: View, thing: RangedObject) -> None:
    u0, v0, u1, v1 = thing.box_px
    inset_u, inset_v = BOX_INSET * (u1 - u0), BOX_INSET * (v1 - v0)
    height, width = depth.shape
    rows = slice(int(np.clip(v0 + inset_v, 0, height)), int(np.clip(v1 - inset_v / 2.0, 0, height)))
    columns = slice(int(np.clip(u0 + inset_u, 0, width)), int(np.clip(u1 - inset_u, 0, width)))
    along = face_depth_m(thing, view)
    level = np.array([thing.x_m - view.x_m, thing.y_m - view.y_m])
    if along > 0.0:
        depth[rows, columns] = along
        sigma[rows, columns] = float(np.sqrt(level @ thing.covariance @ level / (level @ level)))


def _put_points(depth: Float32, sigma: Float32, points: DepthPoints) -> None:
    height, width = depth.shape
    for (u, v), z, s in zip(np.rint(points.pixels).astype(int), points.depth_m, points.sigma_m, strict=True):
        rows = slice(max(v - PATCH_PX, 0), min(v + PATCH_PX + 1, height))
        columns = slice(max(u - PATCH_PX, 0), min(u + PATCH_PX + 1, width))
        better = ~(sigma[rows, columns] <= s)
        depth[rows, columns][better] = z
        sigma[rows, columns][better] = s
