"""country_road: a winding loop of 4 km and more over hills, with a village on the way."""

from __future__ import annotations

import math
from itertools import pairwise

from embedded_carla.maps.generator.alignment import Alignment, Corner, Pose, through
from embedded_carla.maps.generator.builder import Arm, TownBuilder, join
from embedded_carla.maps.generator.course import centre_marks, cubics, station_near
from embedded_carla.maps.generator.cross_section import Profile, street_section
from embedded_carla.maps.generator.crossing import CORNER_RADIUS_M, STRAIGHT_M, Control, cross
from embedded_carla.maps.generator.model import Cubic, MapObject, Road, Town
from embedded_carla.maps.generator.signs import speed_sign

_LOOP = (
    Corner(1300.0, 260.0, 90.0, 40.0),
    Corner(1250.0, 560.0, 120.0, 40.0),
    Corner(900.0, 640.0, 300.0, 30.0),
    Corner(700.0, 480.0, 45.0, 20.0),
    Corner(520.0, 700.0, 40.0, 20.0),
    Corner(150.0, 640.0, 200.0, 40.0),
    Corner(80.0, 380.0, 60.0, 30.0),
    Corner(-150.0, 300.0, 60.0, 30.0),
    Corner(-220.0, -60.0, 70.0, 30.0),
    Corner(0.0, 0.0, 120.0, 30.0),
    Corner(450.0, -60.0, 80.0, 30.0),
    Corner(620.0, -330.0, 60.0, 25.0),
    Corner(950.0, -380.0, 150.0, 40.0),
    Corner(1150.0, -180.0, 100.0, 40.0),
    Corner(1080.0, 60.0, 50.0, 25.0),
)
_VILLAGE_FROM, _VILLAGE_TO = 9, 10  # the village is on the leg between these corners
_GATE_M = (95.0, 375.0)  # start and end of the village along this leg
_FORKS_M = (140.0, 330.0)  # its T-junctions along this leg
_BACK_STREET_M = 85.0  # distance of the back street from the main street

RURAL = Profile(lanes=1, lane_m=3.25, centre="broken", side_m=1.5, pavement_m=0.0)
VILLAGE = Profile(lanes=1, lane_m=3.25, centre="solid", pavement_m=2.0)
_VILLAGE_Z_M = 6.0
_HILLS = (  # share of the loop, height
    (0.0, 12.0), (0.08, 24.0), (0.14, 16.0), (0.22, 34.0), (0.29, 20.0), (0.36, 16.0), (0.42, 4.0), (0.48, 10.0),
)  # fmt: skip
_HILLS_AFTER = ((0.76, 18.0), (0.84, 6.0), (0.92, 16.0), (1.0, 12.0))
_BANKS = {2: 0.05, 4: 0.05, 12: 0.04}  # superelevation by corner, as a tangent


def build() -> Town:
    """Build the town; the result is the same each time."""
    town = TownBuilder(Town("country_road", 48.4, 8.1))
    loop = through(_LOOP, closed=True)
    a, b = _LOOP[_VILLAGE_FROM], _LOOP[_VILLAGE_TO]
    leg = Pose(a.x, a.y, math.atan2(b.y - a.y, b.x - a.x))
    gates = [station_near(loop, leg.moved(d).x, leg.moved(d).y) for d in _GATE_M]
    forks = [station_near(loop, leg.moved(d).x, leg.moved(d).y) for d in _FORKS_M]
    length = loop.length_m
    knots = [(u * length, z) for u, z in _HILLS]
    knots += [(gates[0] - 60.0, _VILLAGE_Z_M), (gates[1] + 60.0, _VILLAGE_Z_M)]
    knots += [(u * length, z) for u, z in _HILLS_AFTER]

    stops = [0.0, 0.17 * length, 0.30 * length, 0.44 * length, gates[0]]
    limits = [90.0, 70.0, 90.0, 70.0]
    before = [_rural(town, loop, knots, s0, s1, kmh) for (s0, s1), kmh in zip(pairwise(stops), limits, strict=True)]
    stops = [gates[1], 0.75 * length, 0.88 * length, length]
    limits = [70.0, 90.0, 80.0]
    after = [_rural(town, loop, knots, s0, s1, kmh) for (s0, s1), kmh in zip(pairwise(stops), limits, strict=True)]
    village = _village(town, loop, gates, forks)
    chain = [*after, *before]
    for first, second in zip([village[-1], *chain], [*chain, village[0]], strict=True):
        join(first, second)
    return town.town


def _rural(
    town: TownBuilder, loop: Alignment, knots: list[tuple[float, float]], s0: float, s1: float, kmh: float
) -> Road:
    part = loop.between(s0, s1)
    section = street_section(RURAL, part.length_m, False, False)
    section.lanes[0].marks = centre_marks(part, 130.0)
    name = f"country road from {s0:.0f}"
    road = town.street(name, part, RURAL, kmh, cubics(knots, s0, s1), sections=[section], kind="rural")
    banks = [bank for i in _BANKS for bank in _bank(loop, i) if s0 <= bank[0] <= s1]
    if banks:
        road.superelevation = cubics([(s0, 0.0), *banks, (s1, 0.0)], s0, s1)
    edge = RURAL.half_m + RURAL.side_m
    speed_sign(town, road, 10.0, edge, kmh, 1)
    speed_sign(town, road, part.length_m - 10.0, edge, kmh, 1, left=True)
    _guard_rails(town, road)
    return road


def _bank(loop: Alignment, corner: int) -> list[tuple[float, float]]:
    """Superelevation knots around a corner; the outside of the curve is higher."""
    s = station_near(loop, _LOOP[corner].x, _LOOP[corner].y)
    turn = loop.at(s + 1.0).heading_rad - loop.at(s - 1.0).heading_rad
    angle = -math.copysign(math.atan(_BANKS[corner]), turn)
    half = 0.5 * _LOOP[corner].radius_m
    return [(s - half - 30.0, 0.0), (s - 10.0, angle), (s + 10.0, angle), (s + half + 30.0, 0.0)]


def _guard_rails(town: TownBuilder, road: Road) -> None:
    """Add rails on the outside of curves with a radius of less than 65 m."""
    for piece, s in zip(road.alignment.pieces, road.alignment.stations_m, strict=False):
        k = piece.curvature_start
        if k == piece.curvature_end and abs(k) > 1.0 / 65.0:
            t = -math.copysign(RURAL.half_m + RURAL.side_m + 0.6, k)
            rail = MapObject(
                town.new_id(), "GuardRail", "barrier", s, t, 0.0, "none", piece.length_m, 0.3, (), 0.8,
                (s, piece.length_m, t),
            )  # fmt: skip
            road.objects.append(rail)


def _village(town: TownBuilder, loop: Alignment, gates: list[float], forks: list[float]) -> list[Road]:
    """Add the main street and the back street, joined at two T-junctions; returns the main street's parts in order."""
    setback = STRAIGHT_M + CORNER_RADIUS_M
    level: tuple[Cubic, ...] = ((0.0, _VILLAGE_Z_M, 0.0, 0.0, 0.0),)
    stops = [gates[0], forks[0] - setback, forks[0] + setback, forks[1] - setback, forks[1] + setback, gates[1]]
    main = []
    for i in range(3):
        part = loop.between(stops[2 * i], stops[2 * i + 1])
        ends = (i > 0, i < 2)
        road = town.street(f"main street {i}", part, VILLAGE, 50.0, level, ends_at_junctions=ends)
        main.append(road)
    edge = VILLAGE.half_m
    speed_sign(town, main[0], 3.0, edge, 50.0, 1)
    speed_sign(town, main[2], main[2].alignment.length_m - 3.0, edge, 50.0, 1, left=True)

    first, second = loop.at(forks[0]), loop.at(forks[1])
    outline = [first, first.moved(0.0, _BACK_STREET_M), second.moved(0.0, _BACK_STREET_M), second]
    whole = through([Corner(p.x, p.y, 20.0) for p in outline])
    path = whole.between(setback, whole.length_m - setback)
    back = town.street("back street", path, VILLAGE, 30.0, level)
    speed_sign(town, back, 12.0, edge, 30.0, 1)
    speed_sign(town, back, path.length_m - 12.0, edge, 30.0, 1, left=True)
    for i, (contact, kind) in enumerate((("start", "stop"), ("end", "yield"))):
        arms = [Arm(main[i], "end", VILLAGE), Arm(main[i + 1], "start", VILLAGE), Arm(back, contact, VILLAGE)]
        cross(town, f"fork {i}", arms, Control(kind, (2,)))
    return main
