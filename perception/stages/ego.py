"""Stage that tells the ego's pose and motion: `Localizer` on the map, `VehicleFrame` where nothing measures a position.

Both are `EgoSource`s.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from av_core.types import EgoState, LaneEstimate, SensorFrame
from perception.health.monitor import WELL, Health

TURN_RATE_MAX_RADPS = 10.0
"""Limit beyond which a turn rate is a sensor fault."""


class EgoSource(Protocol):
    """Tells the ego's pose and motion; call `update` with every frame in order, and its lane lines.

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
