"""From detections to tracked road users on the map: pitch, ranging, parallax and tracking in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from av_stack.types import (
    CameraImage,
    CameraModel,
    Detection,
    EgoState,
    ImuSample,
    LaneEstimate,
    RangedObject,
    SeenMotion,
    TrackedObject,
)
from perception.depth.depth_image import DepthImage, depth_image
from perception.depth.ground import PitchFilter
from perception.depth.object_flow import ObjectFlow, relative_velocity
from perception.depth.parallax import DepthPoints, Parallax
from perception.depth.ranging import face_depth_m, range_objects
from perception.depth.view import View
from perception.map_index import MapIndex
from perception.tracking import Tracker

GAP_MAX_S = 1.0


@dataclass(frozen=True, slots=True)
class Sighting:
    """What one picture gave: `tracked` on the map, `ranged` in the vehicle frame, corners with depth; `camera` as it
    looked at the road, with `pitch_sigma_rad`."""

    tracked: tuple[TrackedObject, ...]
    ranged: tuple[RangedObject, ...]
    points: DepthPoints
    lanes: LaneEstimate
    camera: CameraModel | None
    pitch_sigma_rad: float

    def depth(self) -> DepthImage | None:
        """The semi-dense depth image; made when it is asked for, since driving does not need it. None: no picture."""
        if self.camera is None:
            return None
        return depth_image(self.camera, self.pitch_sigma_rad, self.lanes, self.ranged, self.points)


class ObjectSense:
    """Call `update` with each picture of one camera in order, and what the detector found in it.

    `use_parallax` follows the corners of what stands still too, for the depth image. With the map's `index` vehicles
    are believed to drive along its lanes.
    """

    def __init__(self, use_parallax: bool = True, index: MapIndex | None = None) -> None:
        self._pitch = PitchFilter()
        self._parallax = Parallax() if use_parallax else None
        self._flow = ObjectFlow()
        self._tracker = Tracker(index=index)
        self._last: tuple[float, float] | None = None  # time, speed

    def update(
        self,
        image: CameraImage | None,
        ego: EgoState,
        imu: ImuSample,
        lanes: LaneEstimate,
        detections: Sequence[Detection],
    ) -> Sighting:
        """Objects and depth at the ego's stamp, which is the picture's; without one, tracks go on unseen."""
        if image is None:
            tracked = self._tracker.update(ego, ())
            return Sighting(tracked, (), DepthPoints.none(), lanes, None, self._pitch.sigma_rad)
        time_s = ego.stamp.time_s
        dt, before_mps = (0.0, ego.speed_mps) if self._last is None else (time_s - self._last[0], self._last[1])
        if not 0.0 <= dt <= GAP_MAX_S:
            dt = 0.0
        self._last = (time_s, ego.speed_mps)
        self._pitch.update(dt, imu.gyro_radps[1], lanes, image.camera)
        camera, sigma = self._pitch.camera(image.camera), self._pitch.sigma_rad
        turned = (imu.gyro_radps[0] * dt, imu.gyro_radps[1] * dt, ego.yaw_rate_radps * dt)
        ranged = range_objects(detections, camera, sigma)
        ranged = self._with_motion(ranged, image, camera, dt, turned, ego.yaw_rate_radps)
        points = DepthPoints.none()
        if self._parallax is not None:
            moved_m, boxes = (before_mps + ego.speed_mps) / 2.0 * dt, [thing.box_px for thing in ranged]
            points = self._parallax.update(image.bgr, image.camera, moved_m, turned, boxes)
        return Sighting(self._tracker.update(ego, ranged), ranged, points, lanes, camera, sigma)

    def _with_motion(
        self,
        ranged: Sequence[RangedObject],
        image: CameraImage,
        camera: CameraModel,
        dt_s: float,
        turned_rad: tuple[float, float, float],
        yaw_rate_radps: float,
    ) -> tuple[RangedObject, ...]:
        """The things with what the texture in their boxes tells of their motion."""
        flows = self._flow.update(image.bgr, camera, dt_s, turned_rad, [thing.box_px for thing in ranged])
        swing = np.array([-camera.y_m, camera.x_m]) * yaw_rate_radps  # of the camera about the ego's rear axle
        view, out = View.of(camera), []
        for thing, flow in zip(ranged, flows, strict=True):
            depth_m = face_depth_m(thing, view)
            if flow is None or depth_m <= 0.0:
                out.append(thing)
                continue
            velocity, covariance = relative_velocity(flow, depth_m, camera)
            out.append(replace(thing, motion=SeenMotion(velocity + swing, covariance, flow.span_s, depth_m)))
        return tuple(out)
