"""Measures each object's motion against the camera by optical flow of corners inside its box over several pictures.

A box's edges jump by a pixel from picture to picture; its texture is tracked to a tenth of one. The visible side of an
object is modelled as an upright face, see `face_flow`.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from av_core.frames import intrinsics, optical_to_vehicle_rotation, rotation_matrix
from av_core.types import CameraModel, Float, Image
from perception.depth.face_flow import BoxFlow, Flags, Numbers, box_flows
from perception.depth.view import Box

CORNERS_A_BOX, CORNER_QUALITY = 20, 0.02
"""Maximum number of corners per box, and their quality level in OpenCV's corner detector."""

CORNERS_FEW = 8
"""A box with at most this many corners gets new ones at once."""

QUARTER_FEW = 2
"""A quarter of a box with at most this many corners gets new ones, every `REFILL_PICTURES` pictures.

The corners must be spread over the box: corners on one side of a face hardly show how it grows."""

REFILL_PICTURES = 3
"""Number of pictures between two refills of quarters."""

BOXES_MAX = 12
"""Maximum number of boxes whose corners are tracked; the nearest ones are chosen."""

SIDE_MIN_PX = 8.0
"""Minimum side of such a box, px."""

INSET = 0.08
"""Margin inside a box without corners, as a fraction of the box."""

WINDOW_PX, LEVELS = 9, 2
"""Window side, px, and pyramid levels of the Lucas-Kanade tracker."""

MARGIN_PX = 4.0
"""Margin around a nearer box in which a farther box has no corners, px."""

BACK_MAX_PX = 0.5
"""Maximum error of tracking a corner forward and back, px."""

SPAN_PICTURES = 10
"""Number of pictures to look back for small boxes: a small object moves little in the picture, so that its motion takes
longer to measure."""

SPAN_NEAR_PICTURES = 6
"""Number of pictures to look back for large boxes."""

NEAR_PX = 40.0
"""Height from which a box counts as large, px."""


class ObjectFlow:
    """Tracks corners in the boxes of one camera's pictures; call `update` with each picture in order."""

    def __init__(self) -> None:
        self._grey: Image | None = None
        self._camera: CameraModel | None = None
        self._times_s: Float = np.zeros(1)
        self._pictures = 0
        self._clear()

    def update(
        self,
        bgr: Image,
        camera: CameraModel,
        dt_s: float,
        turned_rad: tuple[float, float, float],
        boxes: Sequence[Box],
    ) -> tuple[BoxFlow | None, ...]:
        """One flow per box, None where too few corners are tracked; `camera` has its present attitude to the road.

        `turned_rad` is the rotation of the vehicle frame about its (x, y, z) in the `dt_s` seconds since the last
        picture. A gap (`dt_s` 0) clears all corners.
        """
        grey = np.asarray(cv2.cvtColor(bgr, cv2.COLOR_BGR2GRAY), dtype=np.uint8)
        if min(grey.shape) < 4 * WINDOW_PX:
            return (None,) * len(boxes)
        is_other = self._camera is None or _lens(self._camera) != _lens(camera)
        if is_other or dt_s <= 0.0 or not np.isfinite(turned_rad).all():
            self._clear()
        if self._grey is not None and len(self._pixels):
            self._follow(self._grey, grey, camera, turned_rad)
            self._times_s = np.concatenate([[0.0], self._times_s[:SPAN_PICTURES] + dt_s])
        self._grey, self._camera = grey, camera
        chosen = _worth_following(boxes, camera)
        places = np.array([boxes[i] for i in chosen]).reshape(-1, 4)
        owner = _owners(self._pixels, places)
        longest = np.where(places[:, 3] - places[:, 1] >= NEAR_PX, SPAN_NEAR_PICTURES, SPAN_PICTURES)
        found = dict(zip(chosen, box_flows(self._trail, owner, longest, self._times_s, camera), strict=True))
        self._keep(owner >= 0)
        self._refill(grey, places, owner[owner >= 0], camera)
        return tuple(found.get(i) for i in range(len(boxes)))

    def _clear(self) -> None:
        self._pixels: Float = np.zeros((0, 2))
        # position n pictures ago, in the camera's present orientation
        self._trail: Float = np.zeros((0, SPAN_PICTURES + 1, 2))
        self._times_s = np.zeros(1)

    def _keep(self, which: Flags) -> None:
        self._pixels, self._trail = self._pixels[which], self._trail[which]

    def _follow(
        self,
        before: Image,
        now: Image,
        camera: CameraModel,
        turned_rad: tuple[float, float, float],
    ) -> None:
        start = self._pixels.astype(np.float32).reshape(-1, 1, 2)
        size = (WINDOW_PX, WINDOW_PX)
        there, ok, _ = cv2.calcOpticalFlowPyrLK(before, now, start, np.zeros_like(start), winSize=size, maxLevel=LEVELS)
        back, ok_back, _ = cv2.calcOpticalFlowPyrLK(
            now, before, there, np.zeros_like(start), winSize=size, maxLevel=LEVELS
        )
        gap = np.linalg.norm((np.asarray(back) - start).reshape(-1, 2), axis=1)
        place = np.asarray(there).reshape(-1, 2).astype(np.float64)
        shape = now.shape
        inside = (place >= 1.0).all(axis=1) & (place[:, 0] < shape[1] - 2) & (place[:, 1] < shape[0] - 2)
        good = (np.asarray(ok).ravel() == 1) & (np.asarray(ok_back).ravel() == 1) & (gap < BACK_MAX_PX) & inside
        roll, pitch, yaw = turned_rad
        optical = optical_to_vehicle_rotation(camera)
        turn = optical.T @ rotation_matrix(yaw, pitch, roll).T @ optical
        self._pixels = place
        self._trail[:, 1:] = _turned(self._trail[:, :-1], turn)
        self._trail[:, 0] = _normalised(place, camera)
        self._keep(good)

    def _refill(self, grey: Image, boxes: Float, owner: Numbers, camera: CameraModel) -> None:
        """Add corners to those of `boxes` (B, 4), nearest first, that have few, in their emptiest quarters first.

        `owner` (N,) is the box of each existing corner.
        """
        new = [self._pixels]
        self._pictures += 1
        for i in range(len(boxes)):
            have, middle = self._pixels[owner == i], (boxes[i, :2] + boxes[i, 2:]) / 2.0
            quarters = np.bincount(_quarters(have, middle), minlength=4)
            is_uneven = quarters.min() <= QUARTER_FEW and (self._pictures + i) % REFILL_PICTURES == 0
            if len(have) > CORNERS_FEW and not (is_uneven and len(have) < CORNERS_A_BOX):
                continue
            u0, v0, u1, v1 = _inset(boxes[i].tolist(), camera)
            part = grey[v0:v1, u0:u1]
            gap = max(2.0, 0.12 * min(part.shape)) if part.size else 0.0
            if min(part.shape, default=0) < 4:
                continue
            found = cv2.goodFeaturesToTrack(part, CORNERS_A_BOX, CORNER_QUALITY, gap)
            if found is None:
                continue
            fresh = np.asarray(found, dtype=np.float64).reshape(-1, 2) + np.array([u0, v0])
            if len(have):
                away = np.linalg.norm(fresh[:, None] - have[None], axis=2).min(axis=1)
                fresh = fresh[away >= gap]
            fresh = fresh[_owners(fresh, boxes) == i]
            fresh = fresh[np.argsort(quarters[_quarters(fresh, middle)], kind="stable")]
            new.append(fresh[: CORNERS_A_BOX - len(have)])
        if len(new) == 1:
            return
        old, self._pixels = len(self._pixels), np.concatenate(new)
        trail = np.full((len(self._pixels), SPAN_PICTURES + 1, 2), np.nan)
        trail[:old], trail[old:, 0] = self._trail, _normalised(self._pixels[old:], camera)
        self._trail = trail


def _worth_following(boxes: Sequence[Box], camera: CameraModel) -> list[int]:
    """Indices of the largest boxes that are finite and have room for corners, nearest (lowest edge) first."""
    usable = [i for i, b in enumerate(boxes) if np.isfinite(b).all() and min(b[2] - b[0], b[3] - b[1]) >= SIDE_MIN_PX]
    usable = [i for i in usable if boxes[i][0] < camera.width_px and boxes[i][1] < camera.height_px]
    return sorted(usable, key=lambda i: -boxes[i][3])[:BOXES_MAX]


def _quarters(pixels: Float, middle: Float) -> Numbers:
    """Index 0 to 3 of the quarter around `middle` in which each of `pixels` (N, 2) lies."""
    return np.asarray((pixels > middle) @ np.array([1, 2]))


def _owners(pixels: Float, boxes: Float) -> Numbers:
    """Index (N,) of the box that each pixel belongs to; -1 for none.

    The pixel must lie well inside the box, and no nearer box may reach into its window. `boxes` (B, 4) are sorted by
    their lower edge, nearest first.
    """
    if not len(boxes):
        return np.full(len(pixels), -1)
    inset = INSET * (boxes[:, 2:] - boxes[:, :2])
    is_inside = _within(pixels, boxes[:, :2] + inset, boxes[:, 2:] - inset)
    is_near = _within(pixels, boxes[:, :2] - MARGIN_PX, boxes[:, 2:] + MARGIN_PX)
    first = is_near.argmax(axis=0)
    return np.where(is_inside[first, np.arange(len(pixels))], first, -1)


def _within(pixels: Float, low: Float, high: Float) -> Flags:
    """Whether each pixel (N, 2) lies between the corners `low` and `high` (B, 2) of each box: (B, N)."""
    return np.asarray(((pixels >= low[:, None]) & (pixels <= high[:, None])).all(axis=2))


def _inset(box: Box, camera: CameraModel) -> tuple[int, int, int, int]:
    u0, v0, u1, v1 = box
    du, dv = INSET * (u1 - u0), INSET * (v1 - v0)
    columns = np.clip([np.ceil(u0 + du), np.floor(u1 - du) + 1], 0, camera.width_px).astype(int)
    rows = np.clip([np.ceil(v0 + dv), np.floor(v1 - dv) + 1], 0, camera.height_px).astype(int)
    return int(columns[0]), int(rows[0]), int(columns[1]), int(rows[1])


def _normalised(pixels: Float, camera: CameraModel) -> Float:
    k = intrinsics(camera)
    return np.asarray((pixels - k[:2, 2]) / [k[0, 0], k[1, 1]])


def _turned(points: Float, turn: Float) -> Float:
    """Normalised image points (..., 2) after a rotation of the camera."""
    moved = points @ turn[:, :2].T + turn[:, 2]
    ahead = np.where(moved[..., 2:] > 1e-3, moved[..., 2:], np.nan)
    return np.asarray(moved[..., :2] / ahead)


def _lens(camera: CameraModel) -> tuple[int, int, float]:
    return camera.width_px, camera.height_px, camera.fov_x_rad


def relative_velocity(flow: BoxFlow, depth_m: float, camera: CameraModel) -> tuple[Float, Float]:
    """Velocity (2,) m/s of an object relative to the camera, and covariance (2, 2), in the present vehicle frame.

    `depth_m` is the depth of the tracked face along the camera's axis; its error scales the result and is not in the
    covariance. Results of neighbouring pictures share corner positions; the covariance is widened so that they may be
    used one after the other as if independent.
    """
    c, s = np.cos(camera.yaw_rad), np.sin(camera.yaw_rad)
    axes = np.array([[s, c], [-c, s]])  # columns: right and forward of the camera
    rate = depth_m / flow.span_s
    return rate * axes @ flow.moved, flow.pictures * rate**2 * axes @ flow.covariance @ axes.T
