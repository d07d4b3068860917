"""Positions and motions of the road users in one camera's pictures: ranging plus optical flow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from av_core.types import CameraImage, CameraModel, Detection, EgoState, Float, ImuSample, RangedObject, SeenMotion
from perception.depth.object_flow import ObjectFlow, relative_velocity
from perception.depth.ranging import FLAT, face_depth_m, range_objects
from perception.depth.view import View

GAP_MAX_S = 1.0
"""Maximum time between two pictures, s; a longer gap clears the tracked corners."""

Turn = tuple[float, float, float]


class CameraRanging:
    """Ranging and flow of one camera; call `elapsed_s` and then `update` with each picture in order."""

    def __init__(self) -> None:
        self._flow = ObjectFlow()
        self._time_s: float | None = None

    def elapsed_s(self, time_s: float) -> float:
        """Seconds since the last picture; 0 for the first one and after a gap, which clears the tracked corners."""
        dt = 0.0 if self._time_s is None else time_s - self._time_s
        self._time_s = time_s
        return dt if 0.0 <= dt <= GAP_MAX_S else 0.0

    def update(
        self,
        image: CameraImage,
        camera: CameraModel,
        pitch_sigma_rad: float,
        detections: Sequence[Detection],
        ego: EgoState,
        dt_s: float,
        turned_rad: Turn,
        rises_m: Float = FLAT,
    ) -> tuple[RangedObject, ...]:
        """The road users among `detections` with position, and with motion where their texture is tracked.

        `camera` has its present attitude to the road; `turned_rad` is as for `ObjectFlow.update`, `rises_m` as for
        `range_objects`.
        """
        ranged = range_objects(detections, camera, pitch_sigma_rad, rises_m)
        flows = self._flow.update(image.bgr, camera, dt_s, turned_rad, [thing.box_px for thing in ranged])
        swing = np.array([-camera.y_m, camera.x_m]) * ego.yaw_rate_radps  # camera velocity from the ego's rotation
        view, out = View.of(camera), []
        for thing, flow in zip(ranged, flows, strict=True):
            depth_m = face_depth_m(thing, view)
            if flow is None or depth_m <= 0.0:
                out.append(thing)
                continue
            velocity, covariance = relative_velocity(flow, depth_m, camera)
            out.append(replace(thing, motion=SeenMotion(velocity + swing, covariance, flow.span_s, depth_m)))
        return tuple(out)


def ego_rotation(imu: ImuSample, ego: EgoState, dt_s: float) -> Turn:
    """Rotation of the vehicle frame about its (x, y, z) in the last `dt_s` seconds, rad."""
    return imu.gyro_radps[0] * dt_s, imu.gyro_radps[1] * dt_s, ego.yaw_rate_radps * dt_s
