"""Scores the results of perception in one step against the truth: lane lines, road users and traffic lights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from av_core.frames import map_to_vehicle
from av_core.types import CameraModel, Float, LightState, ObjectKind, Pose2D, Scene, Stamp, TrackedObject, Truth
from av_stack.evaluation.lanes import score_line, true_lines
from perception.detection.oracle import box_in_image
from perception.map_index import MapIndex

RANGE_MAX_M = 80.0
"""Road users farther away do not count."""

MATCH_M, MATCH_SHARE = 2.0, 0.15
"""A track matches a road user if their middles are within this distance, or within this share of the range."""

PEDESTRIANS, VEHICLES = "pedestrians", "vehicles"


@dataclass(frozen=True, slots=True)
class SeenLine:
    """A painted line of the ego's lane: error at 10 m, None where it was not detected."""

    side: str
    error_m: float | None


@dataclass(frozen=True, slots=True)
class SeenObject:
    """A road user in the front camera's field of view, hidden or not: its true range and the range of its track.

    The track's range is None if there is no track. `height_px` is the height of the road user's whole box in the
    picture. `is_in_picture` says whether the camera detects the track now; radars or earlier pictures alone can keep a
    track, too.
    """

    actor_id: int
    group: str
    range_m: float
    seen_range_m: float | None
    height_px: float = 0.0
    is_in_picture: bool = False

    @property
    def range_error(self) -> float | None:
        """Relative error of the range."""
        return None if self.seen_range_m is None else abs(self.seen_range_m / self.range_m - 1.0)


@dataclass(frozen=True, slots=True)
class StepScore:
    """The scores of perception in one step.

    `lights` holds the recognized light states by signal id, `true_lights` all true states. `ego_error_m` is the error
    of the estimated position, ahead of and to the left of the true position.
    """

    stamp: Stamp
    lines: Sequence[SeenLine]
    objects: Sequence[SeenObject]
    lights: Mapping[str, str]
    true_lights: Mapping[str, str]
    ego_error_m: tuple[float, float] = (0.0, 0.0)


def score_step(truth: Truth, scene: Scene, camera: CameraModel, index: MapIndex) -> StepScore:
    """The score of one step; `camera` is the front camera, `index` that of the map."""
    return StepScore(
        truth.stamp,
        _lines(truth, scene, camera, index),
        _objects(truth, scene, camera),
        {name: view.state.value for name, view in scene.lights.items() if view.state is not LightState.UNKNOWN},
        {name: state.value for name, state in truth.lights.items()},
        _ego_error_m(truth, scene),
    )


def _ego_error_m(truth: Truth, scene: Scene) -> tuple[float, float]:
    ahead_m, left_m = map_to_vehicle((scene.ego.x_m, scene.ego.y_m), truth.ego)
    return float(ahead_m), float(left_m)


def _group_of(one: TrackedObject) -> str:
    return PEDESTRIANS if one.kind is ObjectKind.PEDESTRIAN else VEHICLES


def _lines(truth: Truth, scene: Scene, camera: CameraModel, index: MapIndex) -> tuple[SeenLine, ...]:
    """The lines that the map has there, as `av-stack eval perception` scores them."""
    found = []
    lanes = (("left", scene.lanes.left), ("right", scene.lanes.right))
    for (side, line), true in zip(lanes, true_lines(index, truth.ego), strict=True):
        if true is not None:
            score = score_line(line, true, camera)
            if score.rows:
                found.append(SeenLine(side, None if score.error_m is None else abs(score.error_m)))
    return tuple(found)


def _objects(truth: Truth, scene: Scene, camera: CameraModel) -> tuple[SeenObject, ...]:
    """The road users in the picture, each matched to at most one track: tracks with a box first, then the nearest.

    One road user may have two tracks, one of the camera and one that only radars keep. Road users are taken relative to
    the ego's true pose, tracks relative to its estimated pose.
    """
    there = [
        (one, _group_of(one), at, box[3] - box[1])
        for one in truth.objects
        if np.hypot(*(at := _ahead(one, truth.ego))) <= RANGE_MAX_M
        and (box := box_in_image(one, truth, camera)) is not None
    ]
    ego = scene.ego
    believed = Pose2D(ego.x_m, ego.y_m, ego.yaw_rad)
    tracks = [(_group_of(track), _ahead(track, believed)) for track in scene.objects]
    is_in_picture = [track.box_px is not None for track in scene.objects]
    pairs = sorted(
        (not is_in_picture[other], float(np.hypot(*(at - seen_at))), number, other)
        for number, (_, group, at, _) in enumerate(there)
        for other, (seen_group, seen_at) in enumerate(tracks)
        if group == seen_group and np.hypot(*(at - seen_at)) <= max(MATCH_M, MATCH_SHARE * np.hypot(*at))
    )
    track_of: dict[int, int] = {}
    for _, _, number, other in pairs:
        if number not in track_of and other not in track_of.values():
            track_of[number] = other
    return tuple(
        SeenObject(
            one.track_id,
            group,
            float(np.hypot(*at)),
            float(np.hypot(*tracks[track_of[number]][1])) if number in track_of else None,
            float(height_px),
            number in track_of and is_in_picture[track_of[number]],
        )
        for number, (one, group, at, height_px) in enumerate(there)
    )


def _ahead(one: TrackedObject, ego: Pose2D) -> Float:
    return map_to_vehicle([one.x_m, one.y_m], ego)
