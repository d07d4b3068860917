"""Repairs along one road: `carla.Map` crashes unless everything is defined from s = 0 to the road's end."""

from __future__ import annotations

import math
from typing import Any

from embedded_carla.opendrive.mend_links import lanes_of
from embedded_carla.opendrive.move_sections import COINCIDENT_M, move_section
from embedded_carla.opendrive.read import number

Element = Any
SLIVER_M = 1e-3
"""Length given to a lane section of zero length at a road's start or end."""
MOST_START_M = 0.1
"""Longest undefined part at the start of a road that is repaired, m; a road that begins later is refused."""

MOST_FRESNEL = 3.0e4
"""Largest argument of the Fresnel integrals for which a spiral is kept.

The wheel's integrals are constant above 36,974, and a spiral would end metres from its true end."""


def mend_spirals(road: Element, said: list[str]) -> None:
    """Replace spirals of almost constant curvature, for which the wheel computes NaN or a wrong position.

    The arc or line with the mean curvature deviates from the spiral by at most curvature^2 length^3 / 1.7e10: 5 um for
    200 m with a radius of 10 m.
    """
    for piece in road.findall("planView/geometry"):
        spiral = piece.find("spiral")
        length = number(piece, "length")
        if spiral is None or length <= 0.0:
            continue
        start, end = number(spiral, "curvStart"), number(spiral, "curvEnd")
        rate = abs(end - start) / length
        if rate and max(abs(start), abs(end)) < MOST_FRESNEL * math.sqrt(math.pi * rate):
            continue
        curvature = (start + end) / 2.0
        shape = ("arc", {"curvature": repr(curvature)}) if curvature else ("line", {})
        piece.replace(spiral, piece.makeelement(*shape))
        said.append(
            f"road {road.get('id')}: a spiral of constant curvature at s={number(piece, 's'):g}, now {shape[0]}"
        )


def mend_plan_view(road: Element, said: list[str]) -> None:
    """Extend the plan view to s = 0. Raises ValueError if a longer part is missing."""
    pieces = road.findall("planView/geometry")
    first = min(pieces, key=lambda piece: number(piece, "s"))
    start = number(first, "s")
    if start <= 0.0:
        return
    _refuse_late(road, "geometry", start)
    if start > COINCIDENT_M:
        _put_line_before(first, start)
    else:
        first.set("s", "0")
    said.append(f"road {road.get('id')}: its plan view begins at s={start:g}, extended to s=0")


def _put_line_before(first: Element, length: float) -> None:
    x, y, heading = (number(first, key) for key in ("x", "y", "hdg"))
    line = first.makeelement("geometry", {
        "s": "0", "x": repr(x - length * math.cos(heading)), "y": repr(y - length * math.sin(heading)),
        "hdg": repr(heading), "length": repr(length),
    })  # fmt: skip
    line.append(line.makeelement("line", {}))
    first.addprevious(line)


def _refuse_late(road: Element, what: str, start: float) -> None:
    if start > MOST_START_M:
        raise ValueError(f"road {road.get('id')}: its first {what} begins at s={start:g}, not at s=0")


def mend_profiles(road: Element, said: list[str]) -> None:
    """Extend the profiles of lane offset, elevation and lane width to the start of the road or section."""
    _mend_profile(road, road.findall("lanes/laneOffset"), "s", said, before=0.0)
    _mend_profile(road, road.findall("elevationProfile/elevation"), "s", said)
    for lane in road.iterfind("lanes/laneSection/*/lane"):
        for tag in ("width", "border"):
            _mend_profile(road, lane.findall(tag), "sOffset", said)


def _mend_profile(
    road: Element, records: list[Element], key: str, said: list[str], before: float | None = None
) -> None:  # fmt: skip
    """Insert a constant before the first record: `before`, or the value at the start of that record."""
    if not records:
        return
    first = min(records, key=lambda record: number(record, key, 0.0))
    start = number(first, key, 0.0)
    if start <= 0.0:
        return
    if start <= SLIVER_M:
        first.set(key, "0")
    else:
        value = number(first, "a", 0.0) if before is None else before
        first.addprevious(first.makeelement(first.tag, {key: "0", "a": repr(value), "b": "0", "c": "0", "d": "0"}))
    said.append(f"road {road.get('id')}: its first {first.tag} begins at {key}={start:g}, extended to 0")


def mend_sections(road: Element, said: list[str]) -> None:
    """Sort the lane sections, start the first at s = 0, and remove or lengthen those of zero length.

    Raises ValueError if that fails.
    """
    lanes, length = road.find("lanes"), number(road, "length")
    sections = lanes.findall("laneSection")
    ordered = sorted(sections, key=lambda section: number(section, "s"))
    if ordered != sections:
        for section in ordered:
            lanes.append(section)
        said.append(f"road {road.get('id')}: lane sections put in order of s")
    _mend_first_start(road, ordered[0], said)
    _mend_first_length(road, ordered, length, said)
    _merge_coincident(road, ordered, said)
    _mend_last(road, ordered, length, said)


def _mend_first_start(road: Element, first: Element, said: list[str]) -> None:
    start = number(first, "s")
    if start == 0.0:
        return
    _refuse_late(road, "laneSection", abs(start))
    first.set("s", "0")
    said.append(f"road {road.get('id')}: its first lane section begins at s={start:g}, moved to s=0")


def _mend_first_length(road: Element, ordered: list[Element], length: float, said: list[str]) -> None:
    """Give a first section of zero length a length, because roads and junctions are linked to its lanes.

    A section without links to the next is merged with it instead: with a length, its lanes would be dead ends.
    """
    if len(ordered) < 2 or number(ordered[1], "s") > COINCIDENT_M:
        return
    end = number(ordered[2], "s") if len(ordered) > 2 else length
    if end > 2.0 * SLIVER_M and _is_linked(ordered[0], ordered[1]):
        move_section(road, ordered[0], ordered[1], SLIVER_M)
        said.append(f"road {road.get('id')}: two lane sections at s=0, the second moved to s={SLIVER_M:g}")


def _merge_coincident(road: Element, ordered: list[Element], said: list[str]) -> None:
    """Keep only the last of several sections with the same s; links through removed sections are joined."""
    for i in range(len(ordered) - 2, -1, -1):
        if number(ordered[i + 1], "s") - number(ordered[i], "s") > COINCIDENT_M:
            continue
        _bridge(ordered[i - 1] if i else None, ordered[i], ordered[i + 1])
        if i == 0:
            ordered[1].set("s", "0")
        dropped = ordered.pop(i)
        dropped.getparent().remove(dropped)
        said.append(f"road {road.get('id')}: two lane sections at s={ordered[i].get('s')}, the first removed")


def _mend_last(road: Element, ordered: list[Element], length: float, said: list[str]) -> None:
    """Give a last section of zero length a length, because roads and junctions are linked to its lanes.

    A section without links from the one before is removed instead: with a length, its lanes would be dead ends.
    """
    last = ordered[-1]
    start = number(last, "s")
    if length - start > COINCIDENT_M:
        return
    if start - length > SLIVER_M:
        raise ValueError(f"road {road.get('id')}: a laneSection begins at s={start:g}, the road ends at s={length:g}")
    if not _is_linked(ordered[-2], last):
        last.getparent().remove(last)
        said.append(f"road {road.get('id')}: a lane section of no length at its end that no lane leads to, removed")
        return
    before = number(ordered[-2], "s")
    moved = max(length - SLIVER_M, 0.5 * (before + length))
    if min(moved - before, length - moved) <= COINCIDENT_M:
        raise ValueError(f"road {road.get('id')}: two laneSections begin at its end, s={length:g}")
    move_section(road, ordered[-2], last, moved)
    said.append(f"road {road.get('id')}: a lane section of no length at its end, moved to s={moved:g}")


def _is_linked(before: Element, after: Element) -> bool:
    """Whether a lane leads from one section to the next."""
    forward = any(_linked(lane, "successor") in lanes_of(after) for lane in lanes_of(before).values())
    return forward or any(_linked(lane, "predecessor") in lanes_of(before) for lane in lanes_of(after).values())


def _bridge(before: Element | None, dropped: Element, kept: Element) -> None:
    """Redirect the links that went through the dropped section to the lanes beyond it."""
    forward = {i: _linked(lane, "successor") for i, lane in lanes_of(dropped).items()}
    backward = {i: _linked(lane, "predecessor") for i, lane in lanes_of(dropped).items()}
    for lanes, tag, across in (
        ({} if before is None else lanes_of(before), "successor", forward), (lanes_of(kept), "predecessor", backward),
    ):  # fmt: skip
        for lane in lanes.values():
            link = lane.find(f"link/{tag}")
            target = None if link is None else across.get(link.get("id"))
            if link is not None and target is not None:
                link.set("id", target)


def _linked(lane: Element, tag: str) -> str | None:
    link = lane.find(f"link/{tag}")
    return None if link is None else link.get("id")
