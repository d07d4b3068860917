"""Stage that estimates the ego's pose and motion.

`Localizer` does so on the map, `VehicleFrame` where nothing measures a position, and `OracleEgo` takes them from the
simulator's truth. All are `EgoSource`s.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from av_core.frames import wrap_angle
from av_core.types import EgoState, LaneEstimate, LaneGraph, SensorFrame, Truth
from perception.health.monitor import WELL, Health
from perception.map_index import MapIndex

TURN_RATE_MAX_RADPS = 10.0
"""Limit beyond which a turn rate is a sensor fault."""


class EgoSource(Protocol):
    """Estimates the ego's pose and motion; call `update` with every frame in order, and its lane lines.

    `gnss` is the health of the GNSS receiver in the last frame.
    """

    @property
    def gnss(self) -> Health: ...

    def update(self, frame: SensorFrame, lanes: LaneEstimate | None = None) -> EgoState: ...


class VehicleFrame:
    """Takes the vehicle frame as the map frame: positions and velocities in the scene are relative to the ego.

    The ego stands at the origin in every frame, which is exact. Only the gyro's turn rate is passed on, if it was
    measured.
    """

    @property
    def gnss(self) -> Health:
        """Well, since no fix is used."""
        return WELL

    def update(self, frame: SensorFrame, lanes: LaneEstimate | None = None) -> EgoState:
        rate = frame.imu.gyro_radps[2]
        turned = float(rate) if abs(rate) <= TURN_RATE_MAX_RADPS else 0.0
        return EgoState(frame.stamp, 0.0, 0.0, 0.0, 0.0, 0.0, turned, np.zeros((4, 4)))


class OracleEgo:
    """Oracle: the simulator's pose and speed of the ego, with a covariance of zero. For diagnosis only.

    `truth` returns the truth of the tick of the frame. Acceleration and turn rate are the changes of speed and heading
    since the frame before, and the slope is the map's, as for the localizer.
    """

    def __init__(self, graph: LaneGraph, truth: Callable[[], Truth]) -> None:
        self._index, self._truth = MapIndex(graph), truth
        self._last: Truth | None = None

    @property
    def gnss(self) -> Health:
        """Well, since no fix is used."""
        return WELL

    def update(self, frame: SensorFrame, lanes: LaneEstimate | None = None) -> EgoState:
        now = self._truth()
        before, self._last = self._last or now, now
        elapsed_s = now.stamp.time_s - before.stamp.time_s
        gained_mps = now.ego_speed_mps - before.ego_speed_mps
        turned_rad = float(wrap_angle(now.ego.yaw_rad - before.ego.yaw_rad))
        match = self._index.lane_at(now.ego)
        return EgoState(
            stamp=frame.stamp,
            x_m=now.ego.x_m,
            y_m=now.ego.y_m,
            yaw_rad=now.ego.yaw_rad,
            speed_mps=now.ego_speed_mps,
            accel_mps2=gained_mps / elapsed_s if elapsed_s > 0.0 else 0.0,
            yaw_rate_radps=turned_rad / elapsed_s if elapsed_s > 0.0 else 0.0,
            covariance=np.zeros((4, 4)),
            z_m=now.ego_z_m,
            pitch_rad=float(match.grade_rad * np.cos(match.heading_error_rad)) if match is not None else 0.0,
        )
