"""Changes to a map that may break a parser."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

from lxml import etree

Element = Any

_TAGS = (
    "road", "link", "predecessor", "successor", "type", "planView", "geometry", "line", "arc", "spiral", "poly3",
    "paramPoly3", "elevationProfile", "elevation", "lateralProfile", "superelevation", "lanes", "laneOffset",
    "laneSection", "left", "center", "right", "lane", "width", "border", "roadMark", "speed", "objects", "object",
    "outline", "cornerLocal", "signals", "signal", "signalReference", "validity", "junction", "connection", "laneLink",
    "controller", "control", "header",
)  # fmt: skip
_LANE_TYPES = ("driving", "bidirectional", "sidewalk", "shoulder", "none", "bus", "exit", "parking", "nonsense")
_WRONG = ("", "nan", "inf", "-inf", "-1", "1e5", "1e9", "-1e9", "1e308", "abc", "99999", "1e-320", "0x10", "+3", "1,5")
_LINK_KEYS = ("elementId", "incomingRoad", "connectingRoad", "from", "to", "id", "junction", "fromLane", "toLane")


def _sliver(rng: random.Random) -> float:
    """1e-3 to 1e-15 m."""
    return float(10.0 ** -rng.uniform(3.0, 15.0))


def _any(rng: random.Random, root: Element, *tags: str) -> Element | None:
    """An element: first its tag is chosen, so that rare ones are not rarely chosen."""
    there = {e.tag for e in root.iter() if isinstance(e.tag, str)} & set(tags or _TAGS)
    if not there:
        return None
    return rng.choice(list(root.iter(rng.choice(sorted(there)))))


def _drop(rng: random.Random, root: Element) -> None:
    element = _any(rng, root)
    if element is not None and element.getparent() is not None:
        element.getparent().remove(element)


def _drop_attribute(rng: random.Random, root: Element) -> None:
    element = _any(rng, root)
    if element is not None and element.attrib:
        del element.attrib[rng.choice(sorted(element.attrib))]


def _repeat(rng: random.Random, root: Element) -> None:
    element = _any(rng, root)
    if element is not None and element.getparent() is not None:
        element.addnext(copy.deepcopy(element))


def _reorder(rng: random.Random, root: Element) -> None:
    element = _any(rng, root, "OpenDRIVE", "road", "planView", "lanes", "left", "right", "junction", "elevationProfile")
    if element is not None:
        children = list(element)
        rng.shuffle(children)
        element[:] = children


def _rename(rng: random.Random, root: Element) -> None:
    element = _any(rng, root)
    if element is None:
        return
    if rng.random() < 0.5 or not element.attrib:
        element.tag = rng.choice((*_TAGS, "nonsense"))
        return
    key = rng.choice(sorted(element.attrib))
    element.set(rng.choice(("s", "a", "id", "nonsense", "length")), element.attrib.pop(key))


def _number(rng: random.Random, root: Element) -> tuple[Element, str, float] | None:
    """An element, and one of its attributes that is a number."""
    element = _any(rng, root)
    if element is None:
        return None
    keys = []
    for key in sorted(element.attrib):
        try:
            keys.append((key, float(element.get(key))))
        except ValueError:
            continue
    return (element, *rng.choice(keys)) if keys else None


def _change(rng: random.Random, root: Element) -> None:
    """Zero, shorten, turn round, shift by a sliver, or make a number senseless."""
    found = _number(rng, root)
    if found is None:
        return
    element, key, value = found
    kind = rng.randrange(6)
    new = {0: "0", 1: repr(value * rng.random()), 2: repr(-value), 3: repr(value + rng.choice((-1, 1)) * _sliver(rng)),
           4: repr(_sliver(rng)), 5: rng.choice(_WRONG)}[kind]  # fmt: skip
    element.set(key, new)


def _swap(rng: random.Random, root: Element) -> None:
    """Give an element another one's value."""
    first = _any(rng, root)
    if first is None or not first.attrib:
        return
    key = rng.choice(sorted(first.attrib))
    others = [e for e in root.iter(first.tag) if e.get(key) is not None]
    if others:
        first.set(key, rng.choice(others).get(key))


def _link(rng: random.Random, root: Element) -> None:
    """Link to something else."""
    element = _any(
        rng, root, "predecessor", "successor", "connection", "laneLink", "road", "validity", "signalReference"
    )
    if element is None:
        return
    if rng.random() < 0.2 and element.get("contactPoint") is not None:
        element.set("contactPoint", rng.choice(("start", "end", "", "middle")))
    elif rng.random() < 0.2 and element.get("elementType") is not None:
        element.set("elementType", rng.choice(("road", "junction", "")))
    else:
        keys = [key for key in _LINK_KEYS if element.get(key) is not None]
        if keys:
            ids = [e.get("id") for e in root.iter("road", "junction", "lane") if e.get("id") is not None]
            element.set(rng.choice(keys), rng.choice((rng.choice(ids or ["0"]), str(rng.randrange(-6, 12)))))


def _geometry(rng: random.Random, root: Element) -> None:
    """Put a sliver of any shape before, into or behind a piece; or give it another shape."""
    piece = _any(rng, root, "geometry")
    if piece is None or piece.getparent() is None:
        return
    try:
        s, length = float(piece.get("s")), float(piece.get("length"))
    except (TypeError, ValueError):
        return
    shape = _shape(rng, length)
    if rng.random() < 0.3:
        piece[:] = [shape]
        return
    sliver, size = copy.deepcopy(piece), rng.choice((0.0, _sliver(rng), _sliver(rng)))
    sliver.set("length", repr(size))
    if rng.random() < 0.5:
        sliver[:] = [shape]
    if rng.random() < 0.5:
        piece.set("s", repr(s + size))
        piece.set("length", repr(length - size))
        piece.addprevious(sliver)
    else:
        sliver.set("s", repr(s + length))
        piece.addnext(sliver)


def _shape(rng: random.Random, length: float) -> Element:
    size = rng.choice((0.0, 1e-12, 1e-6, 1e-3, 0.1, 1.0, 50.0, 1e6, _sliver(rng))) * rng.choice((-1.0, 1.0))
    kind = rng.choice(("line", "arc", "spiral", "poly3", "paramPoly3"))
    keys = {"line": (), "arc": ("curvature",), "spiral": ("curvStart", "curvEnd"), "poly3": tuple("abcd"),
            "paramPoly3": ("aU", "bU", "cU", "dU", "aV", "bV", "cV", "dV")}[kind]  # fmt: skip
    values = {key: repr(rng.choice((0.0, size, length, 1.0))) for key in keys}
    if kind == "paramPoly3" and rng.random() < 0.7:
        values["pRange"] = rng.choice(("normalized", "arcLength", "nonsense"))
    return etree.Element(kind, values)


def _section(rng: random.Random, root: Element) -> None:
    """Put a thin lane section at a section's start or at the road's end, often with a lane offset of its own."""
    section = _any(rng, root, "laneSection")
    if section is None:
        return
    road = next(section.iterancestors("road"), None)
    if road is None or road.find("lanes") is None:
        return
    made, size = copy.deepcopy(section), rng.choice((0.0, _sliver(rng), _sliver(rng)))
    try:
        s = float(section.get("s")) if rng.random() < 0.5 else float(road.get("length"))
    except (TypeError, ValueError):
        return
    at = s + size if rng.random() < 0.3 else s - size
    made.set("s", repr(at))
    section.addnext(made)
    if rng.random() < 0.6:
        values = {"s": repr(rng.choice((at, s, at + size))), "a": repr(rng.choice((3.5, -3.5, 0.0)))}
        values |= dict.fromkeys("bcd", "0")
        road.find("lanes").insert(rng.randrange(2), etree.Element("laneOffset", values))
    if rng.random() < 0.3:
        lanes = [lane for lane in made.iter("lane") if lane.get("id") != "0"]
        if lanes:
            lane = rng.choice(lanes)
            lane.getparent().remove(lane)


def _lane(rng: random.Random, root: Element) -> None:
    lane = _any(rng, root, "lane")
    if lane is not None:
        key, values = rng.choice((("type", _LANE_TYPES), ("id", tuple(map(str, range(-5, 6))))))
        lane.set(key, rng.choice(values))


_KINDS: tuple[tuple[Callable[[random.Random, Element], None], int], ...] = (
    (_drop, 3), (_drop_attribute, 2), (_repeat, 2), (_reorder, 1), (_rename, 2), (_change, 5), (_swap, 2), (_link, 3),
    (_geometry, 4), (_section, 4), (_lane, 2),
)  # fmt: skip


def mutate(rng: random.Random, root: Element) -> str:
    """The text of the map after one to four changes, made in place."""
    kinds, weights = zip(*_KINDS, strict=True)
    for change in rng.choices(kinds, weights, k=rng.choice((1, 1, 1, 2, 3, 4))):
        change(rng, root)
    return str(etree.tostring(root, encoding="unicode"))
