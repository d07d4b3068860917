"""From detections to tracked road users on the map: pitch, ranging, parallax and tracking in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from av_stack.types import (
    CameraImage,
    CameraModel,
    Detection,
    EgoState,
    Float,
    Glance,
    ImuSample,
    LaneEstimate,
    Pose2D,
    RangedObject,
    TrackedObject,
)
from perception.depth.depth_image import DepthImage, depth_image
from perception.depth.ground import PitchFilter
from perception.depth.parallax import DepthPoints, Parallax
from perception.depth.ranging import FLAT
from perception.depth.ranging_kernel import ROAD_STEP_M
from perception.map_index import MapIndex
from perception.placing import Placing, turned
from perception.tracking import Tracker

ROAD_STEPS = 21
"""How many of the road's heights ahead are looked up: 80 m."""


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
    """Call `update` with each tick's pictures in order, and what the detector found in them.

    The first camera looks ahead: the lanes that it shows tell how the car pitches. `use_parallax` follows the corners
    of what stands still in its pictures too, for the depth image. With the map's `index` vehicles are believed to drive
    along its lanes.
    """

    def __init__(self, use_parallax: bool = True, index: MapIndex | None = None) -> None:
        self._pitch = PitchFilter()
        self._parallax = Parallax() if use_parallax else None
        self._first, self._others = Placing(), list[Placing]()
        self._index, self._tracker = index, Tracker(index=index)
        self._speed_mps: float | None = None  # at the first camera's last picture

    def update(
        self,
        image: CameraImage | None,
        ego: EgoState,
        imu: ImuSample,
        lanes: LaneEstimate,
        detections: Sequence[Detection],
        others: Sequence[Glance | None] = (),
    ) -> Sighting:
        """Objects and depth at the ego's stamp, which is the pictures'; without any, tracks go on unseen.

        `others` are what the further cameras show, always in the same order, None where nothing is to be believed. They
        add to `tracked`; all else is the first camera's.
        """
        if image is None:
            tracked = self._tracker.update(ego, (), *self._ranged_aside(others, ego, imu))
            return Sighting(tracked, (), DepthPoints.none(), lanes, None, self._pitch.sigma_rad)
        dt = self._first.elapsed_s(ego.stamp.time_s)
        before_mps, self._speed_mps = self._speed_mps, ego.speed_mps
        self._pitch.update(dt, imu.gyro_radps[1], lanes, image.camera)
        camera, sigma, turn = self._pitch.camera(image.camera), self._pitch.sigma_rad, turned(imu, ego, dt)
        ranged = self._first.place(image, camera, sigma, detections, ego, dt, turn, self._rises_m(ego))
        points = DepthPoints.none()
        if self._parallax is not None:
            mean_mps = ego.speed_mps if before_mps is None else (before_mps + ego.speed_mps) / 2.0
            boxes = [thing.box_px for thing in ranged]
            points = self._parallax.update(image.bgr, image.camera, mean_mps * dt, turn, boxes)
        tracked = self._tracker.update(ego, ranged, *self._ranged_aside(others, ego, imu))
        return Sighting(tracked, ranged, points, lanes, camera, sigma)

    def _rises_m(self, ego: EgoState) -> Float:
        """Of the road ahead above the ego's plane, as `range_objects` takes them."""
        pose = Pose2D(ego.x_m, ego.y_m, ego.yaw_rad)
        return FLAT if self._index is None else self._index.rises_ahead(pose, ROAD_STEP_M, ROAD_STEPS)

    def _ranged_aside(
        self, glances: Sequence[Glance | None], ego: EgoState, imu: ImuSample
    ) -> list[tuple[RangedObject, ...]]:
        """What each further camera shows; one that shows nothing has to follow its corners anew."""
        self._others += [Placing() for _ in glances[len(self._others) :]]
        out: list[tuple[RangedObject, ...]] = []
        rises_m = self._rises_m(ego) if glances else FLAT
        for number, glance in enumerate(glances):
            if glance is None:
                self._others[number] = Placing()
                out.append(())
                continue
            image, detections = glance
            camera, sigma = self._pitch.camera(image.camera), self._pitch.sigma_of(image.camera)
            placing = self._others[number]
            dt = placing.elapsed_s(ego.stamp.time_s)
            out.append(placing.place(image, camera, sigma, detections, ego, dt, turned(imu, ego, dt), rises_m))
        return out
