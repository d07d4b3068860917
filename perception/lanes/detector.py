"""Lane detector: from front-camera pictures to the lines of the ego lane and its neighbours."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from av_core.types import CameraImage, CameraModel, LaneEstimate
from perception.lanes.fit import LineFit, fit_lines
from perception.lanes.lines import along_the_road, find_segments, stripe_points
from perception.lanes.road_view import RoadView, road_view
from perception.lanes.segmentation import Columns, PaintMask, columns_of, segment_paint
from perception.lanes.selection import select_lane_lines
from perception.lanes.tracker import LineTrack, update_tracks

LATE_S = 1.0
SLOW_MPS = 2.0
"""Minimum speed in the division of turn rate by speed, m/s."""

SPEED_MAX_MPS, TURN_RATE_MAX_RADPS = 120.0, 10.0
"""Plausibility limits of wheel speed and turn rate."""

UNKNOWN_MPS = 25.0
"""Speed for which lines are allowed to change where the speed is not measured, m/s."""

CURVATURE_MAX_1PM = 0.12
"""Maximum curvature of the driven path, 1/m."""

Paint = tuple[PaintMask, NDArray[np.float64]]
"""Paint of a picture and its edge segments (M, 4) px."""

DetectPaint = Callable[[CameraImage, RoadView, Columns], Paint]


def detect_paint_on_cpu(image: CameraImage, view: RoadView, columns: Columns) -> Paint:
    """Paint in the road area `view` of `image`, and its edge segments as from `find_segments`: the CPU path."""
    paint = segment_paint(view.crop(image.bgr), columns)
    return paint, find_segments(paint.contrast)


class LaneDetector:
    """Detects and tracks the lines of the ego lane; call `update` with each front-camera picture in order.

    A gap of more than `LATE_S` between pictures, or a step back in time, clears all lines. `detect_paint` replaces
    `detect_paint_on_cpu`, for example by a GPU implementation.
    """

    def __init__(self, detect_paint: DetectPaint = detect_paint_on_cpu) -> None:
        self._detect_paint = detect_paint
        self._tracks: list[LineTrack] = []
        self._time_s: float | None = None
        self._camera: CameraModel | None = None
        self._view: RoadView | None = None
        self._columns: Columns | None = None

    def update(self, image: CameraImage, speed_mps: float, yaw_rate_radps: float) -> LaneEstimate:
        """The lines beside the ego at the picture's stamp; None on a side without a sufficiently likely line.

        `speed_mps` (wheels) and `yaw_rate_radps` (gyro, positive to the left) predict the lines between pictures; NaN
        where they are not measured.
        Raises `ValueError` when the picture is not (height, width, 3) uint8 of its camera's size.
        """
        check_picture(image)
        self._use_camera(image.camera)
        is_known = abs(speed_mps) <= SPEED_MAX_MPS  # an impossible value is a sensor fault
        speed, unknown_mps = (speed_mps, 0.0) if is_known else (0.0, UNKNOWN_MPS)
        rate = yaw_rate_radps if abs(yaw_rate_radps) <= TURN_RATE_MAX_RADPS else 0.0
        dt = 0.0 if self._time_s is None else image.stamp.time_s - self._time_s
        if not 0.0 <= dt <= LATE_S:
            self._tracks, dt = [], 0.0
        self._time_s = image.stamp.time_s
        curvature = float(np.clip(rate / max(abs(speed), SLOW_MPS), -CURVATURE_MAX_1PM, CURVATURE_MAX_1PM))
        fits = self._fit(image, curvature)
        self._tracks = update_tracks(self._tracks, fits, speed * dt, rate * dt, dt, unknown_mps * dt)
        return select_lane_lines(self._tracks, image.stamp)

    @property
    def tracks(self) -> tuple[LineTrack, ...]:
        """All tracked lines, not only the ego lane's; for figures and overlays."""
        return tuple(self._tracks)

    def _use_camera(self, camera: CameraModel) -> None:
        if camera == self._camera:
            return
        self._camera, self._view = camera, road_view(camera)
        if self._view is not None:
            self._columns = columns_of(self._view)

    def _fit(self, image: CameraImage, curvature_1pm: float) -> list[LineFit]:
        if self._view is None or self._columns is None:
            return []
        return fits_in(image, self._view, self._columns, curvature_1pm, self._detect_paint)


def fits_in(
    image: CameraImage,
    view: RoadView,
    columns: Columns,
    curvature_1pm: float = 0.0,
    detect_paint: DetectPaint = detect_paint_on_cpu,
) -> list[LineFit]:
    """Lines fitted to the paint of one picture; `curvature_1pm` is the driven path's, positive to the left."""
    paint, found = detect_paint(image, view, columns)
    points = stripe_points(paint, along_the_road(found, view), view)
    return fit_lines(points, curvature_1pm)


def check_picture(image: CameraImage) -> None:
    """Raise ValueError unless the picture is (height, width, 3) uint8 of its camera's size."""
    expected = (image.camera.height_px, image.camera.width_px, 3)
    if image.bgr.shape != expected or image.bgr.dtype != np.uint8:
        raise ValueError(
            f"camera {image.camera.name!r}: picture is {image.bgr.dtype} {image.bgr.shape}, expected uint8 {expected}"
        )
