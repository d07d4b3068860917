"""How the picture of each object grows and shifts: corners inside its box, followed over some pictures.

A box's edges jump by a pixel from picture to picture; its texture is followed to a tenth of one. With the camera's own
turn taken out, the corners of a rigid object at depth z move by x_now = s x_then + t, where s = z_then / z_now and z t
is how far the object went sideways of the camera (the scale change behind time to contact: Lee, "A theory of visual
control of braking based on information about time-to-collision", Perception 5, 1976).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from av_stack.frames import intrinsics, optical_to_vehicle_rotation, rotation_matrix
from av_stack.types import CameraModel, Image

Float = NDArray[np.float64]
Box = tuple[float, float, float, float]

CORNERS_A_BOX, CORNER_QUALITY = 16, 0.02
BOXES_MAX = 12
SIDE_MIN_PX = 8.0
INSET = 0.08
WINDOW_PX, LEVELS = 9, 2
BACK_MAX_PX = 0.5
SPAN_PICTURES = 6
CORNERS_MIN = 4
PIXEL_SIGMA = 0.12
"""What a corner's place is good for at least, however well the corners agree."""

INLIER_PX = 0.8
INLIER_SHARE_MIN = 0.6
ROUNDS = 3
SPREAD_MIN_PX = 1.5


@dataclass(frozen=True, slots=True)
class BoxFlow:
    """One object's change of look over the last `span_s` seconds, made of `pictures` steps.

    `scale` is how much larger it looks, `middle_now` and `middle_then` are the corners' mean (x, y) / z in the camera's
    frame of now; `scale_sigma` and `middle_sigma` (of their difference) are one standard deviation.
    """

    span_s: float
    pictures: int
    scale: float
    scale_sigma: float
    middle_now: tuple[float, float]
    middle_then: tuple[float, float]
    middle_sigma: float


class ObjectFlow:
    """Call `update` with each picture of one camera in order and the boxes found in it."""

    def __init__(self) -> None:
        self._grey: Image | None = None
        self._camera: CameraModel | None = None
        self._clear()

    def update(
        self,
        bgr: Image,
        camera: CameraModel,
        dt_s: float,
        turned_rad: tuple[float, float, float],
        boxes: Sequence[Box],
    ) -> tuple[BoxFlow | None, ...]:
        """One answer a box, None where too few corners tell; `turned_rad` is how the vehicle frame turned about its
        (x, y, z) in the `dt_s` seconds since the last picture. A gap (`dt_s` 0) forgets what was followed."""
        grey = np.asarray(cv2.cvtColor(bgr, cv2.COLOR_BGR2GRAY), dtype=np.uint8)
        if min(grey.shape) < 4 * WINDOW_PX:
            return (None,) * len(boxes)
        if self._camera != camera or dt_s <= 0.0 or not np.isfinite(turned_rad).all():
            self._clear()
        if self._grey is not None and len(self._pixels):
            self._follow(self._grey, grey, camera, turned_rad)
            self._times_s = np.concatenate([[0.0], self._times_s[:SPAN_PICTURES] + dt_s])
        self._grey, self._camera = grey, camera
        chosen = _worth_following(boxes, camera)
        owner = _owners(self._pixels, boxes, chosen)
        focal = float(intrinsics(camera)[0, 0])
        found = [
            _flow(self._trail[owner == i], self._times_s, focal) if i in chosen else None for i in range(len(boxes))
        ]
        self._keep(owner >= 0)
        self._refill(grey, boxes, chosen, owner[owner >= 0], camera)
        return tuple(found)

    def _clear(self) -> None:
        self._pixels: Float = np.zeros((0, 2))
        self._trail: Float = np.zeros((0, SPAN_PICTURES + 1, 2))  # where it was n pictures ago, in the frame of now
        self._times_s: Float = np.zeros(1)

    def _keep(self, which: NDArray[np.bool_]) -> None:
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

    def _refill(
        self, grey: Image, boxes: Sequence[Box], chosen: Sequence[int], owner: NDArray[np.int64], camera: CameraModel
    ) -> None:
        new = [self._pixels]
        for i in chosen:
            have = self._pixels[owner == i]
            if len(have) > CORNERS_A_BOX // 2:
                continue
            u0, v0, u1, v1 = _inset(boxes[i], camera)
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
            fresh = fresh[_owners(fresh, boxes, chosen) == i]
            new.append(fresh[: CORNERS_A_BOX - len(have)])
        pixels = np.concatenate(new)
        trail = np.full((len(pixels), SPAN_PICTURES + 1, 2), np.nan)
        trail[: len(self._trail)] = self._trail
        trail[len(self._trail) :, 0] = _normalised(pixels[len(self._trail) :], camera)
        self._pixels, self._trail = pixels, trail


def _worth_following(boxes: Sequence[Box], camera: CameraModel) -> list[int]:
    """Numbers of the largest boxes that are finite and have room for corners."""
    usable = [i for i, b in enumerate(boxes) if np.isfinite(b).all() and min(b[2] - b[0], b[3] - b[1]) >= SIDE_MIN_PX]
    usable = [i for i in usable if boxes[i][0] < camera.width_px and boxes[i][1] < camera.height_px]
    return sorted(usable, key=lambda i: -boxes[i][3])[:BOXES_MAX]


def _owners(pixels: Float, boxes: Sequence[Box], chosen: Sequence[int]) -> NDArray[np.int64]:
    """(N,) the nearest box, by its foot, that holds each pixel; -1 for none. `chosen` is in order of feet."""
    owner = np.full(len(pixels), -1)
    for i in reversed(chosen):
        u0, v0, u1, v1 = boxes[i]
        du, dv = INSET * (u1 - u0), INSET * (v1 - v0)
        inside = (pixels[:, 0] >= u0 + du) & (pixels[:, 0] <= u1 - du)
        owner[inside & (pixels[:, 1] >= v0 + dv) & (pixels[:, 1] <= v1 - dv)] = i
    return owner


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
    """Normalised image points (..., 2) seen from a camera that has turned."""
    moved = points @ turn[:, :2].T + turn[:, 2]
    ahead = np.where(moved[..., 2:] > 1e-3, moved[..., 2:], np.nan)
    return np.asarray(moved[..., :2] / ahead)


def _flow(trail: Float, times_s: Float, focal_px: float) -> BoxFlow | None:
    """The fit over the longest span that enough corners have lived through."""
    for age in range(min(SPAN_PICTURES, len(times_s) - 1), 0, -1):
        known = np.isfinite(trail[:, [0, age]]).all(axis=(1, 2))
        if known.sum() >= CORNERS_MIN:
            return _fit(trail[known, age], trail[known, 0], float(times_s[age]), age, focal_px)
    return None


def _fit(then: Float, now: Float, span_s: float, pictures: int, focal_px: float) -> BoxFlow | None:
    """Scale and shift by least squares over the corners that agree; None where too few do."""
    scale = _median_scale(then, now)
    if scale is None:
        return None
    shift = np.median(now - scale * then, axis=0)
    inside = np.zeros(len(now), dtype=np.bool_)
    for _ in range(ROUNDS):
        miss_px = focal_px * np.linalg.norm(now - scale * then - shift, axis=1)
        inside = miss_px < max(INLIER_PX, 2.0 * float(np.median(miss_px)))
        if inside.sum() < CORNERS_MIN:
            return None
        a, b = then[inside] - then[inside].mean(axis=0), now[inside] - now[inside].mean(axis=0)
        spread = float((a**2).sum())
        if spread * focal_px**2 < SPREAD_MIN_PX**2 * inside.sum():
            return None
        scale = float((a * b).sum()) / spread
        shift = now[inside].mean(axis=0) - scale * then[inside].mean(axis=0)
    if inside.mean() < INLIER_SHARE_MIN or not 0.5 < scale < 2.0:
        return None
    off = now[inside] - scale * then[inside] - shift
    free = max(2 * int(inside.sum()) - 3, 1)
    sigma = float(np.hypot(np.sqrt((off**2).sum() / free), PIXEL_SIGMA / focal_px))
    before, after = then[inside].mean(axis=0), now[inside].mean(axis=0)
    return BoxFlow(
        span_s,
        pictures,
        scale,
        sigma / float(np.sqrt(spread)),
        (float(after[0]), float(after[1])),
        (float(before[0]), float(before[1])),
        sigma / float(np.sqrt(inside.sum())),
    )


def _median_scale(then: Float, now: Float) -> float | None:
    """The middle one of the ratios of distances between corners, those far apart only."""
    i, j = np.triu_indices(len(then), 1)
    before = np.linalg.norm(then[i] - then[j], axis=1)
    after = np.linalg.norm(now[i] - now[j], axis=1)
    far = before >= np.median(before)
    return (
        float(np.median(after[far] / before[far]))
        if before.max(initial=0.0) > 0.0 and (before[far] > 0).all()
        else None
    )


def relative_velocity(flow: BoxFlow, depth_m: float, camera: CameraModel) -> tuple[Float, Float]:
    """((2,) m/s, covariance (2, 2)) of an object against the camera, in the axes of the vehicle frame of now.

    `depth_m` is the distance along the view of the face that the corners lie on; what is wrong with it scales the
    answer, and is not in the covariance. Answers of neighbouring pictures share their corners' places: the covariance
    is widened so that they may be taken one after the other as if they did not.
    """
    (x_now, _), (x_then, _) = flow.middle_now, flow.middle_then
    right = depth_m * (x_now - flow.scale * x_then)
    forward = depth_m * (1.0 - flow.scale)
    by_scale, by_middle = flow.scale_sigma**2, flow.middle_sigma**2
    spread = depth_m**2 * np.array(
        [[x_then**2 * by_scale + by_middle, x_then * by_scale], [x_then * by_scale, by_scale]]
    )
    axes = optical_to_vehicle_rotation(camera)[:2][:, [0, 2]]
    rate = 1.0 / flow.span_s
    return rate * axes @ [right, forward], flow.pictures * rate**2 * axes @ spread @ axes.T
