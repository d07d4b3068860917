"""A one-way expressway with two lanes, clockwise round a town, with one exit and one entry.

On the side of the interchange it runs straight along x. In the direction of traffic it has there: a road on which a
slip lane opens, the exit, a road, the entry, a road on which the slip lane continues, and the end of the slip lane.
"""

from __future__ import annotations

import math

from embedded_carla.maps.generator.alignment import Alignment, Corner, Pose, connection, through
from embedded_carla.maps.generator.builder import FLAT, Arm, TownBuilder, hermite
from embedded_carla.maps.generator.cross_section import EDGE, LANE_LINE, NO_MARK, Profile, constant
from embedded_carla.maps.generator.model import Cubic, Junction, Lane, Link, Mark, Road, Section
from embedded_carla.maps.generator.signs import speed_sign

LANE_M, SHOULDER_M, LEFT_M = 3.5, 2.5, 1.0
MAIN = Profile(lanes=2, lane_m=LANE_M, centre="solid", side_m=SHOULDER_M, pavement_m=0.0, one_way=True)
RAMP = Profile(lanes=1, lane_m=LANE_M, centre="solid", side_m=1.5, pavement_m=0.0, one_way=True)
_EDGE_M = 2 * LANE_M
_SLIP = 3  # number of the slip lane; on roads with a slip lane, the shoulder has the next number
_KMH, _RAMP_KMH = 90.0, 60.0

_WEST_M, _EAST_M, _SOUTH_M, _NORTH_M = -240.0, 940.0, -110.0, 560.0
_RADIUS_M, _SPIRAL_M = 90.0, 40.0
_SLIP_X_M = -70.0  # x at which the slip lane opens
_ZONES_X_M = ((120.0, 170.0), (530.0, 580.0), (750.0, 820.0))  # range of x: exit, entry, end of the slip lane
_OPENING_M = 60.0
_DRIFT_RAD = math.radians(6.0)


def expressway(town: TownBuilder, ramps_x_m: tuple[float, float], ramps_y_m: float) -> list[Arm]:
    """Add the expressway; returns the ends of the slip roads of its exit and entry, south of it at `ramps_y_m`."""
    corners = ((_WEST_M, _NORTH_M), (_EAST_M, _NORTH_M), (_EAST_M, _SOUTH_M), (_WEST_M, _SOUTH_M))
    loop = through([Corner(x, y, _RADIUS_M, _SPIRAL_M) for x, y in corners], closed=True)
    middle = loop.poses[0].x
    (exit0, exit1), (entry0, entry1), (end0, end1) = _ZONES_X_M
    around = _road(town, "around", loop.between(end1 - middle, loop.length_m + _SLIP_X_M - middle), ())
    leaving = _road(town, "before the exit", _straight(_SLIP_X_M, exit0), _opening())
    between = _road(town, "between the slip roads", _straight(exit1, entry0), ())
    joining = _road(town, "behind the entry", _straight(entry1, end0), constant(LANE_M))
    _widen(around, leaving)

    aside = _NORTH_M - _EDGE_M - 0.5 * (exit1 - exit0) * math.tan(_DRIFT_RAD)
    off = _ramp(town, "exit", Pose(exit1, aside, -_DRIFT_RAD), Pose(ramps_x_m[0], ramps_y_m, -math.pi / 2.0))
    on = _ramp(town, "entry", Pose(ramps_x_m[1], ramps_y_m, math.pi / 2.0), Pose(entry0, aside, _DRIFT_RAD))

    slip_y = _NORTH_M - _EDGE_M
    zones = [
        _zone(town, *names)
        for names in (("exit", leaving, between), ("entry", between, joining), ("end", joining, around))
    ]
    path = connection(Pose(exit0, slip_y, 0.0), off.alignment.poses[0])
    _link(town, zones[0], (Arm(leaving, "end", MAIN), _SLIP), (Arm(off, "start", RAMP), 1), path)
    path = connection(on.alignment.poses[-1], Pose(entry1, slip_y, 0.0))
    _link(town, zones[1], (Arm(on, "end", RAMP), 1), (Arm(joining, "start", MAIN), _SLIP), path)
    path = connection(Pose(end0, slip_y, 0.0), Pose(end1, slip_y + LANE_M, 0.0))
    _link(town, zones[2], (Arm(joining, "end", MAIN), _SLIP), (Arm(around, "start", MAIN), _SLIP - 1), path)
    return [Arm(off, "end", RAMP), Arm(on, "start", RAMP)]


def _straight(x0_m: float, x1_m: float) -> Alignment:
    return through([Corner(x0_m, _NORTH_M, 0.0), Corner(x1_m, _NORTH_M, 0.0)])


def _opening() -> tuple[Cubic, ...]:
    """The width of a slip lane that begins."""
    return (*hermite(_OPENING_M, 0.0, LANE_M), (_OPENING_M, LANE_M, 0.0, 0.0, 0.0))


def _road(town: TownBuilder, name: str, path: Alignment, slip: tuple[Cubic, ...]) -> Road:
    """A part of the expressway; `slip` is the width profile of its slip lane, empty for none."""
    lanes = _lanes()
    if slip:
        lanes[-_SLIP] = Lane("driving", slip, (EDGE,))
        lanes[-_SLIP - 1] = Lane("shoulder", constant(SHOULDER_M))
        lanes[-_SLIP + 1].marks = (LANE_LINE,)
    section = Section(0.0, lanes)
    road = town.street(f"expressway {name}", path, MAIN, _KMH, FLAT, sections=[section], kind="motorway")
    speed_sign(town, road, 15.0, _EDGE_M + SHOULDER_M + (LANE_M if slip else 0.0), _KMH, MAIN.lanes)
    return road


def _lanes() -> dict[int, Lane]:
    """The lanes without a slip lane."""
    return {
        1: Lane("shoulder", constant(LEFT_M)),
        0: Lane("none", (), (Mark("solid", "yellow"),)),
        -1: Lane("driving", constant(LANE_M), (LANE_LINE,)),
        -2: Lane("driving", constant(LANE_M), (EDGE,)),
        -3: Lane("shoulder", constant(SHOULDER_M)),
    }


def _widen(before: Road, after: Road) -> None:
    """Link `before` to `after`, on which a slip lane opens between the last lane and the shoulder."""
    before.successor, after.predecessor = Link("road", after.road_id, "start"), Link("road", before.road_id, "end")
    for a, b in ((1, 1), (-1, -1), (-2, -2), (-_SLIP, -_SLIP - 1)):
        before.sections[-1].lanes[a].successor, after.sections[0].lanes[b].predecessor = b, a


def _zone(town: TownBuilder, name: str, before: Road, after: Road) -> Junction:
    """A junction through which the lanes go straight on; the connecting road of the slip road has the shoulder."""
    junction = town.junction(f"expressway {name}")
    lanes = {key: lane for key, lane in _lanes().items() if key > -_SLIP}
    for key in (-1, -2):
        lanes[key].predecessor = lanes[key].successor = key
    lanes[-2].marks = (NO_MARK,)
    a, b = Arm(before, "end", MAIN), Arm(after, "start", MAIN)
    path = connection(a.into, b.into.moved(0.0, 0.0, math.pi))
    town.lay_through(junction, a, b, path, Section(0.0, lanes), _KMH)
    return junction


def _ramp(town: TownBuilder, name: str, start: Pose, end: Pose) -> Road:
    road = town.street(f"slip road {name}", connection(start, end), RAMP, _RAMP_KMH, kind="motorway")
    speed_sign(town, road, 15.0, RAMP.half_m + RAMP.side_m, _RAMP_KMH, 1)
    return road


def _link(
    town: TownBuilder, junction: Junction, source: tuple[Arm, int], target: tuple[Arm, int], path: Alignment
) -> None:
    """Add one lane and its shoulder, from a lane of the source to one of the target; both are counted from the left."""
    (a, lane_in), (b, lane_out) = source, target
    widths = [arm.profile.side_m for arm in (a, b)]
    own = {0: Lane("none"), -1: Lane("driving", constant(LANE_M), (EDGE,))}
    own[-2] = Lane("shoulder", hermite(path.length_m, *widths) if widths[0] != widths[1] else constant(widths[0]))
    for k in (1, 2):
        own[-k].predecessor, own[-k].successor = a.incoming(lane_in + k - 1), b.outgoing(lane_out + k - 1)
    town.lay_through(junction, a, b, path, Section(0.0, own), _KMH)
