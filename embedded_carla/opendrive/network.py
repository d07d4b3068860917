"""The content of an OpenDRIVE file as data. Right-handed frame (y north), metres, radians, as in the file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embedded_carla.opendrive.cubics import Cubics, Float
from embedded_carla.opendrive.geometry import PlanView

DRIVABLE = frozenset({
    "driving", "bidirectional", "entry", "exit", "onRamp", "offRamp", "connectingRamp",
    "mwyEntry", "mwyExit", "bus", "taxi", "HOV", "roadWorks",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class MarkLine:
    """One painted line of a mark: dash `length_m` and gap `space_m` (0: solid), lateral offset from the lane border."""

    width_m: float
    offset_m: float = 0.0
    length_m: float = 0.0
    space_m: float = 0.0


@dataclass(frozen=True, slots=True)
class RoadMark:
    """The marking on a lane's outer border from road position `s_m` on; `lines` is empty where nothing is painted."""

    s_m: float
    kind: str
    colour: str
    lines: tuple[MarkLine, ...]


@dataclass(frozen=True, slots=True)
class Lane:
    """A lane: positive ids lie left of the reference line. `width` and `border` are profiles over the road's s."""

    lane_id: int
    kind: str
    width: Cubics
    border: Cubics | None
    marks: tuple[RoadMark, ...]
    speeds: tuple[tuple[float, float], ...]  # (s, limit km/h)
    height: tuple[float, float] | None  # height of the raised inner and outer border, m
    predecessor: int | None
    successor: int | None


@dataclass(frozen=True, slots=True)
class LaneSection:
    """The lanes of a road between `s_m` and `end_m`, keyed by id."""

    s_m: float
    end_m: float
    lanes: dict[int, Lane]

    def side(self, sign: int) -> list[Lane]:
        """Lanes of one side (+1 left, -1 right), from the centre outwards."""
        return [self.lanes[i] for i in sorted((i for i in self.lanes if i * sign > 0), key=abs)]


@dataclass(frozen=True, slots=True)
class Link:
    """What a road joins at one end.

    `kind` is "road" or "junction"; `contact` is the "start" or "end" of the other road.
    """

    kind: str
    target: int
    contact: str = ""


@dataclass(frozen=True, slots=True)
class Validity:
    """The lanes that a signal is for: `first` to `last`, in the road's ids."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Signal:
    """A light or sign at (s, t) of a road; `orientation` "+", "-" or "none" is the direction of its traffic."""

    signal_id: str
    road: int
    s_m: float
    t_m: float
    z_m: float
    heading_rad: float  # hOffset
    orientation: str
    kind: str  # OpenDRIVE type: "1000001" traffic light, "206" stop, "205" yield, "274" speed limit
    dynamic: bool
    value: float
    unit: str
    height_m: float
    width_m: float
    name: str
    validities: tuple[Validity, ...]


@dataclass(frozen=True, slots=True)
class SignalReference:
    """States that a signal also (or only) counts for these lanes of this road."""

    signal_id: str
    road: int
    s_m: float
    orientation: str
    validities: tuple[Validity, ...]


@dataclass(frozen=True, slots=True)
class RoadObject:
    """An object on a road; `outline` (n, 3) in the object's own frame, or empty."""

    object_id: str
    name: str
    kind: str
    road: int
    s_m: float
    t_m: float
    z_m: float
    heading_rad: float
    orientation: str
    length_m: float
    width_m: float
    height_m: float
    outline: Float


@dataclass(frozen=True, slots=True)
class Road:
    """A road: reference line, profiles, lane sections and links."""

    road_id: int
    length_m: float
    junction: int  # -1 outside junctions
    kind: str
    speed_kmh: float
    plan: PlanView
    elevation: Cubics
    superelevation: Cubics
    offset: Cubics
    sections: tuple[LaneSection, ...]
    predecessor: Link | None
    successor: Link | None

    def section_at(self, s_m: float) -> LaneSection:
        """The lane section that contains `s_m`."""
        starts = [section.s_m for section in self.sections]
        return self.sections[max(int(np.searchsorted(starts, s_m, side="right")) - 1, 0)]

    def reference(self, s: Float) -> tuple[Float, Float]:
        """Points (n, 3) of the reference line and headings (n,) at `s` (n,)."""
        x, y, heading = self.plan(s)
        return np.stack([x, y, self.elevation(s)], axis=1), heading

    def borders(self, section: LaneSection, s: Float) -> tuple[list[int], Float]:
        """Lane ids from left to right and lateral positions t (lanes + 1, n) of their borders at `s` (n,).

        The centre lane is left out.
        """
        centre = self.offset(s)
        left, right = section.side(1), section.side(-1)
        rows = [*reversed(_outwards(left, centre, s, 1.0)), centre, *_outwards(right, centre, s, -1.0)]
        return [lane.lane_id for lane in [*reversed(left), *right]], np.stack(rows)

    def point(self, s_m: float, t_m: float) -> tuple[Float, float]:
        """The point (3,) at (s, t) on the road surface and the road's heading there."""
        s = np.array([min(max(s_m, 0.0), self.length_m)])
        xyz, heading = self.reference(s)
        roll = float(self.superelevation(s)[0])
        normal = np.array([-np.sin(heading[0]), np.cos(heading[0]), np.tan(roll)])
        return np.asarray(xyz[0] + t_m * normal), float(heading[0])

    def lane_centre(self, section: LaneSection, lane_id: int, s: Float) -> tuple[Float, Float, Float]:
        """Centre (n, 3), heading of the reference line (n,) and width (n,) of a lane at `s` (n,)."""
        ids, t = self.borders(section, s)
        i = ids.index(lane_id)
        xyz, heading = self.reference(s)
        middle = 0.5 * (t[i] + t[i + 1])
        normal = np.stack([-np.sin(heading), np.cos(heading), np.tan(self.superelevation(s))], axis=1)
        return xyz + middle[:, None] * normal, heading, t[i] - t[i + 1]


def _outwards(lanes: list[Lane], centre: Float, s: Float, sign: float) -> list[Float]:
    """Outer borders t, each (n,), of the lanes of one side; a lane with both width and border uses its width."""
    rows: list[Float] = []
    t = centre
    for lane in lanes:
        if lane.border is not None and len(lane.width.start) == 0:
            t = centre + lane.border(s)
        else:
            t = t + sign * np.maximum(lane.width(s), 0.0)
        rows.append(t)
    return rows


@dataclass(frozen=True, slots=True)
class Connection:
    """A connecting road of a junction, entered from `incoming`; `contact` is the connecting road's end at the entry."""

    incoming: int
    connecting: int
    contact: str
    lanes: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Junction:
    """A junction; `controllers` are in the order in which they become active."""

    junction_id: int
    connections: tuple[Connection, ...]
    controllers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RoadNetwork:
    """A whole map. `xodr_text` is the text for clients, after `repairs` (one line each, empty if none was needed)."""

    name: str
    xodr_text: str
    geo: tuple[float, float]  # latitude, longitude of the origin, degrees
    roads: dict[int, Road]
    junctions: dict[int, Junction]
    signals: dict[str, Signal]
    references: tuple[SignalReference, ...]
    objects: tuple[RoadObject, ...]
    controllers: dict[str, tuple[str, ...]]  # controller id -> ids of the signals it switches
    repairs: tuple[str, ...]
