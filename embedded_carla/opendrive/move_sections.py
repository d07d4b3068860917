"""Moves a lane section along its road, with the lane offset that belongs to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from embedded_carla.opendrive.cubics import cubics
from embedded_carla.opendrive.mend_links import lanes_of
from embedded_carla.opendrive.read import number

Element = Any

COINCIDENT_M = 1e-9
"""Minimum distance between the starts of two lane sections that the wheel's parser can distinguish, m."""


def move_section(road: Element, before: Element, section: Element, s: float) -> None:
    """Move a lane section, which follows `before`, to `s`.

    The lane offset that begins with the section is moved too, unless this makes the sideways jump of lanes larger.
    """
    start = number(section, "s")
    section.set("s", repr(s))
    offsets = road.findall("lanes/laneOffset")
    own = [offset for offset in offsets if abs(number(offset, "s", 0.0) - start) <= COINCIDENT_M]
    if not own or (start <= COINCIDENT_M and len(own) == 1):  # a single one at s=0 is for the first section
        return
    earlier = [offset for offset in offsets if not any(offset is one for one in own)]
    old_m, new_m = _value(earlier, "s", s), number(own[-1], "a", 0.0)
    shifts_m = _shifts_m(before, section)
    if start > COINCIDENT_M and _furthest(shifts_m, new_m - old_m) > _furthest(shifts_m, 0.0):
        return
    own[-1].set("s", repr(s))
    for offset in offsets:
        if offset is not own[-1] and s <= number(offset, "s", 0.0) <= start + COINCIDENT_M:
            offset.getparent().remove(offset)


def _furthest(shifts_m: list[float], offset_m: float) -> float:
    return max((abs(shift_m + offset_m) for shift_m in shifts_m), default=0.0)


def _shifts_m(before: Element, section: Element) -> list[float]:
    """The shift of each linked lane's centre to the left, from `before` to `section`, with equal lane offsets, m."""
    old, new = _centres_m(before, number(section, "s") - number(before, "s")), _centres_m(section, 0.0)
    links = {lane_id: lane.find("link/successor") for lane_id, lane in lanes_of(before).items()}
    return [
        new[link.get("id")] - old[lane_id]
        for lane_id, link in links.items()
        if lane_id in old and link is not None and link.get("id") in new
    ]


def _centres_m(section: Element, ds_m: float) -> dict[str, float]:
    """Lateral position of each lane's centre by lane id, left positive, `ds_m` after the start of the section."""
    centres: dict[str, float] = {}
    for side, sign in (("left", 1.0), ("right", -1.0)):
        edge_m = 0.0
        for lane in sorted(section.iterfind(f"{side}/lane"), key=lambda lane: abs(number(lane, "id"))):
            width_m = _value(lane.findall("width"), "sOffset", ds_m)
            centres[lane.get("id")] = sign * (edge_m + 0.5 * width_m)
            edge_m += width_m
    return centres


def _value(records: list[Element], key: str, at_m: float) -> float:
    """Value at `at_m` of the profile that these records describe; 0 without records."""
    return float(cubics([_row(record, key) for record in records])(np.array(at_m)))


def _row(record: Element, key: str) -> tuple[float, float, float, float, float]:
    start, a, b, c, d = (number(record, name, 0.0) for name in (key, "a", "b", "c", "d"))
    return start, a, b, c, d
