"""Repairs to a map before anyone hands it to `carla.Map`, which crashes or misleads on what is mended here.

Two lane sections at one s make it segfault; links to things that do not exist make it throw; edges of no length make
route planners divide by zero.
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

from embedded_carla.errors import MapError
from embedded_carla.opendrive.network import DRIVABLE
from embedded_carla.opendrive.read import number

Element = Any
SHORTEST_M = 1e-3
MOST_ROAD_M, FARTHEST_M, WIDEST_LANE_M = 3.0e6, 1.0e6, 1000.0


def repair(root: Element, name: str) -> list[str]:
    """Mend the tree in place and say what was mended, one line each. Raises MapError on what cannot be mended."""
    if root.tag != "OpenDRIVE":
        raise MapError(f"map {name}: the root element is <{root.tag}>, not <OpenDRIVE>")
    try:
        _refuse(root, name)
        _refuse_sizes(root, name)
        said: list[str] = []
        _drop_empty_roads(root, name, said)
        for road in root.iterfind("road"):
            _mend_geometry(road, name, said)
            _mend_sections(road, said)
            _mend_lane_links(road, said)
        _mend_links(root, said)
        _mend_signals(root, said)
    except ValueError as error:
        raise MapError(f"map {name}: {error}") from error
    return said


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
    if not any(lane.get("type") in DRIVABLE for road in roads for lane in road.iterfind("lanes/laneSection/*/lane")):
        raise MapError(f"map {name}: no drivable lane (no lane of type driving)")


def _refuse_sizes(root: Element, name: str) -> None:
    """What would take hours and all memory to build."""
    total = sum(number(road, "length") for road in root.iterfind("road"))
    if total > MOST_ROAD_M:
        raise MapError(f"map {name}: {total / 1e3:.6g} km of roads, at most {MOST_ROAD_M / 1e3:g} km are possible")
    for piece in root.iterfind("road/planView/geometry"):
        if max(abs(number(piece, "x")), abs(number(piece, "y"))) > FARTHEST_M:
            raise MapError(f"map {name}: <geometry> in line {piece.sourceline} lies more than 1000 km from the origin")
    for width in root.iterfind("road/lanes/laneSection/*/lane/width"):
        if abs(number(width, "a", 0.0)) > WIDEST_LANE_M:
            raise MapError(f"map {name}: <width> in line {width.sourceline}: at most {WIDEST_LANE_M:g} m are possible")


def _drop_empty_roads(root: Element, name: str, said: list[str]) -> None:
    for road in root.findall("road"):
        if number(road, "length") > SHORTEST_M:
            continue
        road_id = road.get("id")
        if road.get("junction", "-1") == "-1":
            raise MapError(f"map {name}: road {road_id} has no length")
        root.remove(road)
        said.append(f"connecting road {road_id} has no length: removed with its connections")


def _mend_geometry(road: Element, name: str, said: list[str]) -> None:
    pieces = road.findall("planView/geometry")
    empty = [p for p in pieces if number(p, "length") <= 1e-6]
    if len(empty) == len(pieces):
        raise MapError(f"map {name}: road {road.get('id')} has no geometry with a length")
    for piece in empty:
        piece.getparent().remove(piece)
        said.append(f"road {road.get('id')}: a geometry of no length removed at s={piece.get('s')}")


def _mend_sections(road: Element, said: list[str]) -> None:
    lanes = road.find("lanes")
    sections = lanes.findall("laneSection")
    length = number(road, "length")
    ordered = sorted(sections, key=lambda section: number(section, "s"))
    if ordered != sections:
        for section in ordered:
            lanes.append(section)
        said.append(f"road {road.get('id')}: lane sections put in order of s")
    for i in range(len(ordered) - 2, -1, -1):
        if number(ordered[i + 1], "s") - number(ordered[i], "s") < SHORTEST_M:
            _bridge(ordered[i - 1] if i else None, ordered[i], ordered[i + 1])
            ordered[i + 1].set("s", ordered[i].get("s"))
            lanes.remove(ordered.pop(i))
            said.append(f"road {road.get('id')}: two lane sections at s={ordered[i].get('s')}, the first removed")
    while len(ordered) > 1 and length - number(ordered[-1], "s") < SHORTEST_M:
        lanes.remove(ordered.pop())
        said.append(f"road {road.get('id')}: a lane section of no length removed at its end")


def _bridge(before: Element | None, dropped: Element, kept: Element) -> None:
    """Let links that went through the dropped section reach across it."""
    forward = {i: _linked(lane, "successor") for i, lane in _lanes(dropped).items()}
    backward = {i: _linked(lane, "predecessor") for i, lane in _lanes(dropped).items()}
    for lanes, tag, across in (
        ({} if before is None else _lanes(before), "successor", forward), (_lanes(kept), "predecessor", backward),
    ):  # fmt: skip
        for lane in lanes.values():
            link = lane.find(f"link/{tag}")
            target = None if link is None else across.get(link.get("id"))
            if link is not None and target is not None:
                link.set("id", target)


def _lanes(section: Element) -> dict[str, Element]:
    return {lane.get("id"): lane for lane in section.iterfind("*/lane")}


def _linked(lane: Element, tag: str) -> str | None:
    link = lane.find(f"link/{tag}")
    return None if link is None else link.get("id")


def _mend_lane_links(road: Element, said: list[str]) -> None:
    """Links between the sections of one road must name lanes that exist."""
    sections = [_lanes(section) for section in road.iterfind("lanes/laneSection")]
    for tag, pairs in (("successor", itertools.pairwise(sections)),
                       ("predecessor", zip(sections[1:], sections, strict=False))):  # fmt: skip
        for own, other in pairs:
            for lane in own.values():
                link = lane.find(f"link/{tag}")
                if link is not None and link.get("id") not in other:
                    link.getparent().remove(link)
                    said.append(f"road {road.get('id')} lane {lane.get('id')}: link to a missing lane removed")


def _mend_links(root: Element, said: list[str]) -> None:
    roads = {road.get("id") for road in root.iterfind("road")}
    junctions = {junction.get("id") for junction in root.iterfind("junction")}
    for road in root.iterfind("road"):
        for link in [e for tag in ("predecessor", "successor") for e in road.iterfind(f"link/{tag}")]:
            known = junctions if link.get("elementType") == "junction" else roads
            if link.get("elementId") not in known:
                link.getparent().remove(link)
                said.append(f"road {road.get('id')}: link to missing {link.get('elementType')} {link.get('elementId')}")
    for junction in root.iterfind("junction"):
        for connection in junction.findall("connection"):
            if not {connection.get("incomingRoad"), connection.get("connectingRoad")} <= roads:
                junction.remove(connection)
                said.append(
                    f"junction {junction.get('id')}: connection {connection.get('id')} to a missing road removed"
                )


def _mend_signals(root: Element, said: list[str]) -> None:
    known = {signal.get("id") for signal in root.iterfind("road/signals/signal")}
    for reference in root.findall("road/signals/signalReference"):
        if reference.get("id") not in known:
            reference.getparent().remove(reference)
            said.append(f"reference to missing signal {reference.get('id')} removed")
    for control in root.findall("controller/control"):
        if control.get("signalId") not in known:
            control.getparent().remove(control)
            said.append(f"control of missing signal {control.get('signalId')} removed")
