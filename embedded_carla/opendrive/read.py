"""Reads the XML tree of an OpenDRIVE text into a `RoadNetwork`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from embedded_carla.errors import MapError
from embedded_carla.opendrive import geometry
from embedded_carla.opendrive.cubics import ZERO, Cubics, cubics
from embedded_carla.opendrive.geometry import Piece, PlanView
from embedded_carla.opendrive.marks import read_marks
from embedded_carla.opendrive.network import (
    Connection,
    Junction,
    Lane,
    LaneSection,
    Link,
    Road,
    RoadNetwork,
    RoadObject,
    Signal,
    SignalReference,
    Validity,
)

Element = Any  # lxml ships no types

KMH = {"km/h": 1.0, "kph": 1.0, "mph": 1.609344, "m/s": 3.6, "": 3.6}
# Limits for a road whose <type> has no speed: those of CARLA's towns for a street, a country road and a motorway.
DEFAULT_SPEED_KMH = {"town": 30.0, "rural": 90.0, "motorway": 120.0, "lowSpeed": 20.0, "pedestrian": 10.0}
NO_TYPE_SPEED_KMH = 30.0

SHORTEST_PIECE_M = 1e-6
"""Geometry up to this length, m, is left out of the reference line; it stays in the text for clients."""

DEFAULT_GEO_DEG = (42.0, 2.0)
"""Latitude and longitude of the origin that the wheel assumes if it cannot read those in the header."""


def number(element: Element, key: str, default: float | None = None) -> float:
    """A finite numeric attribute. Raises ValueError if it is missing (without a `default`) or no finite number."""
    text = element.get(key)
    if text is None:
        if default is None:
            raise ValueError(f"<{element.tag}> in line {element.sourceline} has no {key}")
        return default
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        raise ValueError(f"<{element.tag}> in line {element.sourceline}: {key}={text!r} is not a number")
    return value


def integer(element: Element, key: str) -> int:
    """An integer attribute. Raises ValueError if it is missing or not an integer."""
    value = number(element, key)
    if value != int(value):
        raise ValueError(f"<{element.tag}> in line {element.sourceline}: {key}={element.get(key)!r} is not an integer")
    return int(value)


def read_network(root: Element, name: str, text: str, repairs: tuple[str, ...]) -> RoadNetwork:
    """Read a checked tree. Raises MapError naming the first element that cannot be read."""
    try:
        roads = {road.road_id: road for road in map(_road, root.iterfind("road"))}
        signals = {s.signal_id: s for r in root.iterfind("road") for s in _each(r, "signals/signal", _signal)}
        references = tuple(s for r in root.iterfind("road") for s in _each(r, "signals/signalReference", _reference))
        objects = tuple(o for r in root.iterfind("road") for o in _each(r, "objects/object", _object))
        junctions = {j.junction_id: j for j in map(_junction, root.iterfind("junction"))}
    except ValueError as error:
        raise MapError(f"map {name}: {error}") from error
    controllers = {
        c.get("id", ""): tuple(dict.fromkeys(control.get("signalId", "") for control in c.iterfind("control")))
        for c in root.iterfind("controller")
    }
    return RoadNetwork(
        name, text, _geo(root), roads, junctions, signals, references, objects, controllers, repairs
    )  # fmt: skip


def _each(road: Element, path: str, read: Callable[[Element, int], Any]) -> Iterable[Any]:
    road_id = integer(road, "id")
    return (read(element, road_id) for element in road.iterfind(path))


def _geo(root: Element) -> tuple[float, float]:
    text = root.findtext("header/geoReference") or ""
    found = [re.search(rf"\+{key}=([-+0-9.eE]+)", text) for key in ("lat_0", "lon_0")]
    if not found[0] or not found[1]:
        return DEFAULT_GEO_DEG
    try:
        latitude, longitude = float(found[0][1]), float(found[1][1])
    except ValueError:
        return DEFAULT_GEO_DEG
    return (latitude, longitude) if abs(latitude) <= 90.0 and abs(longitude) <= 360.0 else DEFAULT_GEO_DEG


def _profile(elements: Iterable[Element], start: str = "s", offset_m: float = 0.0) -> Cubics:
    rows = [
        (offset_m + number(e, start, 0.0), *(number(e, key, 0.0) for key in "abcd")) for e in elements
    ]  # fmt: skip
    return cubics(rows)  # type: ignore[arg-type]


def _piece(element: Element) -> Piece:
    shape = next((e for e in element if e.tag in ("line", "arc", "spiral", "poly3", "paramPoly3")), None)
    if shape is None:
        raise ValueError(f"<geometry> in line {element.sourceline} has no shape that OpenDRIVE 1.4 knows")
    length = number(element, "length")
    kind, parameters = geometry.LINE, ()  # type: tuple[int, tuple[float, ...]]
    if shape.tag == "arc":
        kind, parameters = geometry.ARC, (number(shape, "curvature"),)
    elif shape.tag == "spiral":
        kind, parameters = geometry.SPIRAL, (number(shape, "curvStart"), number(shape, "curvEnd"))
    elif shape.tag == "poly3":
        kind, parameters = geometry.POLY3, tuple(number(shape, k) for k in "abcd")
    elif shape.tag == "paramPoly3":
        p_max = length if shape.get("pRange") == "arcLength" else 1.0
        parameters = (*(number(shape, k + axis) for axis in "UV" for k in "abcd"), p_max)
        kind = geometry.PARAM_POLY3
    s, x, y, heading = (number(element, k) for k in ("s", "x", "y", "hdg"))
    return Piece(s, x, y, heading, length, kind, parameters)


def _plan_view(elements: Iterable[Element]) -> PlanView:
    """The pieces in order of s, without pieces of zero length; if all have zero length, the first one as a line."""
    pieces = sorted(map(_piece, elements), key=lambda piece: piece.s_m)
    return PlanView(tuple(p for p in pieces if p.length_m > SHORTEST_PIECE_M) or (_as_line(pieces[0]),))


def _as_line(piece: Piece) -> Piece:
    return replace(piece, length_m=0.0, kind=geometry.LINE, parameters=())


def _speed_kmh(element: Element) -> float | None:
    """The limit of a `<speed>` in km/h; None for "no limit" and "undefined"."""
    if element.get("max") in ("no limit", "undefined", None):
        return None
    unit = element.get("unit", "")
    if unit not in KMH:
        raise ValueError(
            f"<speed> in line {element.sourceline}: unit {unit!r} is none of {', '.join(filter(None, KMH))}"
        )
    return number(element, "max") * KMH[unit]


def _road_speed(road: Element) -> tuple[str, float]:
    kind = road.find("type")
    if kind is None:
        return "", NO_TYPE_SPEED_KMH
    name = kind.get("type", "")
    speed = kind.find("speed")
    limit = None if speed is None else _speed_kmh(speed)
    return name, DEFAULT_SPEED_KMH.get(name, NO_TYPE_SPEED_KMH) if limit is None else limit


def _lane(element: Element, section_s_m: float) -> Lane:
    borders = element.findall("border")
    height = element.find("height")
    links = {tag: element.find(f"link/{tag}") for tag in ("predecessor", "successor")}
    limits = ((section_s_m + number(e, "sOffset", 0.0), _speed_kmh(e)) for e in element.iterfind("speed"))
    return Lane(
        lane_id=integer(element, "id"),
        kind=element.get("type", "none"),
        width=_profile(element.iterfind("width"), "sOffset", section_s_m),
        border=_profile(borders, "sOffset", section_s_m) if borders else None,
        marks=read_marks(element.iterfind("roadMark"), section_s_m),
        speeds=tuple((s, limit) for s, limit in limits if limit is not None),
        height=None if height is None else (number(height, "inner", 0.0), number(height, "outer", 0.0)),
        predecessor=None if links["predecessor"] is None else integer(links["predecessor"], "id"),
        successor=None if links["successor"] is None else integer(links["successor"], "id"),
    )


def _link(element: Element | None) -> Link | None:
    if element is None:
        return None
    return Link(element.get("elementType", "road"), integer(element, "elementId"), element.get("contactPoint", ""))


def _road(element: Element) -> Road:
    length = number(element, "length")
    sections = element.findall("lanes/laneSection")
    starts = [number(section, "s") for section in sections] + [length]
    kind, speed = _road_speed(element)
    return Road(
        road_id=integer(element, "id"),
        length_m=length,
        junction=integer(element, "junction"),
        kind=kind,
        speed_kmh=speed,
        plan=_plan_view(element.iterfind("planView/geometry")),
        elevation=_profile(element.iterfind("elevationProfile/elevation")),
        superelevation=_flat(_profile(element.iterfind("lateralProfile/superelevation"))),
        offset=_flat(_profile(element.iterfind("lanes/laneOffset"))),
        sections=tuple(
            LaneSection(start, end, {lane.lane_id: lane for lane in (_lane(e, start) for e in section.iter("lane"))})
            for section, start, end in zip(sections, starts, starts[1:], strict=False)
        ),
        predecessor=_link(element.find("link/predecessor")),
        successor=_link(element.find("link/successor")),
    )


def _flat(profile: Cubics) -> Cubics:
    return ZERO if profile.is_zero() else profile


def _validities(element: Element) -> tuple[Validity, ...]:
    return tuple(
        Validity(*sorted((integer(v, "fromLane"), integer(v, "toLane")))) for v in element.iterfind("validity")
    )


def _signal(element: Element, road: int) -> Signal:
    return Signal(
        signal_id=element.get("id", ""),
        road=road,
        s_m=number(element, "s"),
        t_m=number(element, "t"),
        z_m=number(element, "zOffset", 0.0),
        heading_rad=number(element, "hOffset", 0.0),
        orientation=element.get("orientation", "none"),
        kind=element.get("type", ""),
        dynamic=element.get("dynamic") == "yes",
        value=number(element, "value", -1.0),
        unit=element.get("unit", ""),
        height_m=number(element, "height", 0.0),
        width_m=number(element, "width", 0.0),
        name=element.get("name", ""),
        validities=_validities(element),
    )


def _reference(element: Element, road: int) -> SignalReference:
    return SignalReference(
        element.get("id", ""), road, number(element, "s"), element.get("orientation", "none"), _validities(element)
    )


def _object(element: Element, road: int) -> RoadObject:
    local = element.findall("outline/cornerLocal") or element.findall("outlines/outline/cornerLocal")
    corners = [[number(c, "u"), number(c, "v"), number(c, "z", 0.0)] for c in local]
    return RoadObject(
        object_id=element.get("id", ""),
        name=element.get("name", ""),
        kind=element.get("type", ""),
        road=road,
        s_m=number(element, "s"),
        t_m=number(element, "t"),
        z_m=number(element, "zOffset", 0.0),
        heading_rad=number(element, "hdg", 0.0),
        orientation=element.get("orientation", "none"),
        length_m=number(element, "length", 0.0),
        width_m=number(element, "width", 0.0),
        height_m=number(element, "height", 0.0),
        outline=np.array(corners, dtype=np.float64).reshape(-1, 3),
    )


def _junction(element: Element) -> Junction:
    connections = tuple(
        Connection(
            integer(c, "incomingRoad"), integer(c, "connectingRoad"), c.get("contactPoint", "start"),
            tuple((integer(link, "from"), integer(link, "to")) for link in c.iterfind("laneLink")),
        )
        for c in element.iterfind("connection")
    )  # fmt: skip
    turns = sorted(element.iterfind("controller"), key=lambda c: number(c, "sequence", 0.0))
    return Junction(integer(element, "id"), connections, tuple(dict.fromkeys(c.get("id", "") for c in turns)))
