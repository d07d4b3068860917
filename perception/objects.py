"""Object perception: from detections to road users tracked on the map.

The steps are pitch, ranging, parallax, plausibility (only of objects that would start a track) and tracking.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from av_core.types import (
    CameraDetections,
    CameraImage,
    CameraModel,
    Detection,
    EgoState,
    Float,
    ImuSample,
    LaneEstimate,
    Pose2D,
    RangedObject,
    SensorFrame,
    TrackedObject,
)
from perception.depth.camera_ranging import CameraRanging, ego_rotation
from perception.depth.depth_image import DepthImage, depth_image
from perception.depth.ground import PitchFilter
from perception.depth.parallax import DepthPoints, Parallax
from perception.depth.ranging import FLAT
from perception.depth.ranging_kernel import ROAD_STEP_M
from perception.map_index import MapIndex
from perception.plausibility.check import start_check
from perception.plausibility.standing import MAPPED_SLOPE_SIGMA, SLOPE_SIGMA
from perception.radar.returns import locate_returns
from perception.tracking.tracker import StartProbability, Tracker
from perception.tracking.views import View, view_of

Seen = tuple[tuple[RangedObject, ...], StartProbability | None]
"""One camera's ranged objects, and the check of those that would start a track."""

ROAD_STEPS = 21
"""Number of road height samples ahead, from 0 to 80 m."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """Results of one tick.

    * `tracked`: the tracked road users, map frame.
    * `ranged`: the road users in the first camera's picture, vehicle frame.
    * `points`: the triangulated corners of this picture.
    * `camera`: the first camera with its present attitude to the road; `pitch_sigma_rad` is the standard deviation of
      its pitch.
    """

    tracked: tuple[TrackedObject, ...]
    ranged: tuple[RangedObject, ...]
    points: DepthPoints
    lanes: LaneEstimate
    camera: CameraModel | None
    pitch_sigma_rad: float

    def depth(self) -> DepthImage | None:
        """The semi-dense depth image, computed on demand, since driving does not need it; None without a picture."""
        if self.camera is None:
            return None
        return depth_image(self.camera, self.pitch_sigma_rad, self.lanes, self.ranged, self.points)


class ObjectPerception:
    """Object perception pipeline; call `update` with each tick's pictures in order and their detections.

    The first camera looks ahead, and the lanes in its pictures give the car's pitch. With `use_parallax`, static
    corners in its pictures are triangulated for the depth image. With the map's `index`, vehicles are assumed to
    drive along its lanes.
    """

    def __init__(self, use_parallax: bool = True, index: MapIndex | None = None) -> None:
        self._pitch = PitchFilter()
        self._parallax = Parallax() if use_parallax else None
        self._first, self._others = CameraRanging(), list[CameraRanging]()
        self._index, self._tracker = index, Tracker(index=index)
        self._speed_mps: float | None = None  # at the first camera's last picture

    def update(
        self,
        image: CameraImage | None,
        ego: EgoState,
        frame: SensorFrame,
        lanes: LaneEstimate,
        detections: Sequence[Detection],
        others: Sequence[CameraDetections | None] = (),
    ) -> Sighting:
        """Objects and depth at the stamp of `frame` and the ego; without pictures, only the radars' returns count.

        `image` is the first camera's picture, None where it sent none, and `detections` are what was found in it.
        `others` are the further cameras' pictures and detections, always in the same order, None where a picture cannot
        be trusted. They add to `tracked`; everything else is the first camera's.
        """
        imu = frame.imu
        if image is None:
            tracked = self._track(
                ego, (), None, self._range_in_others(others, ego, imu), frame, _views(None, others, ego)
            )
            return Sighting(tracked, (), DepthPoints.none(), lanes, None, self._pitch.sigma_rad)
        dt = self._first.elapsed_s(ego.stamp.time_s)
        before_mps, self._speed_mps = self._speed_mps, ego.speed_mps
        self._pitch.update(dt, imu.gyro_radps[1], lanes, image.camera)
        camera, sigma, turn = self._pitch.camera(image.camera), self._pitch.sigma_rad, ego_rotation(imu, ego, dt)
        rises_m = self._road_heights_m(ego)
        ranged = self._first.update(image, camera, sigma, detections, ego, dt, turn, rises_m)
        points = DepthPoints.none()
        if self._parallax is not None:
            mean_mps = ego.speed_mps if before_mps is None else (before_mps + ego.speed_mps) / 2.0
            boxes = [thing.box_px for thing in ranged]
            points = self._parallax.update(image.bgr, image.camera, mean_mps * dt, turn, boxes)
        check = self._start_probability(image, camera, sigma, ranged, rises_m)
        tracked = self._track(
            ego, ranged, check, self._range_in_others(others, ego, imu), frame, _views(image, others, ego)
        )
        return Sighting(tracked, ranged, points, lanes, camera, sigma)

    def _track(
        self,
        ego: EgoState,
        seen: Sequence[RangedObject],
        check: StartProbability | None,
        others: Sequence[Seen],
        frame: SensorFrame,
        views: Sequence[View],
    ) -> tuple[TrackedObject, ...]:
        checks = [check, *(other_check for _, other_check in others)]
        radar = locate_returns(frame.radars.values(), ego) if frame.radars else None
        things = [things for things, _ in others]
        return self._tracker.update(ego, seen, *things, checks=checks, radar=radar, views=views)

    def _start_probability(
        self,
        image: CameraImage,
        camera: CameraModel,
        sigma_rad: float,
        seen: Sequence[RangedObject],
        rises_m: Float,
    ) -> StartProbability:
        slope_sigma = SLOPE_SIGMA if self._index is None else MAPPED_SLOPE_SIGMA
        return start_check(image.bgr, camera, sigma_rad, seen, rises_m, slope_sigma).probability

    def _road_heights_m(self, ego: EgoState) -> Float:
        """Road heights ahead relative to the ego's plane, as for `range_objects`."""
        pose = Pose2D(ego.x_m, ego.y_m, ego.yaw_rad)
        return FLAT if self._index is None else self._index.heights_ahead(pose, ROAD_STEP_M, ROAD_STEPS)

    def _range_in_others(self, others: Sequence[CameraDetections | None], ego: EgoState, imu: ImuSample) -> list[Seen]:
        """Ranged objects of each further camera and their check; a camera without a picture loses its corners."""
        self._others += [CameraRanging() for _ in others[len(self._others) :]]
        out: list[Seen] = []
        rises_m = self._road_heights_m(ego) if others else FLAT
        for number, other in enumerate(others):
            if other is None:
                self._others[number] = CameraRanging()
                out.append(((), None))
                continue
            image, detections = other
            camera, sigma = self._pitch.camera(image.camera), self._pitch.sigma_of(image.camera)
            ranging = self._others[number]
            dt = ranging.elapsed_s(ego.stamp.time_s)
            turn = ego_rotation(imu, ego, dt)
            seen = ranging.update(image, camera, sigma, detections, ego, dt, turn, rises_m)
            out.append((seen, self._start_probability(image, camera, sigma, seen, rises_m)))
        return out


def _views(first: CameraImage | None, others: Sequence[CameraDetections | None], ego: EgoState) -> list[View]:
    """The views of the cameras that sent a picture in this tick."""
    images = [first, *(other[0] for other in others if other is not None)]
    return [view_of(image.camera, ego) for image in images if image is not None]
