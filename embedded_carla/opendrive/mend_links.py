"""Repairs links between lanes, roads, junctions and signals: the wheel's parser crashes on links to missing things."""

from __future__ import annotations

import itertools
from typing import Any

from embedded_carla.opendrive.read import number

Element = Any
SHORTEST_ROAD_M = 1e-9
"""The wheel reads roads of this length and refuses shorter ones."""


def drop_empty_roads(root: Element, said: list[str]) -> None:
    """Remove connecting roads of zero length. Raises ValueError for any other road of zero length."""
    for road in root.findall("road"):
        if number(road, "length") > SHORTEST_ROAD_M:
            continue
        road_id = road.get("id")
        if road.get("junction", "-1") == "-1":
            raise ValueError(f"road {road_id} has no length")
        root.remove(road)
        said.append(f"connecting road {road_id} has no length: removed with its connections")


def lanes_of(section: Element) -> dict[str, Element]:
    """Lanes of a section by id."""
    return {lane.get("id"): lane for lane in section.iterfind("*/lane")}


def mend_lane_links(road: Element, said: list[str]) -> None:
    """Remove links between the sections of one road that name missing lanes."""
    sections = [lanes_of(section) for section in road.iterfind("lanes/laneSection")]
    for own, other in itertools.pairwise(sections):
        _drop_links(road, own, "successor", other, said)
        _drop_links(road, other, "predecessor", own, said)


def mend_neighbour_links(root: Element, said: list[str]) -> None:
    """Remove lane links to missing lanes of the road before or after, and all lane links if there is no such road.

    The wheel would use road 0 instead of a missing road.
    """
    roads = {road.get("id"): road for road in root.iterfind("road")}
    for road in roads.values():
        sections = road.findall("lanes/laneSection")
        for tag, own in (("predecessor", sections[0]), ("successor", sections[-1])):
            link = road.find(f"link/{tag}")
            if link is None and "0" in roads:
                _drop_links(road, lanes_of(own), tag, {}, said)
            if link is None or link.get("elementType") != "road":
                continue
            facing = roads[link.get("elementId")].findall("lanes/laneSection")
            # The wheel reads every contact point except "start" as the end.
            other = facing[0] if link.get("contactPoint") == "start" else facing[-1]
            _drop_links(road, lanes_of(own), tag, lanes_of(other), said)


def _drop_links(
    road: Element, own: dict[str, Element], tag: str, other: dict[str, Element], said: list[str]
) -> None:  # fmt: skip
    for lane in own.values():
        link = lane.find(f"link/{tag}")
        if link is not None and link.get("id") not in other:
            link.getparent().remove(link)
            said.append(f"road {road.get('id')} lane {lane.get('id')}: link to a missing lane removed")


def mend_road_links(root: Element, said: list[str]) -> None:
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


def mend_signals(root: Element, said: list[str]) -> None:
    known = {signal.get("id") for signal in root.iterfind("road/signals/signal")}
    for reference in root.findall("road/signals/signalReference"):
        if reference.get("id") not in known:
            reference.getparent().remove(reference)
            said.append(f"reference to missing signal {reference.get('id')} removed")
    for control in root.findall("controller/control"):
        if control.get("signalId") not in known:
            control.getparent().remove(control)
            said.append(f"control of missing signal {control.get('signalId')} removed")
