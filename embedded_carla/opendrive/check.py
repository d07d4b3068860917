"""Refuses maps that cannot be used, and repairs errors on which `carla.Map` crashes.

A repair changes only what the wheel's parser cannot read. Very short lane sections that it can read are not changed,
because lane links, lane offsets and junction connections refer to them.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from embedded_carla.errors import MapError
from embedded_carla.opendrive.mend_links import (
    drop_empty_roads,
    mend_lane_links,
    mend_neighbour_links,
    mend_road_links,
    mend_signals,
)
from embedded_carla.opendrive.mend_roads import mend_plan_view, mend_profiles, mend_sections, mend_spirals
from embedded_carla.opendrive.network import DRIVABLE
from embedded_carla.opendrive.read import number

Element = Any
MOST_ROAD_M, FARTHEST_M, WIDEST_LANE_M = 3.0e6, 1.0e6, 1000.0


def repair(root: Element, name: str) -> list[str]:
    """Repair the tree in place; returns one line for each repair. Raises MapError if it cannot be repaired."""
    if root.tag != "OpenDRIVE":
        raise MapError(f"map {name}: the root element is <{root.tag}>, not <OpenDRIVE>")
    try:
        _refuse(root, name)
        _refuse_sizes(root, name)
        said: list[str] = []
        drop_empty_roads(root, said)
        for road in root.iterfind("road"):
            _mend_junction(road, said)
            mend_plan_view(road, said)
            mend_spirals(road, said)
            mend_sections(road, said)
            mend_profiles(road, said)
            mend_lane_links(road, said)
        mend_road_links(root, said)
        mend_neighbour_links(root, said)
        mend_signals(root, said)
    except ValueError as error:
        raise MapError(f"map {name}: {error}") from error
    return said


def _mend_junction(road: Element, said: list[str]) -> None:
    """Set a missing `junction` attribute to -1: the wheel would count the road as a part of junction 0."""
    if road.get("junction") is None:
        road.set("junction", "-1")
        said.append(f"road {road.get('id')}: no junction given, -1 (none) assumed")


def _refuse(root: Element, name: str) -> None:
    roads = root.findall("road")
    ids = Counter(road.get("id") for road in roads)
    double = [road_id for road_id, count in ids.items() if count > 1]
    if double:
        raise MapError(f"map {name}: two roads have the id {double[0]}")
    for road in roads:
        if road.find("planView/geometry") is None:
            raise MapError(f"map {name}: road {road.get('id')} has no geometry")
        if road.find("lanes/laneSection") is None:
            raise MapError(f"map {name}: road {road.get('id')} has no laneSection")
        if len(road.findall("lanes")) > 1:
            raise MapError(f"map {name}: road {road.get('id')} has more than one <lanes>")
    if not any(lane.get("type") in DRIVABLE for road in roads for lane in road.iterfind("lanes/laneSection/*/lane")):
        raise MapError(f"map {name}: no drivable lane (no lane of type driving)")


def _refuse_sizes(root: Element, name: str) -> None:
    """Raise MapError for maps that would take hours and all memory to build."""
    total = sum(number(road, "length") for road in root.iterfind("road"))
    if total > MOST_ROAD_M:
        raise MapError(f"map {name}: {total / 1e3:.6g} km of roads, at most {MOST_ROAD_M / 1e3:g} km are possible")
    for piece in root.iterfind("road/planView/geometry"):
        if max(abs(number(piece, "x")), abs(number(piece, "y"))) > FARTHEST_M:
            raise MapError(f"map {name}: <geometry> in line {piece.sourceline} lies more than 1000 km from the origin")
    for width in root.iterfind("road/lanes/laneSection/*/lane/width"):
        if abs(number(width, "a", 0.0)) > WIDEST_LANE_M:
            raise MapError(f"map {name}: <width> in line {width.sourceline}: at most {WIDEST_LANE_M:g} m are possible")
