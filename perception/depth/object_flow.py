"""How each object moves past the camera: corners inside its box, followed over some pictures.

A box's edges jump by a pixel from picture to picture; its texture is followed to a tenth of one. What is seen of an
object is taken for an upright face, whose nearness changes evenly from one side to the other: where a corner at depth z
was before the object went by (right, down, forward) = (X, Y, Z) is (x - X / z, y - Y / z) / (1 - Z / z). All but the
distance itself follows by least squares (Longuet-Higgins and Prazdny, "The interpretation of a moving retinal image",
Proc. R. Soc. B 208, 1980; Lee, "A theory of visual control of braking based on information about time-to-collision",
Perception 5, 1976).
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
MARGIN_PX = 4.0
BACK_MAX_PX = 0.5
SPAN_PICTURES, SPAN_NEAR_PICTURES, NEAR_PX = 10, 6, 40.0
"""What looks smaller moves less in the picture: it takes longer to see how."""

CORNERS_MIN = 4
PIXEL_SIGMA = 0.12
"""What a corner's place is good for at least, however well the corners agree."""

INLIER_PX, INLIER_SHARE_MIN = 0.8, 0.6
ROUNDS = 6
RISE_SIGMA_MPS = 0.15
"""Road users neither climb nor sink against the camera, but for the road's slope and the body's swing."""

SLANT_SIGMA = 0.12
"""How much nearer, as a share, the face is one standard deviation of its corners to the right."""

STEP_MAX = 0.6


@dataclass(frozen=True, slots=True)
class BoxFlow:
    """How one object moved in the last `span_s` seconds, made of `pictures` steps, as shares of its distance.

    `moved` (2,) is (right, forward) against the camera in the level frame that heads as it does, over the depth of what
    was followed; `covariance` (2, 2).
    """

    span_s: float
    pictures: int
    moved: Float
    covariance: Float


class ObjectFlow:
    """Call `update` with each picture of one camera in order and the boxes found in it."""

    def __init__(self) -> None:
        self._grey: Image | None = None
        self._camera: CameraModel | None = None
        self._times_s: Float = np.zeros(1)
        self._clear()

    def update(
        self,
        bgr: Image,
        camera: CameraModel,
        dt_s: float,
        turned_rad: tuple[float, float, float],
        boxes: Sequence[Box],
    ) -> tuple[BoxFlow | None, ...]:
        """One answer a box, None where too few corners tell; `camera` as it looks at the road now. `turned_rad` is how
        the vehicle frame turned about its (x, y, z) in the `dt_s` seconds since the last picture. A gap (`dt_s` 0)
        forgets what was followed."""
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
        owner = _owners(self._pixels, boxes, chosen)
        found: list[BoxFlow | None] = [None] * len(boxes)
        for i in chosen:
            longest = SPAN_NEAR_PICTURES if boxes[i][3] - boxes[i][1] >= NEAR_PX else SPAN_PICTURES
            found[i] = _flow(self._trail[owner == i, : longest + 1], self._times_s, camera)
        self._keep(owner >= 0)
        self._refill(grey, boxes, chosen, owner[owner >= 0], camera)
        return tuple(found)

    def _clear(self) -> None:
        self._pixels: Float = np.zeros((0, 2))
        self._trail: Float = np.zeros((0, SPAN_PICTURES + 1, 2))  # where it was n pictures ago, in the frame of now
        self._times_s = np.zeros(1)

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
    """(N,) the box well inside which each pixel lies, and no nearer one is in its window; -1 for none.

    `chosen` is in order of feet, nearest first.
    """
    owner = np.full(len(pixels), -1)
    free = np.ones(len(pixels), dtype=np.bool_)
    for i in chosen:
        u0, v0, u1, v1 = boxes[i]
        du, dv = INSET * (u1 - u0), INSET * (v1 - v0)
        owner[free & _within(pixels, (u0 + du, v0 + dv, u1 - du, v1 - dv))] = i
        free &= ~_within(pixels, (u0 - MARGIN_PX, v0 - MARGIN_PX, u1 + MARGIN_PX, v1 + MARGIN_PX))
    return owner


def _within(pixels: Float, box: Box) -> NDArray[np.bool_]:
    u, v = pixels[:, 0], pixels[:, 1]
    return np.asarray((u >= box[0]) & (u <= box[2]) & (v >= box[1]) & (v <= box[3]))


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


def _lens(camera: CameraModel) -> tuple[int, int, float]:
    return camera.width_px, camera.height_px, camera.fov_x_rad


def _flow(trail: Float, times_s: Float, camera: CameraModel) -> BoxFlow | None:
    """The fit over the longest span that enough corners have lived through."""
    for age in range(min(trail.shape[1], len(times_s)) - 1, 0, -1):
        known = np.isfinite(trail[:, [0, age]]).all(axis=(1, 2))
        if known.sum() >= CORNERS_MIN:
            then, now = _level(trail[known, age], camera), _level(trail[known, 0], camera)
            focal = float(intrinsics(camera)[0, 0])
            fit = _fit(then, now, RISE_SIGMA_MPS * float(times_s[age]), focal)
            return None if fit is None else BoxFlow(float(times_s[age]), age, *fit)
    return None


def _level(points: Float, camera: CameraModel) -> Float:
    """Normalised image points (N, 2) as a level camera with the same heading would see them."""
    turn = rotation_matrix(camera.yaw_rad, 0.0, 0.0).T @ optical_to_vehicle_rotation(camera)
    rays = np.column_stack([points, np.ones(len(points))]) @ turn.T
    ahead = np.where(rays[:, 0] > 1e-3, rays[:, 0], np.nan)
    return np.column_stack([-rays[:, 1] / ahead, -rays[:, 2] / ahead])


def _fit(then: Float, now: Float, rise_sigma_m: float, focal_px: float) -> tuple[Float, Float] | None:
    """((2,) right and forward, covariance (2, 2)) by Gauss and Newton over the corners that agree; None where too few
    do."""
    middle, spread = now[:, 0].mean(), max(float(now[:, 0].std()), 2.0 / focal_px)
    side = (now[:, 0] - middle) / spread
    # right, down, forward (shares of the distance), slant; a distance of 15 m makes the rise a share
    guess, prior = np.zeros(4), np.array([0.0, 15.0 / rise_sigma_m, 0.0, 1.0 / SLANT_SIGMA]) ** 2
    weight, sigma = np.ones(len(now)), PIXEL_SIGMA / focal_px
    for _ in range(ROUNDS):
        off, slope = _misses(guess, then, now, side)
        miss = np.linalg.norm(off, axis=1)
        weight = (miss < max(INLIER_PX / focal_px, 2.5 * float(np.median(miss)))).astype(np.float64)
        free = max(2.0 * float(weight.sum()) - 4.0, 1.0)
        sigma = float(np.hypot(PIXEL_SIGMA / focal_px, np.sqrt(float((weight * miss**2).sum()) / free)))
        rows = slope * weight[:, None, None] / sigma**2
        information = np.einsum("nij,nik->jk", rows, slope) + np.diag(prior)
        step = np.linalg.solve(information + 1e-9 * np.eye(4), np.einsum("nij,ni->j", rows, off) - prior * guess)
        guess = guess + np.clip(step, -STEP_MAX, STEP_MAX)
    if weight.sum() < CORNERS_MIN or weight.mean() < INLIER_SHARE_MIN or not -1.0 < guess[2] < 0.7:
        return None
    covariance = np.linalg.inv(information + 1e-9 * np.eye(4))
    chosen = [0, 2]
    return guess[chosen], covariance[np.ix_(chosen, chosen)]


def _misses(guess: Float, then: Float, now: Float, side: Float) -> tuple[Float, Float]:
    """How far (N, 2) the corners were from where the guess puts them, and the guess's slopes (N, 2, 4)."""
    right, down, forward, slant = guess
    near = 1.0 + slant * side
    ahead = np.maximum(1.0 - forward * near, 0.1)
    put = (now - near[:, None] * [right, down]) / ahead[:, None]
    slope = np.zeros((len(now), 2, 4))
    slope[:, 0, 0] = slope[:, 1, 1] = -near / ahead
    slope[:, :, 2] = put * (near / ahead)[:, None]
    slope[:, :, 3] = (put * forward - [right, down]) * (side / ahead)[:, None]
    return then - put, slope


def relative_velocity(flow: BoxFlow, depth_m: float, camera: CameraModel) -> tuple[Float, Float]:
    """((2,) m/s, covariance (2, 2)) of an object against the camera, in the axes of the vehicle frame of now.

    `depth_m` is the distance along the view of the face that the corners lie on; what is wrong with it scales the
    answer, and is not in the covariance. Answers of neighbouring pictures share their corners' places: the covariance
    is widened so that they may be taken one after the other as if they did not.
    """
    c, s = np.cos(camera.yaw_rad), np.sin(camera.yaw_rad)
    axes = np.array([[s, c], [-c, s]])  # columns: right and forward of the camera
    rate = depth_m / flow.span_s
    return rate * axes @ flow.moved, flow.pictures * rate**2 * axes @ flow.covariance @ axes.T
