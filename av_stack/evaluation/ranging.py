"""Compares distances of objects, the depth image and velocities of tracked vehicles with the truth.

The detector is replaced by the true boxes of the objects that count (`perception.detection.classes`) with simulated
noise (`boxes.py`). So these figures measure ranging and tracking alone; the detector is measured separately.
"""

from __future__ import annotations

import numpy as np

from av_core.frames import map_to_vehicle
from av_core.types import EgoState, LaneEstimate, RangedObject, TrackedObject
from av_stack.evaluation.boxes import NoisyBoxes
from av_stack.evaluation.ranging_scores import (
    BAND_M,
    FAR_M,
    DepthSample,
    IdentitySample,
    PositionSample,
    RangingScores,
    TrackSample,
)
from av_stack.world.carla.survey import SurveyFrame
from perception.map_index import MapIndex
from perception.objects import ObjectPerception, Sighting


def true_ego(frame: SurveyFrame) -> EgoState:
    """The ego's true state, so that errors of localization have no influence."""
    ego, imu = frame.truth.ego, frame.sensors.imu
    return EgoState(
        frame.sensors.stamp, ego.x_m, ego.y_m, ego.yaw_rad, frame.sensors.wheel_speed_mps, imu.accel_mps2[0],
        imu.gyro_radps[2], np.zeros((4, 4)),
    )  # fmt: skip


class RangingEvaluation:
    """Call `add` with each frame of one drive in order; `scores` holds the results."""

    def __init__(self, camera: str, boxes: NoisyBoxes, index: MapIndex) -> None:
        self.scores = RangingScores()
        self._camera, self._boxes, self._sense = camera, boxes, ObjectPerception(index=index)
        self._last: dict[int, tuple[int, int]] = {}  # by actor: the frame of the last sighting, and the track
        self._frames = 0

    def add(self, weather: str, frame: SurveyFrame, lanes: LaneEstimate) -> None:
        found = self._boxes.look(frame.labels)
        image = frame.sensors.cameras[self._camera]
        seen = self._sense.update(image, true_ego(frame), frame.sensors, lanes, [box for _, box in found])
        known = {thing.track_id: thing for thing in frame.truth.objects}
        by_box = {box.box_px: known[actor] for actor, box in found if actor in known}
        for thing in seen.ranged:
            if thing.box_px in by_box:
                self._add_range(thing, by_box[thing.box_px], frame)
        for track in seen.tracked:
            if track.box_px is not None and track.box_px in by_box:
                self._add_track(track, by_box[track.box_px], frame)
        self._add_depth(weather, seen, frame)
        self._frames += 1

    def _add_range(self, thing: RangedObject, true: TrackedObject, frame: SurveyFrame) -> None:
        at = map_to_vehicle([true.x_m, true.y_m], frame.truth.ego)
        range_m, off = float(np.hypot(*at)), np.array([thing.x_m, thing.y_m]) - at
        error = float(np.hypot(thing.x_m, thing.y_m)) / range_m - 1.0
        self.scores.ranged.append(PositionSample(range_m, error, float(off @ np.linalg.solve(thing.covariance, off))))

    def _add_track(self, track: TrackedObject, true: TrackedObject, frame: SurveyFrame) -> None:
        assert track.covariance is not None
        place, velocity = track.covariance[:2, :2], track.covariance[2:, 2:]
        moved = np.array([track.x_m - true.x_m, track.y_m - true.y_m])
        faster = np.array(track.velocity_mps) - true.velocity_mps
        self.scores.sighted.append(
            TrackSample(
                true.kind.value,
                float(np.hypot(true.x_m - frame.truth.ego.x_m, true.y_m - frame.truth.ego.y_m)),
                true.speed_mps,
                float(np.hypot(*faster)),
                float(faster @ np.linalg.solve(velocity, faster)),
                float(moved @ np.linalg.solve(place, moved)),
            )
        )
        if true.track_id in self._last:
            when, which = self._last[true.track_id]
            self.scores.seen.append(IdentitySample(self._frames - when, which == track.track_id))
        self._last[true.track_id] = self._frames, track.track_id

    def _add_depth(self, weather: str, seen: Sighting, frame: SurveyFrame) -> None:
        image, true = seen.depth(), frame.depth_m
        assert image is not None
        covered = np.isfinite(image.depth_m) & (true < FAR_M)
        depth, sigma, near = image.depth_m[covered], image.sigma_m[covered], true[covered]
        relative, within = np.abs(depth / near - 1.0), np.abs(depth - near) < 2.0 * sigma
        on_road, bands = frame.is_road[covered], (near // BAND_M).astype(int)
        for band in range(int(FAR_M / BAND_M)):
            for is_road in (True, False):
                chosen = (bands == band) & (on_road == is_road)
                count = int(chosen.sum())
                if count:
                    error = float(relative[chosen].sum(dtype=float))
                    self.scores.pixels.append(
                        DepthSample(weather, band, is_road, count, error, int(within[chosen].sum()))
                    )
