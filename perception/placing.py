"""Where the road users in one camera's pictures are, and how they move past it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from av_stack.types import CameraImage, CameraModel, Detection, EgoState, Float, ImuSample, RangedObject, SeenMotion
from perception.depth.object_flow import ObjectFlow, relative_velocity
from perception.depth.ranging import FLAT, face_depth_m, range_objects
from perception.depth.view import View

GAP_MAX_S = 1.0

Turn = tuple[float, float, float]


class Placing:
    """Call `elapsed_s` and then `place` with each picture of one camera in order."""

    def __init__(self) -> None:
        self._flow = ObjectFlow()
        self._time_s: float | None = None

    def elapsed_s(self, time_s: float) -> float:
        """Since the last picture; 0 for the first one and after a gap, which forget what was followed."""
        dt = 0.0 if self._time_s is None else time_s - self._time_s
        self._time_s = time_s
        return dt if 0.0 <= dt <= GAP_MAX_S else 0.0

    def place(
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
        """The road users among `detections`, with what the texture in their boxes tells of their motion; `camera` as it
        looks at the road now, `turned_rad` as `ObjectFlow.update` takes it, `rises_m` as `range_objects` does."""
        ranged = range_objects(detections, camera, pitch_sigma_rad, rises_m)
        flows = self._flow.update(image.bgr, camera, dt_s, turned_rad, [thing.box_px for thing in ranged])
        swing = np.array([-camera.y_m, camera.x_m]) * ego.yaw_rate_radps  # of the camera about the ego's rear axle
        view, out = View.of(camera), []
        for thing, flow in zip(ranged, flows, strict=True):
            depth_m = face_depth_m(thing, view)
            if flow is None or depth_m <= 0.0:
                out.append(thing)
                continue
            velocity, covariance = relative_velocity(flow, depth_m, camera)
            out.append(replace(thing, motion=SeenMotion(velocity + swing, covariance, flow.span_s, depth_m)))
        return tuple(out)


def turned(imu: ImuSample, ego: EgoState, dt_s: float) -> Turn:
    """How the vehicle frame turned about its (x, y, z) in the last `dt_s` seconds, rad."""
    return imu.gyro_radps[0] * dt_s, imu.gyro_radps[1] * dt_s, ego.yaw_rate_radps * dt_s
