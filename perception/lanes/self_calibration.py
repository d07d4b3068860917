"""Self-calibration of a camera's pitch and yaw from the vanishing point of the lane lines.

Lines parallel to a straight road meet in one point of the picture, in the direction of travel. Its offset from the
picture's middle gives the camera's angles (Caprile and Torre, "Using vanishing points for camera calibration", IJCV 4,
1990). The height above the ground cannot be found from lines and stays as given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from av_core.frames import intrinsics
from av_core.types import CameraModel, Image
from perception.lanes.lines import find_segments
from perception.lanes.road_view import RoadView, road_view
from perception.lanes.segmentation import columns_of, segment_paint

Float = NDArray[np.float64]

SEARCH_UP, SEARCH_SIDE = 0.25, 0.2
"""Search range around the expected vanishing point, as fractions of the picture's height and width."""

INLIER_PX = 4.0
"""Maximum distance of the vanishing point from a segment's line, px."""

SEGMENT_LENGTH_MIN_PX = 18.0
"""Minimum length of a segment, px."""

SLANT_MIN = 0.25
"""Minimum slant |dv / du| of a segment."""

CROSSING_MIN_RAD = np.radians(20.0)
"""Minimum angle between two segments whose crossing is a candidate."""

SUPPORT_MIN_PX = 60.0
"""Minimum total length, px, of segments that meet in the point, on each side of the road."""

PITCH_TRIALS_RAD = tuple(np.radians([0.0, -4.0, 4.0, -8.0, 8.0]).tolist())
"""Offsets of the trials from the guessed pitch. Each trial analyses the rows that show the road at its pitch."""

AGREE_MAX_RAD = np.radians(0.7)
"""Maximum difference of the angles of two trials that found the same point."""

FAR_RAD = np.radians(2.0)
"""Difference of pitch beyond which a trial analysed the wrong rows and is repeated."""

GAIN = 0.1
"""Weight of a later measurement."""

JUMP_MAX_RAD = np.radians(1.5)
"""Maximum change by a later measurement; one that differs more is ignored."""


def angles_of(point: tuple[float, float], camera: CameraModel) -> tuple[float, float]:
    """(pitch, yaw), rad, of a camera without roll whose vanishing point of the road is `point` (u, v) px."""
    k = intrinsics(camera)
    pitch = float(np.arctan((k[1, 2] - point[1]) / k[1, 1]))
    return pitch, float(np.arctan((point[0] - k[0, 2]) / k[0, 0] * np.cos(pitch)))


def point_of(camera: CameraModel) -> tuple[float, float]:
    """Vanishing point (u, v) px of the road for `camera` without roll; the inverse of `angles_of`."""
    k = intrinsics(camera)
    u = k[0, 0] * np.tan(camera.yaw_rad) / np.cos(camera.pitch_rad) + k[0, 2]
    return float(u), float(k[1, 2] - k[1, 1] * np.tan(camera.pitch_rad))


def vanishing_point(bgr: Image, camera: CameraModel) -> tuple[float, float] | None:
    """Intersection (u, v) px of the lane lines of one picture; None where both sides of the road do not agree on one.

    `camera` is an initial guess: the search is limited to a region around the point that it predicts.
    """
    found = _meeting_point(bgr, camera)
    return None if found is None else found.point


def turned_camera(bgr: Image, guess: CameraModel) -> CameraModel | None:
    """`guess` with the pitch and yaw from the lane lines of one picture; None where no vanishing point is found.

    The pitch may differ from the guess by some 8 degrees, because several pitches are tried. The point that counts is
    that of the best supported trial, as measured by the agreeing trial nearest to the guess.
    """
    found = [trial for offset_rad in PITCH_TRIALS_RAD if (trial := _trial(bgr, guess, offset_rad)) is not None]
    if not found:
        return None
    best = max(found, key=lambda trial: trial.support_px)
    agree = (trial for trial in found if np.abs(np.subtract(trial.angles_rad, best.angles_rad)).max() <= AGREE_MAX_RAD)
    pitch_rad, yaw_rad = next(agree).angles_rad
    return replace(guess, pitch_rad=pitch_rad, yaw_rad=yaw_rad)


@dataclass(frozen=True, slots=True)
class _Trial:
    """Pitch and yaw, rad, and the length, px of the working picture, of the segments that meet there."""

    angles_rad: tuple[float, float]
    support_px: float


def _trial(bgr: Image, guess: CameraModel, offset_rad: float) -> _Trial | None:
    """The vanishing point from the guess turned down by `offset_rad`; again from there where it is far from that."""
    tried = replace(guess, pitch_rad=guess.pitch_rad + offset_rad)
    found = _measure(bgr, tried)
    if found is None or abs(found.angles_rad[0] - tried.pitch_rad) <= FAR_RAD:
        return found
    pitch_rad, yaw_rad = found.angles_rad
    return _measure(bgr, replace(guess, pitch_rad=pitch_rad, yaw_rad=yaw_rad))


def _measure(bgr: Image, camera: CameraModel) -> _Trial | None:
    found = _meeting_point(bgr, camera)
    return None if found is None else _Trial(angles_of(found.point, camera), found.support_px)


@dataclass(frozen=True, slots=True)
class _MeetingPoint:
    """A point (u, v) px of the full picture; `support_px` as in `_Trial`."""

    point: tuple[float, float]
    support_px: float


def _meeting_point(bgr: Image, camera: CameraModel) -> _MeetingPoint | None:
    view = road_view(camera)
    if view is None:
        return None
    scale = camera.width_px / view.camera.width_px
    paint = segment_paint(view.crop(bgr), columns_of(view))
    segments = _slanted(find_segments(paint.contrast), view)
    if len(segments) < 2:
        return None
    best = _consensus(segments, np.array(point_of(view.camera)), view.camera)
    if best is None:
        return None
    (u, v), support_px = best
    return _MeetingPoint((float(u * scale), float(v * scale)), support_px)


def _slanted(segments: Float, view: RoadView) -> Float:
    """Long segments (M, 4) px in the working picture that are not nearly horizontal."""
    if len(segments) == 0:
        return segments
    run = segments[:, 2:] - segments[:, :2]
    slant = np.abs(run[:, 1]) / np.maximum(np.abs(run[:, 0]), 1e-9)
    kept = segments[(np.hypot(*run.T) >= SEGMENT_LENGTH_MIN_PX) & (slant >= SLANT_MIN)]
    return np.asarray(kept + np.array([0.0, view.top_px, 0.0, view.top_px]))


def _consensus(segments: Float, guess: Float, camera: CameraModel) -> tuple[Float, float] | None:
    """The crossing of two segments with the largest total length of agreeing segments, refined by least squares.

    The second value is that length, px.
    """
    run = segments[:, 2:] - segments[:, :2]
    length = np.hypot(*run.T)
    normal = np.column_stack([-run[:, 1], run[:, 0]]) / length[:, None]
    offset = (normal * segments[:, :2]).sum(axis=1)
    i, j = np.triu_indices(len(segments), 1)
    cross = normal[i, 0] * normal[j, 1] - normal[i, 1] * normal[j, 0]
    wide = np.abs(cross) >= np.sin(CROSSING_MIN_RAD)
    i, j, cross = i[wide], j[wide], cross[wide]
    u = (offset[i] * normal[j, 1] - offset[j] * normal[i, 1]) / cross
    v = (offset[j] * normal[i, 0] - offset[i] * normal[j, 0]) / cross
    reach = np.array([SEARCH_SIDE * camera.width_px, SEARCH_UP * camera.height_px])
    near = (np.abs(u - guess[0]) <= reach[0]) & (np.abs(v - guess[1]) <= reach[1])
    points = np.column_stack([u[near], v[near]])
    if len(points) == 0:
        return None
    agree = np.abs(points @ normal.T - offset) <= INLIER_PX
    member = agree[int(np.argmax(agree @ length))]
    for _ in range(3):
        weighted = normal[member] * length[member, None]
        if len(weighted) < 2 or abs(np.linalg.det(weighted.T @ normal[member])) < 1e-6:
            return None
        point = np.linalg.solve(weighted.T @ normal[member], weighted.T @ offset[member])
        member = np.abs(normal @ point - offset) <= INLIER_PX
    rising = run[:, 0] * run[:, 1] < 0.0
    if min(length[member & rising].sum(), length[member & ~rising].sum()) < SUPPORT_MIN_PX:
        return None
    return np.asarray(point), float(length[member].sum())


class MountCalibrator:
    """Estimates a camera's pitch and yaw while the car drives straight on; call `update` with each picture in order.

    The first vanishing point sets the estimate; each later one moves it by a tenth of the difference.
    """

    def __init__(self, camera: CameraModel) -> None:
        self._camera = camera
        self._known = False

    @property
    def camera(self) -> CameraModel:
        """The camera with the present estimate of pitch and yaw."""
        return self._camera

    @property
    def is_calibrated(self) -> bool:
        """Whether any picture has given a vanishing point."""
        return self._known

    def update(self, bgr: Image) -> CameraModel:
        """The camera after this picture; unchanged where the picture has no usable vanishing point."""
        if not self._known:
            first = turned_camera(bgr, self._camera)
            self._camera, self._known = first or self._camera, first is not None
            return self._camera
        point = vanishing_point(bgr, self._camera)
        if point is None:
            return self._camera
        pitch_rad, yaw_rad = angles_of(point, self._camera)
        step = np.array([pitch_rad - self._camera.pitch_rad, yaw_rad - self._camera.yaw_rad])
        if float(np.abs(step).max()) <= JUMP_MAX_RAD:
            pitch_rad, yaw_rad = self._camera.pitch_rad + GAIN * step[0], self._camera.yaw_rad + GAIN * step[1]
            self._camera = replace(self._camera, pitch_rad=float(pitch_rad), yaw_rad=float(yaw_rad))
        return self._camera
