"""motorway: a closed motorway, three lanes each way, with one interchange below a country road's bridge.

Both carriageways are one road, so that its geometry is exact: lane 1 of each side is half of the median, lanes 2 to 4
carry traffic. The interchange is built once for each carriageway; the second time it is turned by 180 degrees.
"""

from __future__ import annotations

import math
from itertools import pairwise

from embedded_carla.maps.generator.alignment import Alignment, Corner, Pose, connection, through
from embedded_carla.maps.generator.builder import FLAT, Arm, TownBuilder, hermite, join
from embedded_carla.maps.generator.course import cubics, station_near
from embedded_carla.maps.generator.cross_section import EDGE, LANE_LINE, NO_MARK, Profile, constant
from embedded_carla.maps.generator.model import Cubic, Junction, Lane, MapObject, Mark, Road, Section, Town
from embedded_carla.maps.generator.roundabout import REACH_M, roundabout
from embedded_carla.maps.generator.signs import speed_sign

_LOOP = (
    Corner(2500.0, 1300.0, 420.0, 120.0),
    Corner(100.0, 1500.0, 600.0, 140.0),
    Corner(-100.0, 0.0, 450.0, 120.0),
    Corner(2500.0, 0.0, 500.0, 120.0),
)
_CENTRE = Pose(1200.0, 0.0, 0.0)  # of the interchange, on the level straight from the third corner to the fourth
_ZONES = ((-600.0, -520.0), (-280.0, -220.0), (220.0, 280.0), (520.0, 600.0))  # junctions, along that straight
_OPENING_M = 60.0  # length over which a slip lane widens

LANE_M, MEDIAN_M, SHOULDER_M = 3.5, 2.0, 2.5
_FIRST, _LAST, _SLIP = 2, 4, 5  # driving lanes; the slip lane where there is one
_EDGE_M = MEDIAN_M + 3 * LANE_M  # from the middle to the outer edge of the driving lanes
SIDE = Profile(lanes=4, lane_m=LANE_M, side_m=SHOULDER_M, pavement_m=0.0)
RAMP = Profile(lanes=1, lane_m=LANE_M, centre="solid", side_m=1.5, pavement_m=0.0, one_way=True)
BRIDGE = Profile(lanes=1, lane_m=LANE_M, centre="solid", side_m=1.5, pavement_m=0.0)
RING = Profile(lanes=1, lane_m=LANE_M, centre="solid", side_m=1.5, pavement_m=0.0, one_way=True)
_BRIDGE_Z_M = 6.5
_RING_M = 90.0  # from the motorway's middle to the middle of each roundabout


def build() -> Town:
    """Build the town; the result is the same each time."""
    town = TownBuilder(Town("motorway", 50.1, 8.6))
    loop = through(_LOOP, closed=True)
    stations = [(_station(loop, a), _station(loop, b)) for a, b in _ZONES]
    length = loop.length_m
    flat = (stations[0][0] - 50.0, stations[-1][1] + 50.0)
    knots = [(0.0, 14.0), (0.13 * length, 4.0), (0.3 * length, 10.0), (flat[0], 0.0), (flat[1], 0.0),
             (0.9 * length, 8.0), (length, 14.0)]  # fmt: skip
    stops = [0.0, 0.2 * length, stations[0][0]]
    before = [_open_road(town, loop, knots, a, b, kmh) for (a, b), kmh in zip(pairwise(stops), (120, 100), strict=True)]
    inner = [
        _slip_road(town, loop, stations[0][1], stations[1][0], decelerate_right=True),
        _open_road(town, loop, knots, stations[1][1], stations[2][0], 120),
        _slip_road(town, loop, stations[2][1], stations[3][0], decelerate_right=False),
    ]
    stops = [stations[-1][1], 0.88 * length, length]
    after = [_open_road(town, loop, knots, a, b, kmh) for (a, b), kmh in zip(pairwise(stops), (120, 120), strict=True)]
    for first, second in pairwise([*after, *before]):
        join(first, second)
    main = [before[-1], *inner, after[0]]
    junctions = [town.junction(f"zone {i}") for i in range(4)]
    for i, junction in enumerate(junctions):
        _carriageways(town, junction, main[i], main[i + 1], slip_side=_slip_side(i), ends=i in (0, 3))
    _interchange(town, junctions, main)
    return town.town


def _station(loop: Alignment, ahead_m: float) -> float:
    point = _CENTRE.moved(ahead_m)
    return station_near(loop, point.x, point.y)


def _slip_side(zone: int) -> tuple[bool, bool]:
    """For the right and the left carriageway, whether a slip lane replaces the shoulder in this zone."""
    return (zone in (1, 2, 3), zone in (0, 1, 2))


def _side(sign: int, slip: Lane | None) -> dict[int, Lane]:
    """One carriageway: half the median, three lanes, the slip lane if there is one, and the shoulder."""
    lanes = {sign: Lane("median", constant(MEDIAN_M), (Mark("solid", "yellow", width_m=0.15),))}
    for k in range(_FIRST, _LAST + 1):
        mark = LANE_LINE if k < _LAST or slip else EDGE
        lanes[sign * k] = Lane("driving", constant(LANE_M), (mark,))
    if slip:
        lanes[sign * _SLIP] = slip
    lanes[sign * (_SLIP + 1 if slip else _SLIP)] = Lane("shoulder", constant(SHOULDER_M))
    return lanes


def _open_road(
    town: TownBuilder, loop: Alignment, knots: list[tuple[float, float]], s0: float, s1: float, kmh: float
) -> Road:
    part = loop.between(s0, s1)
    section = Section(0.0, {0: Lane("none"), **_side(1, None), **_side(-1, None)})
    name = f"motorway from {s0:.0f}"
    road = town.street(name, part, SIDE, kmh, cubics(knots, s0, s1), sections=[section], kind="motorway")
    _furnish(town, road, kmh, _EDGE_M + SHOULDER_M)
    return road


def _furnish(town: TownBuilder, road: Road, kmh: float, edge_m: float) -> None:
    length = road.alignment.length_m
    for s, left in ((15.0, False), (length - 15.0, True)):
        speed_sign(town, road, s, edge_m, kmh, _LAST, left=left)
    _guard_rails(town, road, edge_m)


def _guard_rails(town: TownBuilder, road: Road, edge_m: float) -> None:
    """Add one rail in the median and one outside each carriageway."""
    length = road.alignment.length_m
    for t in (-edge_m - 0.4, 0.0, edge_m + 0.4):
        repeat = (0.0, length, t)
        rail = MapObject(town.new_id(), "GuardRail", "barrier", 0.0, t, 0.0, "none", length, 0.3, (), 0.8, repeat)
        road.objects.append(rail)


def _slip_road(town: TownBuilder, loop: Alignment, s0: float, s1: float, *, decelerate_right: bool) -> Road:
    """Add the level motorway with a slip lane on both sides.

    On one side the slip lane opens for traffic that leaves the motorway; on the other it continues the ramp from the
    country road. Traffic on the right drives in the direction of the stations, on the left against it.
    """
    part = loop.between(s0, s1)
    length = part.length_m
    line = (LANE_LINE,)
    opening_right = hermite(_OPENING_M, 0.0, LANE_M)[0]
    whole: tuple[Cubic, ...] = constant(LANE_M)
    right: tuple[Cubic, ...]
    left: tuple[Cubic, ...]
    if decelerate_right:
        right, left = (opening_right, (_OPENING_M, LANE_M, 0.0, 0.0, 0.0)), whole
    else:
        begin = length - _OPENING_M
        _, a, b, c, d = hermite(_OPENING_M, LANE_M, 0.0)[0]
        right, left = whole, ((0.0, LANE_M, 0.0, 0.0, 0.0), (begin, a, b, c, d))
    lanes = {
        0: Lane("none"),
        **_side(1, Lane("driving", left, (EDGE,))),
        **_side(-1, Lane("driving", right, (EDGE,))),
    }
    for sign in (1, -1):
        lanes[sign * _LAST].marks = line
    road = town.street(f"slip lanes {s0:.0f}", part, SIDE, 100.0, FLAT, sections=[Section(0.0, lanes)], kind="motorway")
    _guard_rails(town, road, _EDGE_M + LANE_M + SHOULDER_M)
    return road


def _carriageways(
    town: TownBuilder, junction: Junction, first: Road, second: Road, *, slip_side: tuple[bool, bool], ends: bool
) -> None:
    """Add the lanes that go straight on through a zone, for both carriageways, marked as outside the zone."""
    arms = Arm(first, "end", SIDE), Arm(second, "start", SIDE)
    for (source, target), slip in zip((arms, arms[::-1]), slip_side, strict=True):
        own = {0: Lane("none"), **{i: lane for i, lane in _side(-1, None).items() if not slip or i >= -_LAST}}
        if slip:
            own[-_LAST].marks = (NO_MARK,)
        for k in range(1, len(own)):
            own[-k].predecessor, own[-k].successor = source.incoming(k), target.outgoing(k)
        if not slip and ends:  # the shoulder gets another id if a slip lane begins
            own[-_SLIP].predecessor = source.incoming(_shoulder(source))
            own[-_SLIP].successor = target.outgoing(_shoulder(target))
        path = connection(source.into, target.into.moved(0.0, 0.0, math.pi))
        town.lay_through(junction, source, target, path, Section(0.0, own), 120.0)


def _shoulder(arm: Arm) -> int:
    lanes = arm.road.sections[0].lanes
    return next(k for k in (_SLIP, _SLIP + 1) if lanes[arm.incoming(k)].kind == "shoulder")


def _interchange(town: TownBuilder, junctions: list[Junction], main: list[Road]) -> None:
    south = _ring_arms(town, junctions, main, turned=False)
    north = _ring_arms(town, junctions[::-1], main[::-1], turned=True)
    reach = _RING_M - REACH_M
    start = _CENTRE.moved(0.0, -reach, math.pi / 2.0)
    bridge = town.street("bridge", connection(start, start.moved(2.0 * reach)), BRIDGE, 70.0, _level(), kind="rural")
    south.append(Arm(bridge, "start", BRIDGE))
    north.append(Arm(bridge, "end", BRIDGE))
    for name, left, arms in (("south", -_RING_M, south), ("north", _RING_M, north)):
        middle = _CENTRE.moved(0.0, left)
        roundabout(town, name, middle.x, middle.y, _BRIDGE_Z_M, arms, RING)


def _level() -> tuple[Cubic, ...]:
    return ((0.0, _BRIDGE_Z_M, 0.0, 0.0, 0.0),)


def _ring_arms(town: TownBuilder, junctions: list[Junction], main: list[Road], *, turned: bool) -> list[Arm]:
    """Add the ramps of one carriageway, between the motorway and its roundabout; returns their ends at the roundabout.

    In the carriageway's own axes traffic runs along x and its roundabout lies at y = -_RING_M.
    """
    origin = _CENTRE.moved(0.0, 0.0, math.pi if turned else 0.0)
    last, first = ("start", "end") if turned else ("end", "start")
    leave_x, join_x = _ZONES[1], _ZONES[2]
    drift, span = math.radians(6.0), leave_x[1] - leave_x[0]
    aside = -_EDGE_M - 0.5 * span * math.tan(drift)
    leaving = origin.moved(leave_x[1], aside, -drift)
    joining = origin.moved(join_x[0], aside, drift)

    ends = [(-REACH_M, -_RING_M), (-85.0, -_RING_M), (-165.0, aside - 55.0 * math.tan(drift)), (leave_x[1], aside)]
    points = [origin.moved(x, y) for x, y in ends]
    down = through([Corner(p.x, p.y, 70.0) for p in reversed(points)])
    points = [origin.moved(-x, y) for x, y in ends]
    up = through([Corner(p.x, p.y, 70.0) for p in points])
    name = "north" if turned else "south"
    off = town.street(f"off-ramp {name}", down, RAMP, 60.0, hermite(down.length_m, 0.0, _BRIDGE_Z_M), kind="motorway")
    on = town.street(f"on-ramp {name}", up, RAMP, 80.0, hermite(up.length_m, _BRIDGE_Z_M, 0.0), kind="motorway")
    speed_sign(town, off, 15.0, RAMP.half_m + RAMP.side_m, 60.0, 1)

    before, after = Arm(main[1], last, SIDE), Arm(main[3], first, SIDE)
    slip_start, slip_end = origin.moved(leave_x[0], -_EDGE_M), origin.moved(join_x[1], -_EDGE_M)
    _ramp_link(town, junctions[1], before, _SLIP, Arm(off, "start", RAMP), 1, connection(slip_start, leaving))
    _ramp_link(town, junctions[2], Arm(on, "end", RAMP), 1, after, _SLIP, connection(joining, slip_end))
    merge_start, merge_end = (
        origin.moved(_ZONES[3][0], -_EDGE_M),
        origin.moved(_ZONES[3][1], -_EDGE_M + LANE_M),
    )
    merge = connection(merge_start, merge_end)
    _ramp_link(town, junctions[3], Arm(main[3], last, SIDE), _SLIP, Arm(main[4], first, SIDE), _LAST, merge)
    return [Arm(off, "end", RAMP), Arm(on, "start", RAMP)]


def _ramp_link(
    town: TownBuilder, junction: Junction, source: Arm, lane_in: int, target: Arm, lane_out: int, path: Alignment
) -> None:
    """Add one lane and its shoulder, from lane `lane_in` of `source` to `lane_out` of `target`."""
    own = {0: Lane("none"), -1: Lane("driving", constant(LANE_M), (EDGE,))}
    w0, w1 = (SHOULDER_M if arm.profile is SIDE else RAMP.side_m for arm in (source, target))
    own[-2] = Lane("shoulder", hermite(path.length_m, w0, w1))
    for k in (1, 2):
        own[-k].predecessor, own[-k].successor = source.incoming(lane_in + k - 1), target.outgoing(lane_out + k - 1)
    town.lay_through(junction, source, target, path, Section(0.0, own), 80.0)
