"""The parts of an OpenDRIVE 1.4 map as plain data; `xml_writer` turns them into text."""

from __future__ import annotations

from dataclasses import dataclass, field

from embedded_carla.maps.generator.alignment import Alignment

Cubic = tuple[float, float, float, float, float]  # s, a, b, c, d


@dataclass(frozen=True, slots=True)
class Mark:
    """A road mark at a lane's outer edge that begins at `s_m`, relative to its section."""

    kind: str = "none"
    colour: str = "white"
    lane_change: str = "none"
    s_m: float = 0.0
    width_m: float = 0.125


@dataclass(slots=True)
class Lane:
    """One lane; `widths` are cubics over the section's own station."""

    kind: str
    widths: tuple[Cubic, ...] = ()
    marks: tuple[Mark, ...] = (Mark(),)
    predecessor: int | None = None
    successor: int | None = None


@dataclass(slots=True)
class Section:
    """A lane section; `lanes` by OpenDRIVE id, where 0 is the centre lane."""

    s_m: float
    lanes: dict[int, Lane]


@dataclass(frozen=True, slots=True)
class Link:
    """A road's predecessor or successor; `contact` is "start" or "end", empty for a junction."""

    element: str
    element_id: int
    contact: str = ""


@dataclass(frozen=True, slots=True)
class Signal:
    """A light or sign beside the road, in CARLA's convention.

    `h_offset_rad` is the angle from the road's heading to the direction of the governed traffic. `validity` (0, 0)
    means that signal references give the governed lanes.
    """

    signal_id: int
    name: str
    s_m: float
    t_m: float
    z_offset_m: float
    h_offset_rad: float
    orientation: str
    dynamic: bool
    kind: str
    subtype: str = "-1"
    value: float = -1.0
    unit: str = ""
    validity: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class SignalReference:
    """A signal of another road that holds for one lane from `s_m` on."""

    signal_id: int
    s_m: float
    orientation: str
    lane: int


@dataclass(frozen=True, slots=True)
class MapObject:
    """A painted or standing object; `outline` holds (u, v) corners in the object's own axes."""

    object_id: int
    name: str
    kind: str
    s_m: float
    t_m: float
    heading_rad: float
    orientation: str
    length_m: float
    width_m: float
    outline: tuple[tuple[float, float], ...] = ()
    height_m: float = 0.0
    repeat: tuple[float, float, float] | None = None  # (start s, length, constant t)


@dataclass(slots=True)
class Road:
    """A road with its lanes, objects and signals."""

    road_id: int
    name: str
    alignment: Alignment
    elevation: tuple[Cubic, ...]
    sections: list[Section]
    speed_kmh: float
    kind: str = "town"
    junction: int = -1
    predecessor: Link | None = None
    successor: Link | None = None
    superelevation: tuple[Cubic, ...] = ((0.0, 0.0, 0.0, 0.0, 0.0),)
    objects: list[MapObject] = field(default_factory=list)
    signals: list[Signal | SignalReference] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Connection:
    """A movement through a junction; the connecting road starts at the incoming road."""

    incoming: int
    connecting: int
    lane_links: tuple[tuple[int, int], ...]


@dataclass(slots=True)
class Junction:
    """A junction; its `controllers` become active in their order."""

    junction_id: int
    name: str
    connections: list[Connection] = field(default_factory=list)
    controllers: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Controller:
    """Signals that switch together; `sequence` is its turn among the junction's controllers."""

    controller_id: int
    sequence: int
    signals: tuple[int, ...]


@dataclass(slots=True)
class Town:
    """A whole map."""

    name: str
    lat_deg: float
    lon_deg: float
    roads: list[Road] = field(default_factory=list)
    junctions: list[Junction] = field(default_factory=list)
    controllers: list[Controller] = field(default_factory=list)
