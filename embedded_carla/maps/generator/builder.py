"""Builds a town: numbers its parts, adds streets and joins them at junctions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from embedded_carla.maps.generator.alignment import Alignment, Pose, connection, wrapped
from embedded_carla.maps.generator.cross_section import KERB, NO_MARK, Profile, constant, street_section
from embedded_carla.maps.generator.model import (
    Connection,
    Cubic,
    Junction,
    Lane,
    Link,
    Road,
    Section,
    Town,
)

STRAIGHT_RAD = math.radians(30.0)
"""Maximum turning angle of a movement that counts as straight on, rad."""

FLAT: tuple[Cubic, ...] = ((0.0, 0.0, 0.0, 0.0, 0.0),)


def hermite(length_m: float, z0: float, z1: float, slope0: float = 0.0, slope1: float = 0.0) -> tuple[Cubic, ...]:
    """The cubic from height `z0` to `z1` over `length_m`, with the given slopes at its ends."""
    dz = (z1 - z0) / length_m
    c = (3.0 * dz - 2.0 * slope0 - slope1) / length_m
    d = (slope0 + slope1 - 2.0 * dz) / length_m**2
    return ((0.0, z0, slope0, c, d),)


def height(elevation: Sequence[Cubic], s_m: float) -> tuple[float, float]:
    """Height and slope of an elevation profile at `s_m`."""
    s, a, b, c, d = [e for e in elevation if e[0] <= s_m + 1e-9][-1]
    u = s_m - s
    return a + u * (b + u * (c + u * d)), b + u * (2.0 * c + 3.0 * d * u)


@dataclass(frozen=True, slots=True)
class Arm:
    """One end of a street at a junction."""

    road: Road
    contact: str
    profile: Profile

    @property
    def into(self) -> Pose:
        """The end of the centre line, heading into the junction."""
        if self.contact == "end":
            return self.road.alignment.poses[-1]
        return self.road.alignment.poses[0].moved(0.0, 0.0, math.pi)

    @property
    def rise(self) -> tuple[float, float]:
        """Height at the end and slope in the direction into the junction."""
        z, slope = height(self.road.elevation, self.road.alignment.length_m if self.contact == "end" else 0.0)
        return z, slope if self.contact == "end" else -slope

    def incoming(self, k: int) -> int:
        """Id of the `k`-th lane from the centre that leads into the junction."""
        return -k if self.contact == "end" else k

    def outgoing(self, k: int) -> int:
        """Id of the `k`-th lane from the centre that leads out of the junction."""
        return -self.incoming(k)

    @property
    def leads_in(self) -> bool:
        return not self.profile.one_way or self.contact == "end"

    @property
    def leads_out(self) -> bool:
        return not self.profile.one_way or self.contact == "start"


@dataclass(frozen=True, slots=True)
class Movement:
    """A connecting road of a junction with its source and target arms.

    Its `lanes` lanes lead from lane `first_in` of the source to lane `first_out` of the target, and so on outwards.
    """

    source: Arm
    target: Arm
    road: Road
    first_in: int
    first_out: int
    lanes: int


class TownBuilder:
    """Collects the roads of a town; ids are given in the order of the calls."""

    def __init__(self, town: Town) -> None:
        self.town = town
        self._road_ids: Iterator[int] = count(0)
        self._other_ids: Iterator[int] = count(10_000)

    def new_id(self) -> int:
        """A new id for a junction, signal, object or controller."""
        return next(self._other_ids)

    def street(
        self,
        name: str,
        alignment: Alignment,
        profile: Profile,
        speed_kmh: float,
        elevation: tuple[Cubic, ...] = FLAT,
        *,
        sections: list[Section] | None = None,
        kind: str = "town",
        ends_at_junctions: tuple[bool, bool] = (True, True),
    ) -> Road:
        """Add a road outside junctions; `sections` replaces the single section that `profile` gives."""
        own = sections or [street_section(profile, alignment.length_m, *ends_at_junctions)]
        road = Road(next(self._road_ids), name, alignment, elevation, own, speed_kmh, kind)
        self.town.roads.append(road)
        return road

    def junction(self, name: str) -> Junction:
        junction = Junction(self.new_id(), name)
        self.town.junctions.append(junction)
        return junction

    def connect(
        self,
        junction: Junction,
        source: Arm,
        target: Arm,
        *,
        first_in: int,
        first_out: int,
        lanes: int = 1,
        pavement: bool = False,
        straight_m: float = 0.0,
        left_kerb: bool = False,
    ) -> Movement:
        """Add the connecting road of a movement: `lanes` lanes from `first_in` to `first_out`.

        The road is straight for `straight_m` before and after its turn. With `pavement` it has the strip and the
        pavement on its right. Its reference line is the left edge of its first lane.
        """
        a = source.into.moved(0.0, -(first_in - 1) * source.profile.lane_m)
        b = target.into.moved(0.0, (first_out - 1) * target.profile.lane_m, math.pi)
        path = connection(a, b, straight_m)
        section = _connecting_section(source, target, first_in, first_out, lanes, pavement, path.length_m)
        if left_kerb:
            section.lanes[1] = Lane("shoulder", constant(0.3))
        road = self.lay_through(junction, source, target, path, section, min(source.road.speed_kmh, 50.0))
        return Movement(source, target, road, first_in, first_out, lanes)

    def lay_through(
        self, junction: Junction, source: Arm, target: Arm, path: Alignment, section: Section, speed_kmh: float
    ) -> Road:
        """Add a connecting road along `path`; the lanes of `section` already have their links."""
        (z0, slope0), (z1, slope1) = source.rise, target.rise
        road = Road(
            next(self._road_ids), f"{junction.name} {source.road.road_id}-{target.road.road_id}", path,
            hermite(path.length_m, z0, z1, slope0, -slope1), [section], speed_kmh, source.road.kind,
            junction.junction_id, Link("road", source.road.road_id, source.contact),
            Link("road", target.road.road_id, target.contact),
        )  # fmt: skip
        self.town.roads.append(road)
        links = tuple((lane.predecessor or 0, i) for i, lane in section.lanes.items() if lane.predecessor)
        junction.connections.append(Connection(source.road.road_id, road.road_id, links))
        for arm in (source, target):
            _link_to_junction(arm, junction)
        return road


def _connecting_section(
    source: Arm, target: Arm, first_in: int, first_out: int, lanes: int, pavement: bool, length_m: float
) -> Section:
    """The lanes of a connecting road with their links; a bicycle lane goes straight on where both streets have one."""
    own = {0: Lane("none")}
    for i in range(lanes):
        own[-1 - i] = Lane("driving", _blend(source.profile.lane_m, target.profile.lane_m, length_m))
        own[-1 - i].predecessor, own[-1 - i].successor = source.incoming(first_in + i), target.outgoing(first_out + i)
    for lane in _beside(source, target, pavement, length_m):
        own[-len(own)] = lane
    return Section(0.0, own)


def _beside(source: Arm, target: Arm, pavement: bool, length_m: float) -> Iterator[Lane]:
    """The lanes right of the driving lanes; a lane that only one of the streets has narrows to zero width."""
    a, b = source.profile, target.profile
    if min(a.bicycle_m, b.bicycle_m) > 0.0 and abs(turn_of(source, target)) < STRAIGHT_RAD:
        lane = Lane("biking", _blend(a.bicycle_m, b.bicycle_m, length_m))
        lane.predecessor, lane.successor = source.incoming(a.lanes + 1), target.outgoing(b.lanes + 1)
        yield lane
    elif pavement and max(a.bicycle_m, b.bicycle_m) > 0.0:
        yield Lane("shoulder", _blend(a.bicycle_m, b.bicycle_m, length_m))
    if pavement:
        marks = (KERB if a.pavement_m > 0.0 else NO_MARK,)
        strip = Lane("shoulder", _blend(a.side_m, b.side_m, length_m), marks)
        strip.predecessor, strip.successor = source.incoming(a.strip), target.outgoing(b.strip)
        yield strip
    if pavement and max(a.pavement_m, b.pavement_m) > 0.0:
        walk = Lane("sidewalk", _blend(a.pavement_m, b.pavement_m, length_m))
        walk.predecessor = source.incoming(a.strip + 1) if a.pavement_m > 0.0 else None
        walk.successor = target.outgoing(b.strip + 1) if b.pavement_m > 0.0 else None
        yield walk


def _blend(w0: float, w1: float, length_m: float) -> tuple[Cubic, ...]:
    """A width that changes from `w0` to `w1`."""
    return hermite(length_m, w0, w1) if w0 != w1 else constant(w0)


def _link_to_junction(arm: Arm, junction: Junction) -> None:
    if arm.contact == "end":
        arm.road.successor = Link("junction", junction.junction_id)
    else:
        arm.road.predecessor = Link("junction", junction.junction_id)


def join(first: Road, second: Road) -> None:
    """Link the end of `first` to the start of `second`, lane to lane of the same id where both have it."""
    first.successor = Link("road", second.road_id, "start")
    second.predecessor = Link("road", first.road_id, "end")
    last, begin = first.sections[-1].lanes, second.sections[0].lanes
    for i in set(last) & set(begin) - {0}:
        last[i].successor = i
        begin[i].predecessor = i


def turn_of(source: Arm, target: Arm) -> float:
    """Turning angle of the movement from `source` to `target`, rad, positive to the left."""
    return wrapped(target.into.heading_rad + math.pi - source.into.heading_rad)
