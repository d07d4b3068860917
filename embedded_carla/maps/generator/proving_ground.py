"""proving_ground: roads that some scenario types need and the other towns lack, on 0.8 by 0.6 km.

A country road with T-junctions without lights runs round a town. The town has a street with parking lanes, two streets
with bicycle lanes, and a street with three lanes each way between lights. An expressway with slip roads runs round
everything.
"""

from __future__ import annotations

import math
from itertools import pairwise

from embedded_carla.maps.generator.alignment import Alignment, Corner, through
from embedded_carla.maps.generator.builder import FLAT, Arm, TownBuilder, turn_of
from embedded_carla.maps.generator.course import station_near
from embedded_carla.maps.generator.cross_section import Profile
from embedded_carla.maps.generator.crossing import CORNER_RADIUS_M, STRAIGHT_M, Control, cross
from embedded_carla.maps.generator.expressway import expressway
from embedded_carla.maps.generator.model import Cubic, Town
from embedded_carla.maps.generator.signs import speed_sign

TRUNK = Profile(lanes=1, lane_m=3.5, centre="broken", side_m=1.5, pavement_m=0.0)
AVENUE = Profile(lanes=3, lane_m=3.5, centre="solid solid", pavement_m=3.0)
STREET = Profile(lanes=1, lane_m=3.5, centre="broken")
PARKING = Profile(lanes=1, lane_m=3.5, centre="broken", parking_m=2.2)
BICYCLES = Profile(lanes=1, lane_m=3.5, centre="broken", bicycle_m=1.6)
_KMH = {TRUNK: 70.0, AVENUE: 50.0, STREET: 50.0, PARKING: 40.0, BICYCLES: 40.0}

_X_M, _Y_M = (0.0, 200.0, 500.0, 700.0), (0.0, 140.0, 280.0, 420.0)  # of the country road and of the streets
_TRUNK_RADIUS_M, _TRUNK_SPIRAL_M = 60.0, 20.0
_RAMPS_X_M = (300.0, 400.0)  # x at which the slip roads of the expressway meet the country road

Point = tuple[float, float]

_STREETS: tuple[tuple[Profile, tuple[Point, ...]], ...] = (  # each from crossing to crossing
    (STREET, ((0.0, 140.0), (200.0, 140.0))),
    (AVENUE, ((200.0, 140.0), (500.0, 140.0))),
    (STREET, ((500.0, 140.0), (700.0, 140.0))),
    (PARKING, ((0.0, 280.0), (200.0, 280.0), (500.0, 280.0), (700.0, 280.0))),
    (BICYCLES, ((200.0, 0.0), (200.0, 140.0), (200.0, 280.0), (200.0, 420.0))),
    (BICYCLES, ((500.0, 0.0), (500.0, 140.0), (500.0, 280.0))),
)
_CONTROLS = {(200.0, 140.0): "lights", (500.0, 140.0): "lights", (200.0, 280.0): "stop", (500.0, 280.0): "yield",
             (0.0, 140.0): "stop", (700.0, 280.0): "stop", (200.0, 0.0): "stop"}  # fmt: skip
"""Control of the junction at each place; all other junctions are "yield"."""


def build() -> Town:
    """Build the town; the result is the same each time."""
    town = TownBuilder(Town("proving_ground", 48.8, 8.9))
    arms: dict[Point, list[Arm]] = {}
    for profile, points in _STREETS:
        for a, b in pairwise(points):
            _street(town, arms, profile, a, b)
    ramps = expressway(town, _RAMPS_X_M, _Y_M[-1] + _setback(TRUNK))
    for x, arm in zip(_RAMPS_X_M, ramps, strict=True):
        arms[x, _Y_M[-1]] = [arm]
    _trunk(town, arms)
    for place, found in sorted(arms.items()):
        name = f"crossing {place[0]:.0f} {place[1]:.0f}"
        cross(town, name, found, Control(_CONTROLS.get(place, "yield"), _minor(found)))
    return town.town


def _minor(arms: list[Arm]) -> tuple[int, ...]:
    """Indices of the arms that give way: the side street of a T-junction; at a crossing, the street along x."""
    if len(arms) > 3:
        return tuple(i for i, arm in enumerate(arms) if abs(math.sin(arm.into.heading_rad)) < 0.5)
    side = (
        i for i, arm in enumerate(arms) if all(abs(turn_of(arm, other)) > 0.5 for other in arms if other is not arm)
    )
    return tuple(i for i in side if arms[i].leads_in)


def _setback(profile: Profile) -> float:
    """Distance from the middle of a crossing with a street of this profile at which another street ends."""
    return STRAIGHT_M + CORNER_RADIUS_M + (profile.lanes - 1) * profile.lane_m


def _crossing_profile(place: Point, street: tuple[Point, Point]) -> Profile:
    """The profile of the widest street that crosses `street` at a place."""
    is_along_x = street[0][1] == street[1][1]
    found = [
        profile for profile, points in _STREETS if place in points and (points[0][1] == points[1][1]) != is_along_x
    ]
    return max([TRUNK, *found], key=lambda profile: profile.lanes)


def _street(town: TownBuilder, arms: dict[Point, list[Arm]], profile: Profile, a: Point, b: Point) -> None:
    whole = through([Corner(*a, 0.0), Corner(*b, 0.0)])
    start_m, end_m = (_setback(_crossing_profile(place, (a, b))) for place in (a, b))
    _lay(town, arms, profile, whole.between(start_m, whole.length_m - end_m), (a, b))


def _lay(
    town: TownBuilder,
    arms: dict[Point, list[Arm]],
    profile: Profile,
    path: Alignment,
    ends: tuple[Point, Point],
    elevation: tuple[Cubic, ...] = FLAT,
) -> None:
    """Add a street between two crossings, with its speed signs."""
    kind = "rural" if profile is TRUNK else "town"
    name = f"{ends[0][0]:.0f} {ends[0][1]:.0f} to {ends[1][0]:.0f} {ends[1][1]:.0f}"
    road = town.street(name, path, profile, _KMH[profile], elevation, kind=kind)
    arms.setdefault(ends[0], []).append(Arm(road, "start", profile))
    arms.setdefault(ends[1], []).append(Arm(road, "end", profile))
    edge = profile.kerb_m + (profile.side_m if profile is TRUNK else 0.0)
    speed_sign(town, road, 10.0, edge, _KMH[profile], profile.lanes)
    speed_sign(town, road, path.length_m - 10.0, edge, _KMH[profile], profile.lanes, left=True)


def _trunk(town: TownBuilder, arms: dict[Point, list[Arm]]) -> None:
    """Add the country road: a rounded rectangle, cut where streets and slip roads join it."""
    (x0, x1), (y0, y1) = (_X_M[0], _X_M[-1]), (_Y_M[0], _Y_M[-1])
    corners = [Corner(x, y, _TRUNK_RADIUS_M, _TRUNK_SPIRAL_M) for x, y in ((x0, y0), (x1, y0), (x1, y1), (x0, y1))]
    loop = through(corners, closed=True)
    on_it = [place for place in arms if place[0] in (x0, x1) or place[1] in (y0, y1)]
    stations = sorted((station_near(loop, *place), place) for place in on_it)
    for (s0, a), (s1, b) in pairwise([*stations, (stations[0][0] + loop.length_m, stations[0][1])]):
        start_m, end_m = (s0 + _setback(arms[a][0].profile), s1 - _setback(arms[b][0].profile))
        _lay(
            town,
            arms,
            TRUNK,
            _part(loop, start_m, end_m),
            (a, b),
            _hill(end_m - start_m) if a[1] == b[1] == y0 else FLAT,
        )


def _part(loop: Alignment, s0_m: float, s1_m: float) -> Alignment:
    """A part of a closed line; it may contain the line's start."""
    if s1_m <= loop.length_m:
        return loop.between(s0_m, s1_m)
    first, second = loop.between(s0_m, loop.length_m), loop.between(0.0, s1_m - loop.length_m)
    return Alignment(first.poses[0], [*first.pieces, *second.pieces])


def _hill(length_m: float) -> tuple[Cubic, ...]:
    """A hill of 2 m in the middle of a road, level at its ends."""
    half = length_m / 2.0
    rise = (3.0 * 2.0 / half**2, -2.0 * 2.0 / half**3)
    return ((0.0, 0.0, 0.0, *rise), (half, 2.0, 0.0, -rise[0], -rise[1]))
