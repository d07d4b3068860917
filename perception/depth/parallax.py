"""Structure from motion for the static scene: corners triangulated over the ego's own motion of up to a second or two.

Corners (Shi and Tomasi, "Good features to track", CVPR 1994) are followed by pyramidal Lucas-Kanade with a backward
check. Each corner keeps the normal equations of its rays' least-squares intersection (Hartley and Zisserman, Multiple
View Geometry, 2nd ed., ch. 12), so a point costs the same however long it is tracked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from av_core.frames import intrinsics, optical_to_vehicle_rotation, rotation_matrix
from av_core.types import CameraModel, Image

Float = NDArray[np.float64]
Box = tuple[float, float, float, float]

CORNERS_MAX = 260
"""Maximum number of corners."""

CORNER_GAP_PX = 9
"""Minimum distance between two corners, px."""

CORNER_QUALITY = 0.006
"""Quality level of a corner in OpenCV's corner detector."""

REFILL_BELOW = 0.75
"""Fraction of `CORNERS_MAX` below which new corners are added."""

WINDOW_PX, LEVELS = 13, 2
"""Window side, px, and pyramid levels of the Lucas-Kanade tracker."""

BACK_MAX_PX = 0.7
"""Maximum error of tracking a corner forward and back, px."""

PIXEL_SIGMA = 0.8
"""Standard deviation of a tracked corner's position, px."""

ROTATION_SIGMA_RAD = 0.0006
"""Standard deviation of the rotation that gyro and time stamps leave per picture; acts like more pixel noise."""

RESIDUAL_MAX_PX = 1.5
"""Maximum mean reprojection error of a returned point, px; a corner with four times this error is dropped."""

RELATIVE_SIGMA_MAX = 0.12
"""Maximum depth sigma of a returned point, as a fraction of its depth."""

VIEWS_MIN = 4
"""Minimum number of pictures that show a returned point."""

DEPTH_MIN_M, DEPTH_MAX_M = 1.5, 80.0
FORGET = 0.985
"""Weight of older rays per picture."""

MOVED_MIN_M = 0.02
"""Minimum motion between two pictures that adds parallax, m."""


@dataclass(frozen=True, slots=True)
class DepthPoints:
    """Triangulated points of the last picture: `pixels` (N, 2), depth along the camera's axis and its sigma (N,)."""

    pixels: Float
    depth_m: Float
    sigma_m: Float

    @staticmethod
    def none() -> DepthPoints:
        return DepthPoints(np.zeros((0, 2)), np.zeros(0), np.zeros(0))


class Parallax:
    """Triangulates static corners; call `update` with each picture in order and the motion of the vehicle frame."""

    def __init__(self) -> None:
        self._grey: Image | None = None
        self._camera: CameraModel | None = None
        self._clear()

    def update(
        self,
        bgr: Image,
        camera: CameraModel,
        moved_m: float,
        turned_rad: tuple[float, float, float],
        moving: Sequence[Box],
    ) -> DepthPoints:
        """Track, triangulate and refill corners; returns the points with enough parallax.

        `moved_m` is the forward motion and `turned_rad` the rotation about (x, y, z) of the vehicle frame since the
        last picture. Corners in the boxes `moving` are dropped, since triangulation assumes a static scene.
        """
        grey = np.asarray(cv2.cvtColor(bgr, cv2.COLOR_BGR2GRAY), dtype=np.uint8)
        if self._grey is None or self._camera != camera or self._grey.shape != grey.shape:
            self._clear()
            self._grey, self._camera = None, camera
        self._move(moved_m, turned_rad)
        if self._grey is not None and len(self._pixels):
            self._follow(self._grey, grey)
        self._drop(_inside(self._pixels, moving))
        self._observe(camera, abs(moved_m) >= MOVED_MIN_M)
        self._refill(grey, camera, moving)
        self._grey = grey
        return self._points(camera)

    def _clear(self) -> None:
        self._pixels: Float = np.zeros((0, 2))
        self._information: Float = np.zeros((0, 3, 3))
        self._vector: Float = np.zeros((0, 3))
        self._views: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._residual: Float = np.zeros(0)

    def _drop(self, which: NDArray[np.bool_]) -> None:
        keep = ~which
        self._pixels, self._information, self._vector = self._pixels[keep], self._information[keep], self._vector[keep]
        self._views, self._residual = self._views[keep], self._residual[keep]

    def _move(self, moved_m: float, turned_rad: tuple[float, float, float]) -> None:
        """Transform the sums into the present vehicle frame: p_new = R^T (p_old - t)."""
        moved = moved_m if np.isfinite(moved_m) else 0.0
        roll, pitch, yaw = (angle if np.isfinite(angle) else 0.0 for angle in turned_rad)
        turn = rotation_matrix(yaw, pitch, roll)
        half = rotation_matrix(yaw / 2.0, pitch / 2.0, roll / 2.0)
        shift = half @ np.array([moved, 0.0, 0.0])
        vector = self._vector - self._information @ shift
        self._information = FORGET * (turn.T @ self._information @ turn)
        self._vector = FORGET * (vector @ turn)

    def _follow(self, before: Image, now: Image) -> None:
        start = self._pixels.astype(np.float32).reshape(-1, 1, 2)
        size = (WINDOW_PX, WINDOW_PX)
        there, ok, _ = cv2.calcOpticalFlowPyrLK(before, now, start, np.zeros_like(start), winSize=size, maxLevel=LEVELS)
        back, ok_back, _ = cv2.calcOpticalFlowPyrLK(
            now, before, there, np.zeros_like(start), winSize=size, maxLevel=LEVELS
        )
        gap = np.linalg.norm((np.asarray(back) - start).reshape(-1, 2), axis=1)
        height, width = now.shape[:2]
        place = np.asarray(there).reshape(-1, 2).astype(np.float64)
        inside = (place >= 1.0).all(axis=1) & (place[:, 0] < width - 2) & (place[:, 1] < height - 2)
        good = (np.asarray(ok).ravel() == 1) & (np.asarray(ok_back).ravel() == 1) & (gap < BACK_MAX_PX) & inside
        self._pixels = place
        self._drop(~good)

    def _observe(self, camera: CameraModel, is_moving: bool) -> None:
        """Add this picture's rays to the sums; a picture from the same place adds no parallax."""
        if not len(self._pixels) or not (is_moving or (self._views == 0).any()):
            return
        rays = _rays(self._pixels, camera)
        origin = np.array([camera.x_m, camera.y_m, camera.z_m])
        points, sigma = self._solve(rays, origin)
        depth = np.where((self._views >= 2) & np.isfinite(sigma), ((points - origin) * rays).sum(axis=1), 15.0)
        focal = float(intrinsics(camera)[0, 0])
        weight = (
            1.0 / (np.clip(depth, DEPTH_MIN_M, DEPTH_MAX_M) * np.hypot(PIXEL_SIGMA / focal, ROTATION_SIGMA_RAD)) ** 2
        )
        off = points - origin
        along = (off * rays).sum(axis=1)
        miss_px = focal * np.linalg.norm(off - along[:, None] * rays, axis=1) / np.maximum(along, DEPTH_MIN_M)
        known = self._views >= VIEWS_MIN
        self._residual = np.where(known, 0.8 * self._residual + 0.2 * np.minimum(miss_px, 20.0), self._residual)
        across = (np.eye(3) - rays[:, :, None] * rays[:, None, :]) * weight[:, None, None]
        self._information += across
        self._vector += across @ origin
        self._views += 1
        self._drop(known & (miss_px > 4.0 * RESIDUAL_MAX_PX))

    def _solve(self, rays: Float, origin: Float) -> tuple[Float, Float]:
        """Points (N, 3) in the vehicle frame and standard deviations (N,) along their rays."""
        if not len(rays):
            return np.zeros((0, 3)), np.zeros(0)
        prior = np.eye(3) * 1e-9
        inverse = np.linalg.inv(self._information + prior)
        points = np.einsum("nij,nj->ni", inverse, self._vector + prior @ origin)
        variance = np.einsum("ni,nij,nj->n", rays, inverse, rays)
        return points, np.sqrt(np.maximum(variance, 0.0))

    def _points(self, camera: CameraModel) -> DepthPoints:
        rays = _rays(self._pixels, camera)
        origin = np.array([camera.x_m, camera.y_m, camera.z_m])
        points, sigma = self._solve(rays, origin)
        forward = optical_to_vehicle_rotation(camera)[:, 2]
        depth = (points - origin) @ forward
        good = (self._views >= VIEWS_MIN) & (depth > DEPTH_MIN_M) & (depth < DEPTH_MAX_M)
        good &= (sigma < RELATIVE_SIGMA_MAX * depth) & (self._residual < RESIDUAL_MAX_PX)
        return DepthPoints(self._pixels[good], depth[good], sigma[good])

    def _refill(self, grey: Image, camera: CameraModel, moving: Sequence[Box]) -> None:
        if len(self._pixels) >= REFILL_BELOW * CORNERS_MAX or min(grey.shape) < 3 * WINDOW_PX:
            return
        free = np.full(grey.shape, 255, dtype=np.uint8)
        for u, v in self._pixels.tolist():
            cv2.circle(free, (round(u), round(v)), CORNER_GAP_PX, 0, -1)
        for u0, v0, u1, v1 in moving:
            if np.isfinite([u0, v0, u1, v1]).all():
                free[_slice(v0, v1, camera.height_px), _slice(u0, u1, camera.width_px)] = 0
        found = cv2.goodFeaturesToTrack(grey, CORNERS_MAX - len(self._pixels), CORNER_QUALITY, CORNER_GAP_PX, mask=free)
        if found is None:
            return
        new = np.asarray(found, dtype=np.float64).reshape(-1, 2)
        count = len(new)
        self._pixels = np.concatenate([self._pixels, new])
        self._information = np.concatenate([self._information, np.zeros((count, 3, 3))])
        self._vector = np.concatenate([self._vector, np.zeros((count, 3))])
        self._views = np.concatenate([self._views, np.zeros(count, dtype=np.int64)])
        self._residual = np.concatenate([self._residual, np.zeros(count)])
        fresh = self._views == 0
        rays = _rays(self._pixels[fresh], camera)
        origin = np.array([camera.x_m, camera.y_m, camera.z_m])
        focal = float(intrinsics(camera)[0, 0])
        across = (np.eye(3) - rays[:, :, None] * rays[:, None, :]) / (15.0 * PIXEL_SIGMA / focal) ** 2
        self._information[fresh], self._vector[fresh] = across, across @ origin
        self._views[fresh] = 1


def _rays(pixels: Float, camera: CameraModel) -> Float:
    """Unit rays (N, 3) of the pixels in the vehicle frame."""
    k = intrinsics(camera)
    optical = np.column_stack(
        [(pixels[:, 0] - k[0, 2]) / k[0, 0], (pixels[:, 1] - k[1, 2]) / k[1, 1], np.ones(len(pixels))]
    )
    rays = optical @ optical_to_vehicle_rotation(camera).T
    return np.asarray(rays / np.linalg.norm(rays, axis=1, keepdims=True))


def _inside(pixels: Float, boxes: Sequence[Box]) -> NDArray[np.bool_]:
    inside = np.zeros(len(pixels), dtype=np.bool_)
    for u0, v0, u1, v1 in boxes:
        inside |= (
            (pixels[:, 0] >= u0 - 2) & (pixels[:, 0] <= u1 + 2) & (pixels[:, 1] >= v0 - 2) & (pixels[:, 1] <= v1 + 2)
        )
    return inside


def _slice(start: float, stop: float, size: int) -> slice:
    return slice(int(np.clip(start - 2, 0, size)), int(np.clip(stop + 3, 0, size)))
