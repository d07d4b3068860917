"""How the camera looks at the road: its pitch against the ground, kept right by the gyro and by the lane lines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from av_stack.types import CameraModel, LaneEstimate, LaneLine

OFFSET_SIGMA_RAD = np.radians(0.25)
OFFSET_DRIFT_RAD = np.radians(0.01)
"""Calibration and load: unknown at first, then all but constant (per root second)."""

OFFSET_MAX_RAD = np.radians(2.0)
DIVE_TIME_S, DIVE_SIGMA_RAD = 0.4, np.radians(0.06)
"""The body swings back onto its springs; what the gyro says over longer is the road's own bend."""

DIVE_MAX_RAD = np.radians(3.0)
ROLL_SIGMA_RAD = np.radians(0.7)
"""Nothing tells how the body leans, which is what a camera that looks to the side takes for pitch."""

GYRO_MAX_RADPS = 3.0
NEAR_M, FAR_M = 7.0, 16.0
SLOPE_SIGMA = 0.012
CORRELATED_S = 2.0
"""Lines are filtered over time: pictures within this span tell the same error."""

CONFIDENCE_MIN = 0.5
BEND_MAX, BEND_GAP_MAX = 0.006, 0.0004
"""Two lines of one lane bend alike: where they do not, one of them follows something else (a kerb, a reflection)."""

ERROR_MAX_RAD = np.radians(1.2)
"""No load tilts a car by more: such lines are not one lane's."""


class PitchFilter:
    """Pitch of the body against the road, positive nose-down, to be added to the camera's; call `update` each frame."""

    def __init__(self) -> None:
        self._offset_rad = 0.0
        self._variance = OFFSET_SIGMA_RAD**2
        self._dive_rad = 0.0

    def update(self, dt_s: float, pitch_rate_radps: float, lanes: LaneEstimate | None, camera: CameraModel) -> None:
        """`pitch_rate_radps` is the gyro's, positive nose-down; what no car does is left out."""
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
        """The camera as it looks at the road now."""
        ahead, aside = np.cos(camera.yaw_rad), np.sin(camera.yaw_rad)  # what is pitch ahead is roll to the side
        return replace(
            camera,
            pitch_rad=camera.pitch_rad + self.pitch_rad * float(ahead),
            roll_rad=camera.roll_rad + self.pitch_rad * float(aside),
        )

    def sigma_of(self, camera: CameraModel) -> float:
        """Standard deviation of how far down that camera looks."""
        ahead, aside = np.cos(camera.yaw_rad), np.sin(camera.yaw_rad)
        return float(np.hypot(self.sigma_rad * ahead, ROLL_SIGMA_RAD * aside))


def pitch_from_lines(lanes: LaneEstimate, camera: CameraModel) -> tuple[float, float] | None:
    """(pitch error, sigma) rad that makes the ego lane's lines parallel; None where they do not tell.

    A camera that looks lower than believed by d sees ground at x as at x (1 + d x / h), and a lane of width w opens by
    w d / h per metre: the lines' vanishing point, written on the ground.
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
