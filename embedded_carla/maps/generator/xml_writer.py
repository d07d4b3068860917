"""Writes a `Town` as OpenDRIVE 1.4 text; numbers are rounded, so that the text is the same on every machine."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from embedded_carla.maps.generator.alignment import Alignment, wrapped
from embedded_carla.maps.generator.model import (
    Controller,
    Cubic,
    Junction,
    Lane,
    Link,
    MapObject,
    Road,
    Section,
    Signal,
    SignalReference,
    Town,
)


def _number(value: float, digits: int = 6) -> str:
    text = f"{value:.{digits}f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def _add(parent: Element, tag: str, **attributes: object) -> Element:
    """Add a child element: float attributes are rounded, and the trailing underscore of a name is dropped."""
    text = {k.rstrip("_"): _number(v) if isinstance(v, float) else str(v) for k, v in attributes.items()}
    return SubElement(parent, tag, text)


def to_xodr(town: Town) -> str:
    """The map as OpenDRIVE text, ending with a newline."""
    root = Element("OpenDRIVE")
    points = [p for road in town.roads for p in road.alignment.poses]
    header = _add(
        root, "header", revMajor=1, revMinor=4, name=town.name, version=1, date="2026-01-01T00:00:00",
        north=max(p.y for p in points), south=min(p.y for p in points),
        east=max(p.x for p in points), west=min(p.x for p in points), vendor="embedded_carla",
    )  # fmt: skip
    SubElement(header, "geoReference").text = (
        f"+proj=tmerc +lat_0={_number(town.lat_deg)} +lon_0={_number(town.lon_deg)} +k=1 +x_0=0 +y_0=0 "
        "+datum=WGS84 +units=m +geoidgrids=egm96_15.gtx +vunits=m +no_defs "
    )
    for road in town.roads:
        _road(root, road)
    for controller in town.controllers:
        _controller(root, controller)
    for junction in town.junctions:
        _junction(root, junction)
    indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _road(root: Element, road: Road) -> None:
    node = _add(root, "road", name=road.name, length=road.alignment.length_m, id=road.road_id, junction=road.junction)
    link = _add(node, "link")
    for tag, target in (("predecessor", road.predecessor), ("successor", road.successor)):
        if target is not None:
            _road_link(link, tag, target)
    _add(_add(node, "type", s=0.0, type=road.kind), "speed", max=road.speed_kmh, unit="km/h")
    _plan(_add(node, "planView"), road.alignment)
    _cubics(_add(node, "elevationProfile"), "elevation", road.elevation)
    _cubics(_add(node, "lateralProfile"), "superelevation", road.superelevation)
    lanes = _add(node, "lanes")
    _add(lanes, "laneOffset", s=0.0, a=0.0, b=0.0, c=0.0, d=0.0)
    for section in road.sections:
        _section(lanes, section)
    if road.objects:
        parent = _add(node, "objects")
        for thing in road.objects:
            _object(parent, thing)
    if road.signals:
        parent = _add(node, "signals")
        for signal in road.signals:
            if isinstance(signal, Signal):
                _signal(parent, signal)
            else:
                _reference(parent, signal)


def _road_link(parent: Element, tag: str, link: Link) -> None:
    node = _add(parent, tag, elementType=link.element, elementId=link.element_id)
    if link.contact:
        node.set("contactPoint", link.contact)


def _plan(parent: Element, alignment: Alignment) -> None:
    for piece, s, pose in zip(alignment.pieces, alignment.stations_m, alignment.poses, strict=False):
        node = SubElement(
            parent,
            "geometry",
            s=_number(s),
            x=_number(pose.x),
            y=_number(pose.y),
            hdg=_number(wrapped(pose.heading_rad), 9),
            length=_number(piece.length_m),
        )
        k0, k1 = piece.curvature_start, piece.curvature_end
        if k0 == k1 == 0.0:
            SubElement(node, "line")
        elif k0 == k1:
            SubElement(node, "arc", curvature=_number(k0, 10))
        else:
            SubElement(node, "spiral", curvStart=_number(k0, 10), curvEnd=_number(k1, 10))


def _cubics(parent: Element, tag: str, cubics: Iterable[Cubic], station: str = "s") -> None:
    """Add a cubic profile. Each power of s gets three more digits, for the same accuracy at a station of 1 km."""
    for s, *coefficients in cubics:
        values = {n: _number(v, d) for n, v, d in zip("abcd", coefficients, (6, 9, 12, 15), strict=True)}
        SubElement(parent, tag, {station: _number(s), **values})


def _section(parent: Element, section: Section) -> None:
    node = _add(parent, "laneSection", s=section.s_m)
    sides = {
        "left": [i for i in sorted(section.lanes, reverse=True) if i > 0],
        "center": [0],
        "right": [i for i in sorted(section.lanes, reverse=True) if i < 0],
    }
    for side, ids in sides.items():
        if ids:
            side_node = _add(node, side)
            for lane_id in ids:
                _lane(side_node, lane_id, section.lanes[lane_id])


def _lane(parent: Element, lane_id: int, lane: Lane) -> None:
    node = _add(parent, "lane", id=lane_id, type=lane.kind, level="false")
    if lane.predecessor is not None or lane.successor is not None:
        link = _add(node, "link")
        for tag, target in (("predecessor", lane.predecessor), ("successor", lane.successor)):
            if target is not None:
                _add(link, tag, id=target)
    _cubics(node, "width", lane.widths, "sOffset")
    for mark in lane.marks:
        mark_node = _add(node, "roadMark", sOffset=mark.s_m, type=mark.kind, material="standard", color=mark.colour)
        if mark.kind != "none":
            mark_node.set("width", _number(mark.width_m))
        mark_node.set("laneChange", mark.lane_change)


def _object(parent: Element, thing: MapObject) -> None:
    node = _add(
        parent, "object", id=thing.object_id, name=thing.name, s=thing.s_m, t=thing.t_m, zOffset=0.0,
        hdg=thing.heading_rad, roll=0.0, pitch=0.0, orientation=thing.orientation, type=thing.kind,
        width=thing.width_m, length=thing.length_m,
    )  # fmt: skip
    if thing.height_m:
        node.set("height", _number(thing.height_m))
    if thing.repeat is not None:
        s, length, t = thing.repeat
        _add(node, "repeat", s=s, length=length, distance=0.0, tStart=t, tEnd=t, zOffsetStart=0.0, zOffsetEnd=0.0,
             heightStart=thing.height_m, heightEnd=thing.height_m)  # fmt: skip
    if thing.outline:
        outline = _add(node, "outline")
        for u, v in thing.outline:
            _add(outline, "cornerLocal", u=u, v=v, z=0.0)


def _signal(parent: Element, signal: Signal) -> None:
    node = _add(
        parent, "signal", name=signal.name, id=signal.signal_id, s=signal.s_m, t=signal.t_m,
        zOffset=signal.z_offset_m, hOffset=wrapped(signal.h_offset_rad), roll=0.0, pitch=0.0,
        orientation=signal.orientation, dynamic="yes" if signal.dynamic else "no", country="OpenDRIVE",
        type=signal.kind, subtype=signal.subtype, value=signal.value,
    )  # fmt: skip
    if signal.unit:
        node.set("unit", signal.unit)
    node.set("text", _number(signal.value) if signal.unit else "")
    node.set("height", "1.16" if signal.dynamic else "0.9")
    node.set("width", "0.52" if signal.dynamic else "0.9")
    _add(node, "validity", fromLane=signal.validity[0], toLane=signal.validity[1])


def _reference(parent: Element, reference: SignalReference) -> None:
    node = _add(
        parent, "signalReference", id=reference.signal_id, s=reference.s_m, t=0.0, orientation=reference.orientation
    )
    _add(node, "validity", fromLane=reference.lane, toLane=reference.lane)


def _controller(root: Element, controller: Controller) -> None:
    name = f"ctrl{controller.controller_id}"
    node = _add(root, "controller", name=name, id=controller.controller_id, sequence=controller.sequence)
    for signal_id in controller.signals:
        _add(node, "control", signalId=signal_id, type="")


def _junction(root: Element, junction: Junction) -> None:
    node = _add(root, "junction", id=junction.junction_id, name=junction.name)
    for i, connection in enumerate(junction.connections):
        child = _add(
            node, "connection", id=i, incomingRoad=connection.incoming,
            connectingRoad=connection.connecting, contactPoint="start",
        )  # fmt: skip
        for source, target in connection.lane_links:
            _add(child, "laneLink", from_=source, to=target)
    for sequence, controller_id in enumerate(junction.controllers):
        _add(node, "controller", id=controller_id, type=0, sequence=sequence)
