"""Red lights and stop signs that the ego runs, judged as the CARLA Leaderboard does, and red lights that it enters."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from av_core.frames import vehicle_to_map
from av_core.types import Float, LaneGraph, LaneKey, LightState, Signal, SignalKind, VehicleParameters
from scenarios.judging.geometry import StopLines
from scenarios.judging.infraction_log import InfractionKind, LoggedInfraction
from scenarios.judging.lane_locator import LaneLocator, LanePoint, lane_point
from scenarios.judging.score import Infractions
from scenarios.judging.tick import Tick, logged

TAIL_NEAR_SHARE = 0.8
"""The tail begins this share of the half length behind the vehicle's centre; see `TAIL_BEYOND_M`."""

TAIL_BEYOND_M = 1.0
"""The tail ends this far behind the rear bumper."""

LINE_OF_LANE = 1.2
"""Length of a light's stop line as a share of the lane's width."""

LINE_BEFORE_JUNCTION_M = 0.25
"""Distance of a light's stop line from the junction; on the Leaderboard it is 0 to 0.5 m."""

LANES_TO_JUNCTION_MAX = 20
"""Number of lanes in a row that are searched for the junction behind a light."""

STOP_NEAR_M = 4.0
"""Distance within which a stop sign counts; the lane ahead is examined up to the same distance."""

STOP_STEP_M = 0.5
"""Distance between the points of the lane ahead."""

STOPPED_MPS = 0.1
"""Below this speed the ego counts as stopped."""

STOP_BOX_OF_LANE = 0.45
"""Half the side of a stop sign's square as a share of the lane's width (CARLA's `StopSignComponent`)."""

STOP_BOX_GROWTH = 1.2
"""Factor by which the stop sign's square is enlarged."""

BACKWARDS_MPS = -0.17
"""Speed below which stop signs are not searched, because the ego drives backwards."""

AGAINST_LANE = -0.17
"""Cosine of the angle to the lane below which stop signs are not searched, because the ego drives against the lane."""


@dataclass(frozen=True, slots=True)
class LightLine:
    """The stop line of a light: its middle on a lane, before the junction."""

    signal_id: str
    at: LanePoint

    def is_crossed(self, start: Float, end: Float) -> bool:
        """Whether the segment from `start` to `end` (2,) meets the line."""
        across = np.array([-np.sin(self.at.yaw_rad), np.cos(self.at.yaw_rad)]) * LINE_OF_LANE * self.at.width_m / 2
        middle = np.array([self.at.x_m, self.at.y_m])
        return do_segments_meet(start, end, middle - across, middle + across)


def do_segments_meet(a: Float, b: Float, c: Float, d: Float) -> bool:
    """Whether the segments a-b and c-d, all (2,), have a point in common; parallel ones count as apart."""
    ab, cd, ac = b - a, d - c, c - a
    area = ab[0] * cd[1] - ab[1] * cd[0]
    if area == 0.0:
        return False
    along_ab = (ac[0] * cd[1] - ac[1] * cd[0]) / area
    along_cd = (ac[0] * ab[1] - ac[1] * ab[0]) / area
    return bool(0.0 <= along_ab <= 1.0 and 0.0 <= along_cd <= 1.0)


def light_lines(graph: LaneGraph) -> tuple[LightLine, ...]:
    """The stop lines of all lights: for each light, one on every lane through which it is reached."""
    lights = [signal for signal in graph.signals if signal.kind is SignalKind.TRAFFIC_LIGHT]
    found = dict.fromkeys((light.signal_id, key, s) for light in lights for key, s in _lines_of(graph, light))
    return tuple(LightLine(name, lane_point(graph.lanes[key], s)) for name, key, s in found)


def _lines_of(graph: LaneGraph, light: Signal) -> list[tuple[LaneKey, float]]:
    """(lane, arc length) of the lines that belong to a light: right before the junction, or at the light itself."""
    lane = graph.lanes[light.lane]
    if lane.is_junction:
        before = [graph.lanes[key] for key in lane.predecessors if not graph.lanes[key].is_junction]
        return [(each.key, _line_s_m(each.length_m)) for each in before] or [(lane.key, light.stop_s_m)]
    for _ in range(LANES_TO_JUNCTION_MAX):
        if not lane.successors:
            break
        following = graph.lanes[lane.successors[0]]
        if following.is_junction:
            return [(lane.key, _line_s_m(lane.length_m))]
        lane = following
    return [(light.lane, light.stop_s_m)]


def _line_s_m(length_m: float) -> float:
    return max(0.0, length_m - LINE_BEFORE_JUNCTION_M)


class RedLights:
    """Counts the red lights that the ego runs: the stop line of a red light crosses the ego's tail.

    The tail is a segment at the ego's rear, see `TAIL_BEYOND_M`. A line does not count if another light on the same
    lane shows green (for another movement). Several red lights on one lane count as one, and the light that was run
    last does not count again.
    """

    def __init__(self, graph: LaneGraph, vehicle: VehicleParameters, locator: LaneLocator) -> None:
        self.signal_ids: list[str] = []
        self._lines = light_lines(graph)
        self._xy: Float = np.array([(line.at.x_m, line.at.y_m) for line in self._lines]).reshape(-1, 2)
        self._half_m = np.array([LINE_OF_LANE * line.at.width_m / 2 for line in self._lines])
        self._locator = locator
        half_m, centre_m = vehicle.length_m / 2, vehicle.rear_axle_to_centre_m
        self._tail_m = centre_m - TAIL_NEAR_SHARE * half_m, centre_m - half_m - TAIL_BEYOND_M
        self._reach_m = half_m + TAIL_BEYOND_M
        self._run: frozenset[str] = frozenset()
        self._log: list[LoggedInfraction] = []

    @property
    def infractions(self) -> Infractions:
        return Infractions(red_lights=len(self.signal_ids))

    @property
    def log(self) -> tuple[LoggedInfraction, ...]:
        return tuple(self._log)

    def update(self, tick: Tick) -> None:
        crossed = self._crossed(tick)
        states = {line.signal_id: tick.truth.lights.get(line.signal_id) for line in crossed}
        if LightState.GREEN in states.values():
            return
        red = [name for name, state in states.items() if state is LightState.RED]
        if red and self._run.isdisjoint(red):
            self.signal_ids.append(red[0])
            what = f"ran the red light {red[0]} at {3.6 * abs(tick.speed_mps):.0f} km/h"
            self._log.append(logged(InfractionKind.RED_LIGHT, tick, what))
            self._run = frozenset(states)

    def _crossed(self, tick: Tick) -> list[LightLine]:
        """The lines on the tail's own lane, in its direction, that cross the tail."""
        ego = tick.truth.ego
        far = np.hypot(*(self._xy - (tick.centre.x_m, tick.centre.y_m)).T)
        near = [self._lines[row] for row in np.flatnonzero(far < self._reach_m + self._half_m)]
        near = [line for line in near if np.cos(line.at.yaw_rad - ego.yaw_rad) > 0.0]
        if not near:
            return []
        start, end = (vehicle_to_map((x, 0.0), ego) for x in self._tail_m)
        lane = self._locator.nearest(float(end[0]), float(end[1]), tick.truth.ego_z_m).road_and_lane
        return [line for line in near if line.at.road_and_lane == lane and line.is_crossed(start, end)]


@dataclass(slots=True)
class RedLightsEntered:
    """Counts the red lights whose stop line the ego's front crosses.

    The law forbids this, but the score counts only lines that the ego's rear crosses (`RedLights`). A crossing does not
    count if another light with a line at the same place shows green (for another movement).
    """

    lines: StopLines
    signal_ids: list[str] = field(default_factory=list)

    def update(self, tick: Tick) -> None:
        rows = self.lines.crossed(tick.front_before, tick.front)
        states = {self.lines.signal_ids[row]: tick.truth.lights.get(self.lines.signal_ids[row]) for row in rows}
        if states and all(state is LightState.RED for state in states.values()):
            self.signal_ids.append(next(iter(states)))


@dataclass(frozen=True, slots=True)
class StopBox:
    """The square in which a stop sign holds, along the axes of the map."""

    signal_id: str
    x_m: float
    y_m: float
    half_m: float

    def holds(self, lane_ahead: list[LanePoint]) -> bool:
        """Whether a point of `lane_ahead` lies in the square; the first point is at the ego."""
        reach = STOP_BOX_GROWTH * self.half_m
        return any(abs(p.x_m - self.x_m) < reach and abs(p.y_m - self.y_m) < reach for p in lane_ahead)

    def is_near(self, point: LanePoint) -> bool:
        return point.distance_m(self.x_m, self.y_m) <= STOP_NEAR_M


def stop_boxes(graph: LaneGraph) -> tuple[StopBox, ...]:
    """The squares of all stop signs, one for each governed lane; each lies on its lane right before the sign."""
    boxes = []
    for signal in graph.signals:
        if signal.kind is SignalKind.STOP:
            lane = graph.lanes[signal.lane]
            half_m = STOP_BOX_OF_LANE * lane_point(lane, signal.stop_s_m).width_m
            middle = lane_point(lane, max(0.0, signal.stop_s_m - half_m))
            boxes.append(StopBox(signal.signal_id, middle.x_m, middle.y_m, half_m))
    return tuple(boxes)


class StopSigns:
    """Counts the stop signs that the ego runs: it enters the square of a sign, and leaves it without a stop there."""

    def __init__(self, graph: LaneGraph, locator: LaneLocator) -> None:
        self.signal_ids: list[str] = []
        self._boxes = stop_boxes(graph)
        self._locator = locator
        self._box: StopBox | None = None
        self._has_stopped = False
        self._slowest_mps = np.inf
        self._log: list[LoggedInfraction] = []

    @property
    def infractions(self) -> Infractions:
        return Infractions(stop_signs=len(self.signal_ids))

    @property
    def log(self) -> tuple[LoggedInfraction, ...]:
        return tuple(self._log)

    def update(self, tick: Tick) -> None:
        if not self._boxes:
            return
        here = self._locator.nearest(tick.centre.x_m, tick.centre.y_m, tick.truth.ego_z_m)
        if self._box is None:
            self._box = self._found(here, tick)
            self._slowest_mps = abs(tick.speed_mps)
            return
        self._has_stopped |= abs(tick.speed_mps) < STOPPED_MPS
        self._slowest_mps = min(self._slowest_mps, abs(tick.speed_mps))
        if not self._affects(self._box, here):
            name = self._box.signal_id
            if not self._has_stopped and self.signal_ids[-1:] != [name]:
                self.signal_ids.append(name)
                what = f"passed the stop sign {name} without a stop, at {3.6 * self._slowest_mps:.0f} km/h at least"
                self._log.append(logged(InfractionKind.STOP_SIGN, tick, what))
            self._box, self._has_stopped = None, False

    def _found(self, here: LanePoint, tick: Tick) -> StopBox | None:
        is_along = np.cos(tick.centre.yaw_rad - here.yaw_rad) >= AGAINST_LANE and tick.speed_mps >= BACKWARDS_MPS
        return next((box for box in self._boxes if is_along and self._affects(box, here)), None)

    def _affects(self, box: StopBox, here: LanePoint) -> bool:
        if not box.is_near(here):
            return False
        return box.holds([here, *self._locator.ahead(here, STOP_STEP_M, round(STOP_NEAR_M / STOP_STEP_M))])
