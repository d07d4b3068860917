"""Assembles the scene of one frame from the perception modules' results, and aligns slow vehicles with lanes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from av_core.types import EgoState, LaneEstimate, ObjectKind, Pose2D, Scene, TrackedObject, TrafficLightView
from perception.map_index import MapIndex

SLOW_MPS = 1.5
"""Minimum speed, m/s, at which an object's motion gives its heading."""

_PARKED_RAD = 0.6
"""A vehicle that stands beside a lane, turned from it by less than this, is parked along it."""


def assemble_scene(
    ego: EgoState,
    lanes: LaneEstimate,
    objects: Sequence[TrackedObject],
    lights: Mapping[str, TrafficLightView],
) -> Scene:
    """The scene at the ego state's stamp.

    Raises `ValueError` if the lanes belong to another frame: mixed frames would put objects at outdated positions.
    """
    if lanes.stamp.frame != ego.stamp.frame:
        raise ValueError(f"lanes are of frame {lanes.stamp.frame}, the ego state of frame {ego.stamp.frame}")
    return Scene(stamp=ego.stamp, ego=ego, lanes=lanes, objects=tuple(objects), lights=dict(lights))


def along_lanes(objects: Sequence[TrackedObject], index: MapIndex) -> tuple[TrackedObject, ...]:
    """The objects, with slow vehicles turned along the lane in which they stand, or beside which they are parked.

    A box gives a vehicle's heading to some 25 degrees at best, an error that puts a bumper half a metre into the next
    lane. Which end is the front stays as measured: a standing vehicle may be parked against the traffic.
    """
    return tuple(_along_lane(thing, index) for thing in objects)


def _along_lane(thing: TrackedObject, index: MapIndex) -> TrackedObject:
    if thing.kind is ObjectKind.PEDESTRIAN or thing.speed_mps >= SLOW_MPS:
        return thing
    ways = [Pose2D(thing.x_m, thing.y_m, thing.yaw_rad + turn) for turn in (0.0, np.pi)]
    matches = [match for way in ways if (match := index.lane_at(way)) is not None]
    if not matches:
        beside = (match for way in ways for match in index.lanes_at(way))
        matches = [match for match in beside if abs(match.heading_error_rad) < _PARKED_RAD]
    if not matches:
        return thing
    best = min(matches, key=lambda match: abs(match.offset_m) + 2.0 * abs(match.heading_error_rad))
    return replace(thing, yaw_rad=thing.yaw_rad - best.heading_error_rad)
