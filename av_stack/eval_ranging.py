"""How well depth is known: distances of objects, the depth image, velocities of tracked vehicles, against the truth.

The detector is replaced by the true boxes of what counts (`perception.detection.classes`), so that these figures are
of ranging alone; the detector's own are measured apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from av_stack.evaluation import Figure
from av_stack.frames import map_to_vehicle
from av_stack.types import Detection, EgoState, Float, LaneEstimate, TrackedObject
from av_stack.world.carla_survey import SurveyFrame
from perception.detection.labels import Label
from perception.objects import ObjectSense, Sighting

FAR_M = 40.0
BANDS_M = ((0.0, 20.0), (20.0, 40.0))
RAW = ("distance", "velocity", "road", "covered", "weights")
Box = tuple[float, float, float, float]
VEHICLES = ("car", "truck", "bus", "motorcycle", "bicycle")


def true_detections(frame: SurveyFrame) -> list[tuple[int, Detection]]:
    """(actor id, box) of every road user that counts, in the image frame, where pixel i reaches from i - 0.5 on."""
    return [(actor, Detection(label.name, _edges(label), 0.9)) for actor, label in frame.labels if label.counts]


def _edges(label: Label) -> tuple[float, float, float, float]:
    u0, v0, u1, v1 = label.box_px
    return u0 - 0.5, v0 - 0.5, u1 - 0.5, v1 - 0.5


def true_ego(frame: SurveyFrame) -> EgoState:
    """The ego where it truly is: localization is measured elsewhere."""
    ego, imu = frame.truth.ego, frame.sensors.imu
    return EgoState(
        frame.sensors.stamp, ego.x_m, ego.y_m, ego.yaw_rad, frame.sensors.wheel_speed_mps, imu.accel_mps2[0],
        imu.gyro_radps[2], np.zeros((4, 4)),
    )  # fmt: skip


@dataclass(slots=True)
class RangingEvaluation:
    """`add` each frame in order, then `figures`."""

    camera: str
    sense: ObjectSense = field(default_factory=ObjectSense)
    # what `raw` names, without the underscore
    _distance: list[tuple[float, float]] = field(default_factory=list)  # true m, relative error
    _velocity: list[float] = field(default_factory=list)
    _road: list[float] = field(default_factory=list)
    _covered: list[float] = field(default_factory=list)
    _weights: list[tuple[int, int]] = field(default_factory=list)

    def raw(self) -> dict[str, list[Any]]:
        """What was gathered, for a file."""
        return {name: list(getattr(self, f"_{name}")) for name in RAW}

    def add_raw(self, raw: Mapping[str, list[Any]]) -> None:
        """Take in what another evaluation's `raw` gave."""
        for name in RAW:
            getattr(self, f"_{name}").extend(raw[name])

    def add(self, frame: SurveyFrame, lanes: LaneEstimate) -> Sighting:
        known = {thing.track_id: thing for thing in frame.truth.objects}
        found = true_detections(frame)
        ego = true_ego(frame)
        image = frame.sensors.cameras[self.camera]
        seen = self.sense.update(image, ego, frame.sensors.imu, lanes, [box for _, box in found])
        by_box = {box.box_px: known[actor] for actor, box in found if actor in known}
        for thing in seen.ranged:
            at = map_to_vehicle([by_box[thing.box_px].x_m, by_box[thing.box_px].y_m], frame.truth.ego)
            true = float(np.hypot(*at))
            if true <= FAR_M:
                self._distance.append((true, float(np.hypot(thing.x_m, thing.y_m)) / true - 1.0))
        for track in seen.tracked:
            self._add_velocity(track, by_box, frame)
        self._add_depth(seen, frame)
        return seen

    def _add_velocity(self, track: TrackedObject, by_box: dict[Box, TrackedObject], frame: SurveyFrame) -> None:
        true = None if track.box_px is None else by_box.get(track.box_px)
        if true is None or true.kind.value not in VEHICLES:
            return
        if np.hypot(true.x_m - frame.truth.ego.x_m, true.y_m - frame.truth.ego.y_m) <= FAR_M:
            self._velocity.append(float(np.hypot(*(np.array(track.velocity_mps) - true.velocity_mps))))

    def _add_depth(self, seen: Sighting, frame: SurveyFrame) -> None:
        image, true = seen.depth(), frame.depth_m
        assert image is not None
        depth = image.depth_m
        covered = np.isfinite(depth) & (true < FAR_M)
        relative = np.abs(depth[covered] / true[covered] - 1.0)
        on_road = frame.is_road[covered]
        self._weights.append((int(on_road.sum()), len(relative)))
        self._road.append(float(relative[on_road].sum()))
        self._covered.append(float(relative.sum()))

    def figures(self) -> list[Figure]:
        distance, pixels = np.array(self._distance).reshape(-1, 2), np.array(self._weights).reshape(-1, 2).sum(axis=0)
        out = [self._distances(distance, 0.0, FAR_M, 0.05)]
        out += [self._distances(distance, low, high, None) for low, high in BANDS_M]
        if len(self._velocity):
            rms = float(np.sqrt(np.mean(np.square(self._velocity))))
            out.append(
                Figure("ranging", "velocity error, RMS", "vehicles to 40 m", rms, "m/s", len(self._velocity), 1.0)
            )
        for name, errors, count, goal in (
            ("road pixels", self._road, int(pixels[0]), 0.10),
            ("all covered pixels", self._covered, int(pixels[1]), 0.15),
        ):
            out.append(Figure("depth", "AbsRel", f"{name} to 40 m", sum(errors) / max(count, 1), "", count, goal))
        return out

    @staticmethod
    def _distances(rows: Float, low: float, high: float, goal: float | None) -> Figure:
        chosen = rows[(rows[:, 0] >= low) & (rows[:, 0] < high), 1]
        error = float(np.median(np.abs(chosen))) if len(chosen) else float("nan")
        return Figure(
            "ranging", "relative distance error, median", f"{low:.0f}-{high:.0f} m", error, "", len(chosen), goal
        )
