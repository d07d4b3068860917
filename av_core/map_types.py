"""The map data that the stack may know: lanes, their markings, and signals.

Part of `av_core.types`, from which all of these types are imported; frames as there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from av_core.curve import Curve

Float = NDArray[np.float64]


class MarkingKind(str, Enum):
    NONE = "none"
    SOLID = "solid"
    BROKEN = "broken"
    SOLID_SOLID = "solid solid"
    KERB = "kerb"
    UNKNOWN = "unknown"


class MarkingColour(str, Enum):
    WHITE = "white"
    YELLOW = "yellow"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class LaneKey:
    """Identifies one lane of one OpenDRIVE lane section."""

    road_id: int
    section: int
    lane_id: int

    def __str__(self) -> str:
        return f"road {self.road_id} section {self.section} lane {self.lane_id}"


@dataclass(frozen=True, slots=True)
class Lane:
    """A drivable lane as a polyline in its direction of travel, points about 1 m apart, map frame.

    `points` is (N, 3) m; `s_m` (N,) is arc length in the plane from the lane's start; `yaw_rad` (N,) and
    `curvature_1pm` (N,) (positive to the left) belong to the points; `width_m` (N,). `left_marking` and
    `right_marking` hold the kind for each point. `left`/`right` name neighbours with the same direction that a lane
    change may legally reach somewhere along this lane; `left_change`/`right_change` (N,) bool say where.
    `junction_id` is the map's number of the junction; None outside junctions. `curve` is made of the points and
    headings.
    """

    key: LaneKey
    points: Float
    s_m: Float
    yaw_rad: Float
    curvature_1pm: Float
    width_m: Float
    speed_limit_mps: float
    is_junction: bool
    successors: tuple[LaneKey, ...]
    predecessors: tuple[LaneKey, ...]
    left: LaneKey | None
    right: LaneKey | None
    left_change: NDArray[np.bool_]
    right_change: NDArray[np.bool_]
    left_marking: tuple[MarkingKind, ...]
    right_marking: tuple[MarkingKind, ...]
    left_colour: tuple[MarkingColour, ...]
    right_colour: tuple[MarkingColour, ...]
    junction_id: int | None = None
    curve: Curve = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        x, y = np.ascontiguousarray(self.points[:, :2].T)
        yaw_rad = np.unwrap(self.yaw_rad).astype(np.float64, copy=False)  # numpy 2.2's stub: any floating type
        object.__setattr__(self, "curve", Curve(self.s_m, x, y, yaw_rad, self.curvature_1pm))

    @property
    def length_m(self) -> float:
        return float(self.s_m[-1])


class SideKind(str, Enum):
    PARKING = "parking lane"
    BICYCLE = "bicycle lane"
    SHOULDER = "shoulder"
    PAVEMENT = "pavement"


@dataclass(frozen=True, slots=True)
class SideLane:
    """A lane that is not for driving, as a polyline in the direction of traffic, map frame.

    Points are about 2 m apart on bicycle and parking lanes, 5 m on shoulders and pavements. `points` (N, 3) m, `s_m`,
    `yaw_rad` and `width_m` (N,) as for `Lane`; `curve` is straight between points. `successors` are the side lanes that
    follow. Lanes of one road section lie beside each other in the order of their `lane_id`.
    """

    key: LaneKey
    kind: SideKind
    points: Float
    s_m: Float
    yaw_rad: Float
    width_m: Float
    is_junction: bool
    successors: tuple[LaneKey, ...]
    curve: Curve = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        x, y = np.ascontiguousarray(self.points[:, :2].T)
        object.__setattr__(self, "curve", Curve(self.s_m, x, y, self.yaw_rad, np.zeros(len(x))))


class SignalKind(str, Enum):
    TRAFFIC_LIGHT = "traffic light"
    STOP = "stop"
    YIELD = "yield"


@dataclass(frozen=True, slots=True)
class Signal:
    """A signal that governs `lane` from the stop line at `stop_s_m` (arc length along that lane).

    `place` is the position of its post, (x, y) m in the map frame; None if the map does not give it.
    """

    signal_id: str
    kind: SignalKind
    lane: LaneKey
    stop_s_m: float
    place: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class GeoReference:
    """Latitude and longitude of the map frame's origin.

    With `is_on_earth` latitude grows with y, to the north; in CARLA 0.9.16 it grows against y.
    """

    latitude_deg: float
    longitude_deg: float
    is_on_earth: bool = False


@dataclass(frozen=True, slots=True)
class LaneGraph:
    """The road map for planning and localization: lanes, signals and georeference.

    `side_lanes` are the lanes that are not for driving. Driving decisions do not use them; scenarios are placed there.
    """

    name: str
    lanes: Mapping[LaneKey, Lane]
    signals: tuple[Signal, ...]
    geo: GeoReference
    side_lanes: Mapping[LaneKey, SideLane] = field(default_factory=dict)
