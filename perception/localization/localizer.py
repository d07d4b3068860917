"""Ego localization: an extended Kalman filter fuses GNSS, IMU, wheel speed and lane lines matched to the map."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from av_core.frames import geodetic_to_map, wrap_angle
from av_core.types import EgoState, LaneEstimate, LaneGraph, Pose2D, SensorFrame
from perception.health.confidence import UNWELL_BELOW, ConfidenceFilter
from perception.health.monitor import WELL, Fault, Health
from perception.localization import ekf
from perception.localization.lane_matching import match_line
from perception.map_index import MapIndex

Float = NDArray[np.float64]

GRAVITY_MPS2 = 9.81


@dataclass(frozen=True, slots=True)
class LocalizationConfig:
    """Assumed sensor noise, and the GNSS antenna's position in the vehicle frame.

    Defaults suit a rig with the noise of the CARLA Leaderboard 2: GNSS 5e-6 deg (0.56 m), gyro 0.001 rad/s.
    `line_sigma_m` is one line's standard deviation at 7 m ahead at full confidence; a line's error persists from frame
    to frame, so it is larger than the scatter within single frames.
    """

    gnss_sigma_m: float = 0.556
    compass_sigma_rad: float = 0.005
    wheel_sigma_mps: float = 0.03
    wheel_sigma_relative: float = 0.003
    line_sigma_m: float = 0.30
    line_confidence_min: float = 0.4
    lane_offset_sigma_max_m: float = 0.8
    gnss_arm_m: tuple[float, float] = (0.0, 0.0)
    gyro_bias_sigma_radps: float = 0.001
    wheel_scale_sigma: float = 0.005
    slip_s2pm: float = 0.003
    slip_sigma_s2pm: float = 0.003
    process: ekf.ProcessNoise = field(default_factory=ekf.ProcessNoise)


WHEEL_SPEED_MAX_MPS = 120.0
TURN_RATE_MAX_RADPS = 10.0
ACCEL_MAX_MPS2 = 12.0
"""Limits beyond which a reading is a sensor fault: of wheel speed and turn rate it is ignored, the acceleration is
clipped. Tyres hold no acceleration above about 1.2 g."""

UNKNOWN_MPS = 20.0
"""Standard deviation of a speed that no wheel has measured, m/s."""

GNSS_GATE = 25.0
"""Maximum squared Mahalanobis distance of a GNSS fix."""

GNSS_REJECTIONS_MAX = 10
"""Number of rejected fixes in a row after which the position of a standing ego is reset to GNSS."""

REJECTIONS_SPREAD_MAX = 5.0
"""Largest distance of the rejected fixes from the first of them, in standard deviations, for such a reset.

Fixes that are only noisy are farther apart."""

STANDING_MPS = 0.5
"""Speed below which the position may be reset: a standing ego may have been moved by a scenario.

A driving ego cannot jump, so GNSS is wrong then."""


class Localizer:
    """Extended Kalman filter over pose, speed and sensor errors; call `update` once per sensor frame.

    * Start: the first frame sets the state from GNSS, compass and wheels. Without wheel speed, the speed follows from
      the other sensors.
    * Rejection: measurements that are not finite or fail a gate are ignored. After several rejected fixes, GNSS is used
      again only when it has been good for a while; until then wheels, IMU and lane lines carry the position on.
    * Reset: if GNSS begins to fail its gate while the ego stands, the position is reset to GNSS after
      `GNSS_REJECTIONS_MAX` frames.
    * A vehicle without wheel speed uses every fix that passes the gate, and is reset even while it drives.
    * On a `graph` without lanes, lane lines are not used, and the ground counts as level.
    """

    def __init__(self, graph: LaneGraph, config: LocalizationConfig | None = None) -> None:
        self._geo = graph.geo
        self._index = MapIndex(graph) if graph.lanes else None
        self._config = config if config is not None else LocalizationConfig()
        self._state: Float = np.zeros(ekf.STATE_SIZE)
        self._covariance: Float = np.zeros((ekf.STATE_SIZE, ekf.STATE_SIZE))
        self._time_s: float | None = None
        self._rejections = 0
        self._rejected: Float = np.zeros(2)
        self._may_be_elsewhere = False
        self._gnss_confidence = ConfidenceFilter()
        self._gnss = WELL
        self._grade_rad = 0.0
        self._accel_mps2 = 0.0
        self._gyro_radps = 0.0

    def update(self, frame: SensorFrame, lanes: LaneEstimate | None = None) -> EgoState:
        """Update with one frame's sensors and, if given, its lane lines.

        Raises `ValueError` if the very first frame holds no finite GNSS fix and compass, and where time does not
        advance.
        """
        if self._time_s is None:
            self._initialise(frame)
        else:
            self._predict(frame)
            self._correct_with_wheels(frame.wheel_speed_mps)
            self._correct_with_compass(frame.imu.yaw_rad)
            self._correct_with_gnss(frame)
        self._time_s = frame.stamp.time_s
        if lanes is not None:
            self._correct_with_lanes(lanes)
        return self._ego_state(frame)

    @property
    def gnss(self) -> Health:
        """Health of the GNSS receiver in the last frame."""
        return self._gnss

    @property
    def pose(self) -> Pose2D:
        """The estimated pose in the map frame."""
        return Pose2D(float(self._state[ekf.X]), float(self._state[ekf.Y]), float(self._state[ekf.YAW]))

    # ------------------------------------------------------------ steps

    def _initialise(self, frame: SensorFrame) -> None:
        cfg = self._config
        yaw = frame.imu.yaw_rad
        position = self._antenna_to_origin(self._gnss_position(frame), yaw)
        is_known = bool(np.isfinite(frame.wheel_speed_mps))
        speed_mps, speed_sigma_mps = (frame.wheel_speed_mps, cfg.wheel_sigma_mps) if is_known else (0.0, UNKNOWN_MPS)
        start = np.array([*position, yaw, speed_mps, 0.0, 0.0, cfg.slip_s2pm])
        if not np.isfinite(start).all():
            raise ValueError(f"frame {frame.stamp.frame}: the first GNSS fix and compass must be finite")
        self._state = start
        sigmas = [cfg.gnss_sigma_m, cfg.gnss_sigma_m, cfg.compass_sigma_rad, speed_sigma_mps]
        sigmas += [cfg.gyro_bias_sigma_radps, cfg.wheel_scale_sigma, cfg.slip_sigma_s2pm]
        self._covariance = np.diag(np.square(sigmas))
        self._gyro_radps = _turn_rate(frame, 0.0)

    def _predict(self, frame: SensorFrame) -> None:
        assert self._time_s is not None
        dt = frame.stamp.time_s - self._time_s
        if dt <= 0.0:
            raise ValueError(f"frame {frame.stamp.frame}: time went from {self._time_s} s to {frame.stamp.time_s} s")
        rate = _turn_rate(frame, self._gyro_radps)
        # The accelerometer also measures gravity on a slope: uphill it reads more than the car accelerates.
        felt = frame.imu.accel_mps2[0] if np.isfinite(frame.imu.accel_mps2[0]) else 0.0
        gained = felt - GRAVITY_MPS2 * np.sin(self._grade_rad)
        accel = float(np.clip(gained, -ACCEL_MAX_MPS2, ACCEL_MAX_MPS2))
        self._accel_mps2 = accel
        self._state, self._covariance = ekf.predict(
            self._state, self._covariance, (self._gyro_radps, rate), accel, dt, self._config.process
        )
        self._gyro_radps = rate

    def _correct_with_wheels(self, wheel_speed_mps: float) -> None:
        if not abs(wheel_speed_mps) <= WHEEL_SPEED_MAX_MPS:
            return
        speed, scale = self._state[ekf.SPEED], self._state[ekf.WHEEL_SCALE]
        jacobian = np.zeros((1, ekf.STATE_SIZE))
        jacobian[0, ekf.SPEED] = 1.0 + scale
        jacobian[0, ekf.WHEEL_SCALE] = speed
        sigma = self._config.wheel_sigma_mps + self._config.wheel_sigma_relative * abs(wheel_speed_mps)
        self._update_state(jacobian, np.array([wheel_speed_mps - (1.0 + scale) * speed]), np.array([[sigma**2]]))

    def _correct_with_compass(self, yaw_rad: float) -> None:
        if not abs(yaw_rad) <= 2.0 * np.pi:
            return
        jacobian = np.zeros((1, ekf.STATE_SIZE))
        jacobian[0, ekf.YAW] = 1.0
        innovation = np.array([float(wrap_angle(yaw_rad - self._state[ekf.YAW]))])
        self._update_state(jacobian, innovation, np.array([[self._config.compass_sigma_rad**2]]))

    def _correct_with_gnss(self, frame: SensorFrame) -> None:
        antenna = self._gnss_position(frame)
        if not np.isfinite(antenna).all():
            self._rate_gnss(Fault.MISSING, frame)
            return
        yaw = self._state[ekf.YAW]
        innovation = self._antenna_to_origin(antenna, yaw) - self._state[:2]
        jacobian = np.zeros((2, ekf.STATE_SIZE))
        jacobian[0, ekf.X] = jacobian[1, ekf.Y] = 1.0
        arm_x, arm_y = self._config.gnss_arm_m
        jacobian[0, ekf.YAW] = -np.sin(yaw) * arm_x - np.cos(yaw) * arm_y
        jacobian[1, ekf.YAW] = np.cos(yaw) * arm_x - np.sin(yaw) * arm_y
        noise = np.eye(2) * self._config.gnss_sigma_m**2
        if ekf.mahalanobis_squared(self._covariance, jacobian, innovation, noise) > GNSS_GATE:
            self._reject_fix(self._antenna_to_origin(antenna, yaw), frame)
            return
        self._rejections = 0
        self._rate_gnss(None, frame)
        if self._gnss.confidence >= UNWELL_BELOW or not np.isfinite(frame.wheel_speed_mps):
            self._update_state(jacobian, innovation, noise)

    def _reject_fix(self, position: Float, frame: SensorFrame) -> None:
        """Count a fix that fails its gate, and reset the position where the class says so.

        Without wheel speed, the estimated speed may be wrong instead of the fix.
        """
        has_wheels = bool(np.isfinite(frame.wheel_speed_mps))
        if self._rejections == 0:
            self._may_be_elsewhere = not has_wheels or bool(abs(self._state[ekf.SPEED]) < STANDING_MPS)
        far_m = REJECTIONS_SPREAD_MAX * self._config.gnss_sigma_m if has_wheels else np.inf
        if self._rejections == 0 or np.hypot(*(position - self._rejected)) > far_m:
            self._rejections, self._rejected = 0, position
        self._rejections += 1
        self._rate_gnss(Fault.IMPLAUSIBLE, frame)
        if self._may_be_elsewhere and self._rejections >= GNSS_REJECTIONS_MAX:
            self._reset_position(position)

    def _rate_gnss(self, fault: Fault | None, frame: SensorFrame) -> None:
        self._gnss_confidence.update(fault is not None, frame.stamp.time_s)
        faults = () if fault is None else (fault,)
        self._gnss = Health(faults, self._gnss_confidence.confidence, self._gnss_confidence.unwell_s)

    def _correct_with_lanes(self, lanes: LaneEstimate) -> None:
        cfg = self._config
        if self._index is None:
            return
        if self._lateral_sigma_m() > cfg.lane_offset_sigma_max_m:
            return  # lanes are about 3.5 m apart: so uncertain a pose would match one by chance
        for line in (lanes.left, lanes.right):
            if line is None or line.confidence < cfg.line_confidence_min:
                continue
            sigma = cfg.line_sigma_m / line.confidence
            found = match_line(line, self._index, self.pose, self._covariance, sigma)
            if found is not None:
                self._update_state(found.jacobian, found.innovation_m, found.covariance_m2)

    # ------------------------------------------------------------ helpers

    def _update_state(self, jacobian: Float, innovation: Float, noise: Float) -> None:
        self._state, self._covariance = ekf.update(self._state, self._covariance, jacobian, innovation, noise)

    def _reset_position(self, position: Float) -> None:
        self._state[:2] = position
        self._covariance[:2, :] = 0.0
        self._covariance[:, :2] = 0.0
        self._covariance[0, 0] = self._covariance[1, 1] = self._config.gnss_sigma_m**2
        self._rejections = 0

    def _gnss_position(self, frame: SensorFrame) -> Float:
        """Antenna position (2,), m, in the map frame; NaN for a fix with impossible latitude or longitude."""
        latitude, longitude = frame.gnss.latitude_deg, frame.gnss.longitude_deg
        if not (abs(latitude) < 90.0 and abs(longitude) <= 360.0):
            return np.full(2, np.nan)
        return geodetic_to_map(latitude, longitude, self._geo)

    def _antenna_to_origin(self, antenna: Float, yaw_rad: float) -> Float:
        c, s = np.cos(yaw_rad), np.sin(yaw_rad)
        return np.asarray(antenna - np.array([[c, -s], [s, c]]) @ self._config.gnss_arm_m, dtype=np.float64)

    def _lateral_sigma_m(self) -> float:
        across = np.array([-np.sin(self._state[ekf.YAW]), np.cos(self._state[ekf.YAW])])
        return float(np.sqrt(across @ self._covariance[:2, :2] @ across))

    def _ego_state(self, frame: SensorFrame) -> EgoState:
        match = None if self._index is None else self._index.lane_at(self.pose)
        self._grade_rad = match.grade_rad * np.cos(match.heading_error_rad) if match is not None else 0.0
        rate = self._gyro_radps - self._state[ekf.GYRO_BIAS]
        return EgoState(
            stamp=frame.stamp,
            x_m=float(self._state[ekf.X]),
            y_m=float(self._state[ekf.Y]),
            yaw_rad=float(self._state[ekf.YAW]),
            speed_mps=float(self._state[ekf.SPEED]),
            accel_mps2=self._accel_mps2,
            yaw_rate_radps=float(rate),
            covariance=self._covariance[:4, :4].copy(),
            z_m=match.z_m if match is not None else 0.0,
            pitch_rad=float(self._grade_rad),
        )


def _turn_rate(frame: SensorFrame, otherwise: float) -> float:
    rate = frame.imu.gyro_radps[2]
    return float(rate) if abs(rate) <= TURN_RATE_MAX_RADPS else otherwise
