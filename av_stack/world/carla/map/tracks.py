"""Waypoints along the lanes of a `carla.Map`, and the stretches of road on which its OpenDRIVE text has lanes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import carla
import numpy as np

from av_core.errors import WorldError
from av_core.types import Float, LaneKey

SPACING_M = 1.0
"""Distance between points of a lane."""

END_GAP_M = 1e-3  # a waypoint exactly at a section's end belongs to the next one

_MPS_PER_UNIT = {"km/h": 1 / 3.6, "mph": 0.44704, "m/s": 1.0}


@dataclass(frozen=True, slots=True)
class LaneSpan:
    """The stretch of road that a lane of a kind covers, and the speed limit of the road's type there (None: none).

    `kind` is OpenDRIVE's type of lane, such as "driving".
    """

    key: LaneKey
    kind: str
    start_s: float
    end_s: float
    limit_mps: float | None


def lane_spans(root: Any, kinds: Collection[str]) -> Iterator[LaneSpan]:
    """The spans of all lanes of these kinds in an OpenDRIVE text."""
    for road in root.iter("road"):
        road_id, length = int(road.get("id")), float(road.get("length"))
        sections = road.findall("lanes/laneSection")
        starts = [float(section.get("s")) for section in sections] + [length]
        for index, section in enumerate(sections):
            if starts[index + 1] - starts[index] < END_GAP_M:
                continue
            limit = _type_limit(road, (starts[index] + starts[index + 1]) / 2)
            for lane in section.iter("lane"):
                if lane.get("type") in kinds and lane.get("id") != "0":
                    key = LaneKey(road_id, index, int(lane.get("id")))
                    yield LaneSpan(key, lane.get("type"), starts[index], starts[index + 1], limit)


def _type_limit(road: Any, s: float) -> float | None:
    limit = None
    for kind in sorted(road.findall("type"), key=lambda element: float(element.get("s"))):
        if float(kind.get("s")) > s:
            break
        speed = kind.find("speed")
        if speed is None or speed.get("max") in ("no limit", "undefined"):
            continue
        limit = float(speed.get("max")) * _MPS_PER_UNIT.get(speed.get("unit", "m/s"), 1.0)
    return limit


def lane_track(carla_map: carla.Map, span: LaneSpan, spacing_m: float = SPACING_M) -> list[carla.Waypoint]:
    """Waypoints along the lane in its direction of travel."""
    length = span.end_s - span.start_s
    gap = min(END_GAP_M, length / 4)
    count = max(2, round(length / spacing_m) + 1)
    road_s = np.linspace(span.start_s + gap, span.end_s - gap, count)
    found = [carla_map.get_waypoint_xodr(span.key.road_id, span.key.lane_id, float(s)) for s in road_s]
    track = [waypoint for waypoint in found if waypoint is not None]
    if len(track) < count:
        raise WorldError(f"map {carla_map.name}: CARLA finds no waypoint on {span.key}")
    first, last = track[0].transform, track[-1].transform
    ahead = first.get_forward_vector()
    chord_x, chord_y = last.location.x - first.location.x, last.location.y - first.location.y
    if count > 2:
        second = track[1].transform.location
        chord_x, chord_y = second.x - first.location.x, second.y - first.location.y
    return track if chord_x * ahead.x + chord_y * ahead.y >= 0.0 else track[::-1]


def has_position(waypoint: carla.Waypoint) -> bool:
    """False where CARLA computes NaN, as on a spiral of constant curvature."""
    location = waypoint.transform.location
    return isfinite(location.x) and isfinite(location.y) and isfinite(location.z)


def lane_key(waypoint: carla.Waypoint) -> LaneKey:
    return LaneKey(waypoint.road_id, waypoint.section_id, waypoint.lane_id)


def lane_line(track: Sequence[carla.Waypoint]) -> tuple[Float, Float]:
    """(N, 3) points, m, and (N,) headings, rad, without jumps, of waypoints in the map frame."""
    transforms = [waypoint.transform for waypoint in track]
    points = np.array([(t.location.x, -t.location.y, t.location.z) for t in transforms])
    return points, np.unwrap(np.radians([-t.rotation.yaw for t in transforms]))


def lane_successors(last: carla.Waypoint, known: Collection[LaneKey]) -> list[LaneKey]:
    """The lanes of `known` that follow the last waypoint of a lane."""
    found = {lane_key(waypoint): None for waypoint in last.next(3 * END_GAP_M)}
    return [key for key in found if key in known and key != lane_key(last)]
