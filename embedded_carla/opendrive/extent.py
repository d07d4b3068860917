"""Refuses roads that are too large: building their surface would take hours and all memory."""

from __future__ import annotations

import numpy as np

from embedded_carla.errors import MapError
from embedded_carla.opendrive.cubics import Float
from embedded_carla.opendrive.network import LaneSection, Road, RoadNetwork

FARTHEST_M, WIDEST_M, HIGHEST_M, LONGEST_JUMP_M = 1.0e6, 1000.0, 1.0e5, 1000.0
LARGEST_M2 = 1.0e9
"""Largest area of the rectangle around a map, m^2. The memory that the scenery takes grows with it."""

_STEP_M = 10.0
_FEWEST = 5  # stations per lane section
_BEFORE_M = 1e-3  # distance before a profile's end at which it is sampled


def refuse_extent(network: RoadNetwork) -> None:
    """Raise MapError if a road or the map is too large; it names the road, or the map's size."""
    corners = []
    for road in network.roads.values():
        with np.errstate(all="ignore"):  # non-finite values are refused below
            points = np.concatenate([_points(road, section) for section in road.sections])
        where = f"map {network.name}: road {road.road_id}"
        if not np.all(np.isfinite(points)) or np.max(np.abs(points[:, :2])) > FARTHEST_M + WIDEST_M:
            raise MapError(f"{where} reaches more than {FARTHEST_M / 1e3:g} km from the origin")
        if np.max(np.abs(points[:, 2])) > HIGHEST_M:
            raise MapError(f"{where} reaches a height of more than {HIGHEST_M / 1e3:g} km")
        if np.max(np.abs(points[:, 3])) > WIDEST_M:
            raise MapError(f"{where} is wider than {WIDEST_M:g} m")
        steps = np.hypot(*np.diff(points[:, :2], axis=0).T)
        if len(steps) and steps.max() > LONGEST_JUMP_M:
            raise MapError(f"{where} jumps by {steps.max():.0f} m, at most {LONGEST_JUMP_M:g} m are possible")
        corners += [points[:, :2].min(axis=0), points[:, :2].max(axis=0)]
    if corners:
        size = np.max(corners, axis=0) - np.min(corners, axis=0)
        if float(np.prod(size)) > LARGEST_M2:
            raise MapError(
                f"map {network.name}: it is {size[0] / 1e3:.0f} km by {size[1] / 1e3:.0f} km, which is too large"
            )


def _points(road: Road, section: LaneSection) -> Float:
    """Stations of a section, (n, 4): x and y of the reference line, largest absolute height, largest absolute t."""
    length_m = section.end_m - section.s_m
    profiles = [road.elevation, road.superelevation, road.offset, *(lane.width for lane in section.lanes.values())]
    knots = np.concatenate([[p.s_m for p in road.plan.pieces], *(p.start for p in profiles)])
    even = np.linspace(section.s_m, section.end_m, max(int(length_m / _STEP_M), _FEWEST))
    ends = np.unique(np.concatenate([even, knots[(knots >= section.s_m) & (knots <= section.end_m)]]))
    between = [0.5 * (ends[1:] + ends[:-1]), np.maximum(ends[1:] - _BEFORE_M, ends[:-1])]
    s = np.unique(np.concatenate([ends, *between]))
    reference, _ = road.reference(s)
    _, t = road.borders(section, s)
    rise = np.abs(np.tan(road.superelevation(s))) * np.max(np.abs(t), axis=0)
    return np.column_stack([reference[:, :2], np.abs(reference[:, 2]) + rise, np.max(np.abs(t), axis=0)])
