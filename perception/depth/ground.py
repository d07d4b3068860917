"""Estimates the camera's pitch against the road from the gyro and the vanishing point of the lane lines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from av_core.types import CameraModel, LaneEstimate, LaneLine

OFFSET_SIGMA_RAD = np.radians(0.25)
OFFSET_DRIFT_RAD = np.radians(0.01)
"""Standard deviation of the constant pitch offset (calibration and load) at first, and its drift per root second."""

OFFSET_MAX_RAD = np.radians(2.0)
DIVE_TIME_S, DIVE_SIGMA_RAD = 0.4, np.radians(0.06)
"""Decay time and standard deviation of the body's dive: the body swings back on its springs, and a longer turn of the
gyro is the road's own bend."""

DIVE_MAX_RAD = np.radians(3.0)
ROLL_SIGMA_RAD = np.radians(0.7)
"""Standard deviation of the body's roll, which nothing measures; a camera that looks sideways sees it as pitch."""

GYRO_MAX_RADPS = 3.0
"""Maximum plausible pitch rate; larger readings are ignored."""

NEAR_M, FAR_M = 7.0, 16.0
"""Distances ahead at which the lane's width is compared, m."""

SLOPE_SIGMA = 0.012
"""Standard deviation of the lane width's change per metre ahead."""

CORRELATED_S = 2.0
"""Correlation time, s, of the lane lines' errors: lines are filtered, so pictures within this span share one error."""

CONFIDENCE_MIN = 0.5
"""Minimum confidence of both lane lines."""

BEND_MAX, BEND_GAP_MAX = 0.006, 0.0004
"""Maximum bend coefficient of the lines, and its maximum difference: two lines of one lane bend alike, else one of them
follows something else (a kerb, a reflection)."""

ERROR_MAX_RAD = np.radians(1.2)
"""Maximum pitch error from the lines: no load tilts a car further, so such lines do not belong to one lane."""


class PitchFilter:
    """Filter of the body's pitch against the road, positive nose-down, which adds to the camera's own pitch.

    Call `update` each frame.
    """

    def __init__(self) -> None:
        self._offset_rad = 0.0
        self._variance = OFFSET_SIGMA_RAD**2
        self._dive_rad = 0.0

    def update(self, dt_s: float, pitch_rate_radps: float, lanes: LaneEstimate | None, camera: CameraModel) -> None:
        """`pitch_rate_radps` is the gyro's, positive nose-down; a rate that no car reaches is ignored."""
        rate = pitch_rate_radps if abs(pitch_rate_radps) <= GYRO_MAX_RADPS else 0.0
        fade = float(np.exp(-max(dt_s, 0.0) / DIVE_TIME_S))
        self._dive_rad = float(np.clip((self._dive_rad + rate * max(dt_s, 0.0)) * fade, -DIVE_MAX_RAD, DIVE_MAX_RAD))
        self._variance += OFFSET_DRIFT_RAD**2 * max(dt_s, 0.0)
        measured = None if lanes is None else pitch_from_lines(lanes, camera)
        if measured is None:
            return
        pitch, sigma = measured
        variance = sigma**2 * max(CORRELATED_S / max(dt_s, 1e-3), 1.0)
        gain = self._variance / (self._variance + variance)
        self._offset_rad += gain * (pitch - self._dive_rad - self._offset_rad)
        self._offset_rad = float(np.clip(self._offset_rad, -OFFSET_MAX_RAD, OFFSET_MAX_RAD))
        self._variance *= 1.0 - gain

    @property
    def pitch_rad(self) -> float:
        return self._offset_rad + self._dive_rad

    @property
    def sigma_rad(self) -> float:
        return float(np.sqrt(self._variance + DIVE_SIGMA_RAD**2))

    def camera(self, camera: CameraModel) -> CameraModel:
        """The camera with its present attitude against the road."""
        ahead, aside = np.cos(camera.yaw_rad), np.sin(camera.yaw_rad)  # body pitch is roll for a sideways camera
        return replace(
            camera,
            pitch_rad=camera.pitch_rad + self.pitch_rad * float(ahead),
            roll_rad=camera.roll_rad + self.pitch_rad * float(aside),
        )

    def sigma_of(self, camera: CameraModel) -> float:
        """Standard deviation, rad, of the camera's downward angle."""
        ahead, aside = np.cos(camera.yaw_rad), np.sin(camera.yaw_rad)
        return float(np.hypot(self.sigma_rad * ahead, ROLL_SIGMA_RAD * aside))


def pitch_from_lines(lanes: LaneEstimate, camera: CameraModel) -> tuple[float, float] | None:
    """(pitch error, sigma), rad, that makes the ego lane's lines parallel; None where the lines are not suitable.

    If the camera looks lower than assumed by d, ground at x appears at x (1 + d x / h), and a lane of width w appears
    to widen by w d / h per metre (h: camera height). This is the lines' vanishing point, expressed on the ground.
    """
    left, right = lanes.left, lanes.right
    if left is None or right is None or min(left.confidence, right.confidence) < CONFIDENCE_MIN:
        return None
    bends = _bend(left), _bend(right)
    if min(left.x_max_m, right.x_max_m) < FAR_M or max(map(abs, bends)) > BEND_MAX:
        return None
    if abs(bends[0] - bends[1]) > BEND_GAP_MAX:
        return None
    near, far = (float(left.y_at(x) - right.y_at(x)) for x in (NEAR_M, FAR_M))
    slope = (far - near) / (FAR_M - NEAR_M)
    width = near - slope * (NEAR_M - camera.x_m)  # at the camera, where the error vanishes
    if not 2.3 <= width <= 5.5 or camera.z_m <= 0.0:
        return None
    error = slope * camera.z_m / width
    return None if abs(error) > ERROR_MAX_RAD else (error, SLOPE_SIGMA * camera.z_m / width)


def _bend(line: LaneLine) -> float:
    return line.coefficients[2] if len(line.coefficients) > 2 else 0.0
